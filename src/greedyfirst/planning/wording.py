"""A plan in words: the question, the answer, tables, assumptions and how it was computed."""

from __future__ import annotations

import io
import math

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from greedyfirst.models.linear_part import FIRST_RULE
from greedyfirst.planning.plan import ADAPTIVE, FIXED, PeopleNeeded, Plan
from greedyfirst.policies import GreedyFirst, Policy
from greedyfirst.policies.greedy_first import arm_by_arm, first_rule

QUESTION = "How many people, and how many of them on a worse arm?"
DESIGN = "design, people"
LEARNED = {
    "interval": "has interval",
    "width": "width",
    "width_80": "80 % below",
    "coverage": "intervals right",
    "error_95": "95 % of errors below",
    "right_arm": "best arm found",
    "right_person": "right for a person",
}
COSTS = {
    "not_best": "not best for them",
    "not_best_share": "share",
    "worse_on_average": "worse on average",
    "regret": "regret",
    "regret_saved": "saved",
    "starving": "an arm starves",
    "alarm": "alarm",
}
COUNTS = ("not_best", "worse_on_average")
WIDTH = 110  # characters
NO_BREAK = "\u00a0"
AMOUNTS = ("width", "width_80", "error_95", "regret", "regret_saved")


def answer(plan: Plan) -> list[str]:
    """Two sentences: how many people, and how many of them on a worse arm."""
    policy, size = plan.names[ADAPTIVE], plan.people[-1]
    own, other = plan.row(size, ADAPTIVE), plan.row(size, FIXED)
    return [
        f"To know the difference between the best two arms to within ± {plan.width / 2:.3g} "
        f"(95 %), {policy} needs {_needed_and_lost(plan, ADAPTIVE)}; a fixed randomised trial "
        f"needs {_needed_and_lost(plan, FIXED)}.",
        f"Of {size:,} people, {policy} puts {own['not_best'] * size:,.0f} ({own['not_best']:.0%}) "
        f"on an arm that is not best for them, a fixed trial of that size "
        f"{other['not_best'] * size:,.0f} ({other['not_best']:.0%}); then the arm that is best on "
        f"average is found with probability {own['right_arm']:.2f} and {other['right_arm']:.2f}.",
    ]


def _needed_and_lost(plan: Plan, design: str) -> str:
    people = plan.people_needed(design, by="error")
    text = f"{needed(people, plan)} people"
    if not math.isfinite(people.about):
        return text
    lost = plan.not_best(design, people.about)
    return f"{text}, {lost:,.0f} of them on an arm that is not best for them"


def needed(people: PeopleNeeded, plan: Plan) -> str:
    """A number of people to two digits, or that the largest size is too small."""
    if not math.isfinite(people.about):
        return f"more than {plan.people[-1]:,}"
    if people.about <= plan.people[0]:
        return f"at most {plan.people[0]:,}"
    return f"about {round(people.about, 2 - len(str(int(people.about)))):,.0f}"


def needed_rows(plan: Plan) -> list[list[str]]:
    """People until the wanted width, by the interval and by the error itself, for both designs."""
    meanings = {
        "width": f"the median 95 % interval is {plan.width:.3g} wide",
        "error": f"95 % of estimates are within ± {plan.width / 2:.3g} of the truth",
    }
    return [
        [meaning, *(_with_range(plan.people_needed(d, by=by), plan) for d in (ADAPTIVE, FIXED))]
        for by, meaning in meanings.items()
    ]


def _with_range(people: PeopleNeeded, plan: Plan) -> str:
    text = needed(people, plan)
    if not text.startswith("about"):
        return text
    most = f"{people.most:,.0f}" if math.isfinite(people.most) else "more"
    limits = f"({people.least:,.0f} to {most})"
    return f"{text} {limits}".replace(" ", NO_BREAK)


def rows(plan: Plan, columns: dict[str, str]) -> list[list[str]]:
    """The rows of a table: size and design, then these columns."""
    return [
        [
            f"{plan.names[design]}, {size:,}",
            *(_cell(plan, size, design, name) for name in columns),
        ]
        for size in plan.people
        for design in (ADAPTIVE, FIXED)
    ]


def _cell(plan: Plan, size: int, design: str, name: str) -> str:
    value = plan.row(size, design)[name.removesuffix("_share")]
    if math.isnan(value):
        return ""
    if name in AMOUNTS:
        return f"{value:.3g}" if math.isfinite(value) else "none"
    return f"{value * size:.0f}" if name in COUNTS else f"{value:.0%}"


def terminal_tables(plan: Plan) -> str:
    """What is learned and what it costs people, for a terminal."""
    text = io.StringIO()
    console = Console(file=text, width=WIDTH)
    for title, columns in (("what is learned", LEARNED), ("what it costs people", COSTS)):
        table = Table(title=f"{plan.trials} simulated trials of each size: {title}")
        table.add_column(DESIGN, no_wrap=True)
        for heading in columns.values():
            longest = max(map(len, heading.split()))
            table.add_column(heading, justify="right", min_width=longest)
        for row in rows(plan, columns):
            table.add_row(*map(escape, row))
        console.print(table)
    return text.getvalue().rstrip()


def precision(plan: Plan) -> str:
    """How far the numbers may be off, since trials are simulated."""
    frame = plan.frame
    shares = ["coverage", "not_best", "starving", "right_arm", "right_person"]
    share = max(frame[f"{name}_se"].max() for name in shares)
    width = (frame["width_se"] / frame["width"]).replace(math.inf, math.nan).max()
    error = (frame["error_95_se"] / frame["error_95"]).replace(math.inf, math.nan).max()
    relative = [
        f"{value:.1%} of {name}"
        for name, value in (("widths", width), ("errors", error))
        if not math.isnan(value)
    ]
    text = (
        "Monte Carlo standard errors are at most "
        + ", ".join([f"{100 * share:.1f} percentage points of shares", *relative])
        + "; each number's own is in plan.csv."
    )
    unbounded = any(
        (np.isfinite(frame[name]) & np.isinf(frame[f"{name}_se"])).any()
        for name in ("width", "width_80", "error_95")
    )
    if unbounded:
        text += (
            " Where that is infinite, nearly as many trials have no estimate as the quantile "
            "leaves out: the true number may be much larger."
        )
    return text


def starving_rule(policy: Policy) -> str:
    """When an arm starves, by the rule of the policy, or of ``GreedyFirst()``."""
    if isinstance(policy, GreedyFirst) and policy.arm_by_arm() and policy.rule == FIRST_RULE:
        return (
            f"An arm starves while it has less than {first_rule.SHARE:.0%} of its equal share of "
            "all samples in some direction of the contexts."
        )
    return (
        f"An arm starves while it holds less than {arm_by_arm.SHARE:.0%} of its equal share of all "
        "that is known about some kind of people, the prior of GreedyFirst() included."
    )


def assumptions(plan: Plan) -> list[str]:
    """Everything that was taken for granted."""
    k = plan.effects.n_arms
    return [
        plan.population.description,
        "People come one after the other, independently of one another, and the population does "
        "not change over time.",
        f"There are {k} arms, and each person may get any of them.",
        "An arm's expected outcome is linear in the features, with an intercept and coefficients "
        "of its own; more is better.",
        plan.effects.description,
        f"So in the simulated trials the best arm is ahead of the second by "
        f"{plan.difference:.3g} on average (median), and {plan.differing:.0%} of people have "
        "another best arm than the one that is best on average.",
        f"Outcomes vary around that by normal noise of standard deviation {plan.noise:g}, the same "
        "for all people and arms.",
        "Each outcome is known before the next person comes, and none is missing.",
        f"The policy is {plan.policy!r}.",
        "The fixed randomised trial gives each arm to an equal number of people, whatever their "
        "features and the outcomes so far.",
        f"The wanted width is {plan.width:.3g}.",
    ]


def method(plan: Plan) -> list[str]:
    """How the numbers were computed."""
    return [
        f"{plan.trials} trials of each size were simulated; both designs meet the same people, "
        "effects and noise.",
        "Width: the median over trials, and the width that 80 % of them stay below; none where "
        "too many trials have no interval, because an arm has too few samples for least squares.",
        "Interval: plain least squares, arm by arm, at the mean context, for the difference "
        "between the arm that is truly best on average and the second; Student's quantile, "
        "residual variance of all arms. It takes the samples as if they had been chosen "
        "beforehand. A policy's data chose itself, so that its intervals are right less often: "
        "see the column beside the widths.",
        "Error: |estimate - truth| of the same difference. It is measured, not assumed, and the "
        "answer above is taken from it.",
        "Not best for them: another arm has a higher expected outcome for this person. Worse on "
        "average: another arm has a higher mean outcome over all people.",
        "Regret: the sum over people of the expected outcome of their best arm less that of "
        "theirs. Saved: what a fixed trial loses more.",
        f"{starving_rule(plan.policy)} An arm that is worse for everyone starves, and that is no "
        "fault. Alarm: the policy's own test has found such an arm at some time; GreedyFirst() "
        "gives it the benefit of the doubt. Other policies have no test.",
        "Best arm found: the arm with the highest estimated mean outcome is the best on average. "
        "Right for a person: a new person is recommended the arm that is best for them. Both by "
        "the policy's own estimates, from the data of either design.",
    ]
