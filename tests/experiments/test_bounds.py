"""The words under the table of `greedyfirst bounds`: no promise is larger than its number."""

from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.problem import Question
from greedyfirst.experiments.bounds.report import BoundsReport
from greedyfirst.experiments.bounds.words import in_words

QUESTION = Question(sigma=0.1, horizon=500, test=None, q=None, alpha=0.0, link=None, h=None)
MOST = Line(what="without a theorem", value=1000.0)


def regret(value, remark=""):
    return (Line(what="regret (Theorem 1)", value=value, remark=remark), MOST)


def success(printed, proved):
    return (
        Line(what="S^gb, printed (Theorem 2)", value=printed, worst=0.0),
        Line(what="S^gb, proved (Theorem 2)", value=proved, worst=0.0),
    )


def words(regret, success):
    return " ".join(in_words(QUESTION, regret, success))


def test_chances_are_rounded_down():
    said = words(regret(400.0), success(0.99999, 0.6199))
    assert "at least 99 % by the theorem as it is printed, 61 % by what its proof supports" in said
    assert "loses at most 400 over 500 rounds" in said


def test_bounds_above_the_trivial_one_promise_nothing():
    for value in (1000.0, 1e12):
        said = words(regret(value), success(0.0, 0.0))
        assert "(Theorem 1) promises nothing at T = 500" in said
        assert "no policy can lose more than 1,000" in said
        assert "learns without exploring, is 0: it promises nothing" in said


def test_missing_assumptions_are_named():
    lines = regret(None, "no promise: more than two arms")
    none = (Line(what="S^gb (Theorem 2)", value=None, remark="no promise: arms [1] are equal"),)
    said = words(lines, none)
    assert "Greedy has no regret bound here (Theorem 1): more than two arms." in said
    assert (
        "No bound on the chance that greedy succeeds, that is, learns without exploring: " in said
    )
    assert "At worst" not in said


def test_brackets_are_printed():
    line = Line(what="E[xxᵀ]", value=None, remark="at least half of [bold]E[xxᵀ][/bold]")
    text = BoundsReport(sections=((line,),), words=("[red]done[/red]",)).text(80)
    assert "E[xxᵀ]" in text
    assert "[bold]E[xxᵀ][/bold]" in text
    assert "[red]done[/red]" in text
    assert "–" in text
