"""The lines of the report: constants of a problem, regret, chances to succeed."""

from __future__ import annotations

from dataclasses import replace

from greedyfirst.experiments.bounds.arm_by_arm import arm_by_arm_lines
from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.problem import Problem, Question
from greedyfirst.links import LINKS
from greedyfirst.theory import (
    LeadEstimate,
    MarginEstimate,
    OLSBanditInputs,
    SuccessInputs,
    generalized_linear_regret,
    greedy_first_regret,
    greedy_first_success,
    greedy_first_success_limit,
    greedy_regret,
    greedy_success,
    greedy_success_limit,
    margin_rate,
    ols_bandit_regret,
    simple_greedy_first_success,
    simple_greedy_success,
    switch_probability,
)

FORMS = ("printed", "proved")


def constant_lines(problem: Problem, question: Question) -> tuple[Line, ...]:
    """What the theorems need to know of the problem."""
    constants, margin, lead = problem.constants, problem.margin, problem.lead
    norm = "largest norm of a context"
    if not constants.x_max_is_certain:
        norm += ", of those drawn"
    return (
        Line(what="x_max", value=problem.x_max, remark=norm),
        Line(what="b_max", value=constants.b_max, remark="largest norm of a parameter"),
        Line(
            what="C₀ (Assumption 2)",
            value=margin.value,
            worst=margin.upper,
            remark="margin: how often arms are nearly equal",
        ),
        Line(
            what="λ₀ (Assumption 3)",
            value=problem.lambda0,
            remark=f"diversity of contexts: {problem.lambda0_reason}",
        ),
        Line(
            what="h (Assumption 4)",
            value=lead.h,
            remark="lead of the best arm, " + ("chosen" if question.h is None else "given"),
        ),
        Line(
            what="λ₁(h)",
            value=lead.lambda1,
            worst=lead.lower,
            remark="diversity where an arm leads by h; arms" + _sets(lead)[1:],
        ),
    )


def _sets(lead: LeadEstimate) -> str:
    """Which arms lead, trail, and do neither."""
    named = {
        "best somewhere": lead.optimal,
        "never best": lead.suboptimal,
        "neither": lead.undecided,
    }
    return "".join(f"; {name}: {', '.join(map(str, arms))}" for name, arms in named.items() if arms)


def regret_lines(problem: Problem, question: Question, *, pulls: int) -> tuple[Line, ...]:
    """Upper bounds of the regret over T rounds."""
    lines = [*_greedy_regret_lines(problem, question)]
    if question.test is not None:
        lines += _greedy_first_regret_lines(problem, question, question.test)
    lines += arm_by_arm_lines(problem, question, pulls)
    most = 2 * problem.x_max * problem.constants.b_max * question.horizon
    says = f"the most that T = {question.horizon} rounds can cost"
    return (*lines, Line(what="without a theorem", value=most, remark=says))


def _greedy_regret_lines(problem: Problem, question: Question) -> list[Line]:
    """Theorem 1, Corollary 1 and Proposition 1: greedy, two arms, covariate diversity."""
    whats = ["regret (Theorem 1)", f"regret (Corollary 1, α = {question.alpha:g})"]
    if question.link is not None:
        whats.append(f"regret (Prop. 1, {question.link})")
    if problem.constants.n_arms != 2 or not problem.lambda0 > 0:
        two = problem.constants.n_arms == 2
        why = "λ₀ is not proved to be above 0" if two else "more than two arms"
        return [Line(what=what, value=None, remark=f"no promise: {why}") for what in whats]
    inputs = problem.regret_inputs(question, problem.lambda0)
    bound = greedy_regret(inputs)
    margin = problem.constants.margin(question.alpha)
    other = margin_rate(
        problem.regret_inputs(question, problem.lambda0, margin.upper), alpha=question.alpha
    )
    growth = "stays bounded" if question.alpha > 1 else f"grows like {other.rate}"
    remarks = [f"of greedy; largest part: {bound.dominant}"]
    remarks.append(f"{growth}; {_margin_condition(margin)}")
    values = [bound.bound, other.bound]
    if question.link is not None:
        largest = LINKS[question.link].largest_sigma
        noisy = inputs if largest is None else replace(inputs, sigma=largest)
        values.append(generalized_linear_regret(noisy, link=question.link).bound)
        remarks.append(f"grows like log T; σ = {noisy.sigma:g} of these rewards")
    return [
        Line(what=what, value=value, remark=remark)
        for what, value, remark in zip(whats, values, remarks, strict=True)
    ]


def _margin_condition(margin: MarginEstimate) -> str:
    """What Corollary 1 supposes about contexts on which two arms are nearly equal."""
    if margin.alpha == 0:
        return "no margin condition"
    constant = f"C(α) = {margin.upper:.4g}"
    if margin.alpha <= 1:
        return constant
    # A density above 0 at equality breaks the condition for widths that no sample shows.
    return f"{constant}, if that holds below κ = {margin.narrowest:.2g} too"


def _greedy_first_regret_lines(
    problem: Problem, question: Question, test: tuple[float, int]
) -> list[Line]:
    """Theorem 3: Greedy-First with OLS Bandit as its fallback."""
    what, (lambda0, t0), lead = "regret (Theorem 3)", test, problem.lead
    if problem.inputs is None or not lead.lower > 0:
        why = "no promise: OLS Bandit needs Assumption 4"
        return [Line(what=what, value=None, remark=why)]
    inputs = problem.regret_inputs(question, lambda0)
    fallback = OLSBanditInputs(
        n_arms=inputs.n_arms,
        n_features=inputs.n_features,
        horizon=inputs.horizon,
        x_max=inputs.x_max,
        b_max=inputs.b_max,
        sigma=inputs.sigma,
        margin_constant=inputs.margin_constant,
        lambda1=lead.lower,
        h=lead.h,
        q=1 if question.q is None else question.q,
        n_suboptimal=len(lead.suboptimal),
    )
    fallback = fallback.with_smallest_q() if question.q is None else fallback
    explored = ols_bandit_regret(fallback)
    found = greedy_first_regret(inputs, t0=t0, ols_bandit_coefficient=explored.coefficient)
    remark = f"of Greedy-First; OLS Bandit with q = {fallback.q}: C_OB = {explored.coefficient:.4g}"
    lines = [Line(what=what, value=found.bound, remark=remark)]
    if inputs.n_arms == 2 and lambda0 <= problem.lambda0:
        chance = switch_probability(inputs, t0=t0)
        remark = "of Greedy-First, at most; two arms, diverse contexts"
        lines.append(Line(what="chance to switch (Theorem 3)", value=chance, remark=remark))
    return lines


def success_lines(problem: Problem, question: Question) -> tuple[Line, ...]:
    """Lower bounds of the chance that greedy succeeds, and that Greedy-First stays greedy."""
    inputs, sample, lower = problem.inputs, problem.sample, problem.lead.lower
    if inputs is None:
        why = f"no promise: arms {list(problem.lead.undecided)} neither lead nor trail by h"
        return (Line(what="S^gb (Theorem 2)", value=None, remark=why),)
    lines = []
    for form in FORMS:
        found = greedy_success(inputs, sample, form=form, lambda1_lower=lower)
        what, remark = f"S^gb, {form} (Theorem 2)", f"largest doubt: {found.dominant}"
        lines.append(_success_line(what, found.value, found.worst, remark))
    limit = greedy_success_limit(n_arms=inputs.n_arms, sample=sample)
    lines.append(Line(what="S^gb as σ → 0 (Prop. 2)", value=limit, remark="without noise"))
    simple = simple_greedy_success(inputs)
    lines.append(_success_line("S^gb, simple (Corollary 2)", simple, None, "needs no sample"))
    if question.test is not None:
        lines += _greedy_first_success_lines(problem, inputs, question.test)
    return tuple(lines)


def _greedy_first_success_lines(
    problem: Problem, inputs: SuccessInputs, test: tuple[float, int]
) -> list[Line]:
    if inputs.n_suboptimal:
        why = "no promise: an arm that is never best makes Greedy-First switch"
        return [Line(what="S^gf (Theorem 4)", value=None, remark=why)]
    lambda0, t0 = test
    if lambda0 >= 4 * inputs.lambda1 or t0 <= inputs.n_arms * inputs.initial_pulls:
        why = "no promise: it needs λ₀ < 4λ₁ and t₀ > K·m"
        return [Line(what="S^gf (Theorem 4)", value=None, remark=why)]
    lines = []
    for form in FORMS:
        found = greedy_first_success(
            inputs,
            problem.sample,
            lambda0=lambda0,
            t0=t0,
            form=form,
            lambda1_lower=problem.lead.lower,
        )
        what, remark = f"S^gf, {form} (Theorem 4)", f"λ₀ = {lambda0:g}, t₀ = {t0}"
        lines.append(_success_line(what, found.value, found.worst, remark))
    limit = greedy_first_success_limit(inputs, problem.sample, lambda0=lambda0, t0=t0)
    lines.append(_success_line("S^gf as σ → 0 (Prop. 3)", limit, None, "without noise"))
    simple = simple_greedy_first_success(inputs, lambda0=lambda0, t0=t0)
    lines.append(_success_line("S^gf, simple (Corollary 3)", simple, None, "needs no sample"))
    return lines


def _success_line(what: str, value: float, worst: float | None, remark: str) -> Line:
    return Line(what=what, value=value, worst=worst, remark=remark if value > 0 else "no promise")
