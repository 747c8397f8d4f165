"""What the numbers of the report mean, in plain words."""

from __future__ import annotations

import math

from greedyfirst.experiments.bounds.arm_by_arm import REGRET, SIMULATED
from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.problem import Question


def in_words(
    question: Question, regret: tuple[Line, ...], success: tuple[Line, ...]
) -> tuple[str, ...]:
    """Sentences for the end of the report: what is promised, and what is not."""
    sentences = [
        "",
        "In words:",
        _about_regret("Greedy", "Theorem 1", regret, question),
        _about_success("S^gb", "greedy succeeds, that is, learns without exploring,", success),
    ]
    if question.test is not None:
        sentences.append(_about_regret("Greedy-First", "Theorem 3", regret, question))
        sentences.append(_about_success("S^gf", "Greedy-First never switches", success))
        sentences.append(
            "- Theorem 3 is proved for Greedy-First with this fixed λ₀, span='full', and an OLS "
            "Bandit that starts afresh (carry_over=False). With an estimated λ₀ it is measured, "
            "not proved."
        )
    sentences += _about_arm_by_arm(regret, question)
    sentences.append(
        "- Where a bound promises nothing, that says nothing against greedy: bounds are cautious, "
        "and the truth is often far better (--simulate)."
    )
    if any(line.worst is not None for line in (*regret, *success)):
        sentences.append(
            "- At worst: with each simulated constant at the bad end of its 99 % interval."
        )
    return tuple(sentences)


def _about_arm_by_arm(regret: tuple[Line, ...], question: Question) -> list[str]:
    """`GreedyFirst()` as it comes."""
    sentences = []
    for line in _named(regret, REGRET):
        sentences.append(_about_regret("GreedyFirst()", "arm by arm", regret, question))
        if line.value is not None:
            sentences.append(
                "- That is proved for a noise scale and a penalty that are known. GreedyFirst() "
                "learns both: for it the bound is a guide, not a promise."
            )
    for line in _named(regret, SIMULATED):
        lost = _amount(line.value or 0.0)
        sentences.append(f"- In simulated runs GreedyFirst() lost {lost} on average.")
    return sentences


def _named(lines: tuple[Line, ...], part: str) -> list[Line]:
    return [line for line in lines if part in line.what]


def _about_regret(policy: str, theorem: str, regret: tuple[Line, ...], question: Question) -> str:
    line, most = _named(regret, f"regret ({theorem})")[0], regret[-1].value or 0.0
    if line.value is None:
        return f"- {policy} has no regret bound here ({theorem}): {_reason(line)}."
    if line.value >= most:
        return (
            f"- {policy}'s regret bound ({theorem}) promises nothing at T = {question.horizon}: it "
            f"is {_amount(line.value)}, and no policy can lose more than {_amount(most)}."
        )
    return (
        f"- {policy} loses at most {_amount(line.value)} over {question.horizon} rounds, on "
        f"average ({theorem}); no policy can lose more than {_amount(most)}."
    )


def _about_success(name: str, event: str, success: tuple[Line, ...]) -> str:
    lines = _named(success, name)
    first = lines[0]
    if first.value is None:
        return f"- No bound on the chance that {event.rstrip(',')}: {_reason(first)}."
    if not first.value > 0:
        return f"- The bound on the chance that {event} is 0: it promises nothing."
    proved = next(line for line in lines if "proved" in line.what)
    printed, shown = _percent(first.value), _percent(proved.value or 0.0)
    return (
        f"- {event[0].upper()}{event[1:]} with a chance of at least {printed} by the theorem as it "
        f"is printed, {shown} by what its proof supports."
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e9 else f"{value:.3g}"


def _percent(value: float) -> str:
    """Rounded down: a promise must not be larger in words than it is."""
    return f"{math.floor(value * 100)} %"


def _reason(line: Line) -> str:
    return line.remark.removeprefix("no promise: ")
