"""The words under the table of `greedyfirst bounds`: no promise is larger than its number."""

from dataclasses import replace

import numpy as np
import pytest

from greedyfirst.experiments import figure2
from greedyfirst.experiments.bounds.arm_by_arm import arm_by_arm_lines, simulated_regret
from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.problem import Question, prepare
from greedyfirst.experiments.bounds.report import BoundsReport
from greedyfirst.experiments.bounds.words import in_words
from greedyfirst.problems import FromArray

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


PROBLEMS = {
    "no contexts": ([[0.4], [0.0]], FromArray(rows=np.ones((2, 1))), 1.0),
    "Figure 2": ([[0.8, -0.6, 0.3], [-0.4, 0.5, 0.9]], figure2.contexts(3, intercept=False), 0.5),
    "intercept": ([[0.1, 0.8], [-0.1, -0.4]], figure2.contexts(1, intercept=True), 0.5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_greedy_first_loses_is_below_its_bound(name):
    """On average; with 30 runs at five standard errors a false alarm is as good as impossible."""
    arms, contexts, sigma = PROBLEMS[name]
    asked = replace(QUESTION, sigma=sigma, horizon=2000)
    options = {"contexts": contexts, "sigma": sigma, "seed": 3}
    problem = prepare(arms, **options, initial_pulls=2000, x_max=None, h=0.2)
    lines = {line.what: line for line in arm_by_arm_lines(problem, asked, 2000)}
    lost = simulated_regret(arms, **options, horizon=2000, n_runs=30)
    error = (lost.worst - lost.value) / 2.576
    assert lost.value + 5 * error < lines["regret (arm by arm)"].value
    if name == "Figure 2":
        assert lines["chance of a raise, ever"].value < 1e-3
    if name == "intercept":
        assert "no promise: θ* = 0" in lines["chance of a raise, ever"].remark


def test_equal_arms_without_contexts_get_no_promise():
    problem = prepare(
        [[0.4], [0.4], [0.0]],
        contexts=FromArray(rows=np.ones((2, 1))),
        sigma=1.0,
        seed=3,
        initial_pulls=5,
        x_max=None,
        h=0.2,
    )
    (line,) = arm_by_arm_lines(problem, QUESTION, 5)
    assert line.value is None
    assert "two arms are equal" in line.remark
