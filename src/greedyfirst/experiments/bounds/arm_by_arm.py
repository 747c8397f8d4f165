"""What the theorems promise for `GreedyFirst()` as it comes, arm by arm, and what it loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.bounds.line import Line
from greedyfirst.experiments.bounds.problem import Problem, Question
from greedyfirst.policies import GreedyFirst
from greedyfirst.problems import ContextDistribution, GaussianNoise, LinearProblem
from greedyfirst.simulation import simulate
from greedyfirst.theory import (
    ArmByArmInputs,
    ArmByArmRule,
    arm_by_arm_mean_regret,
    arm_by_arm_regret,
    raise_probability_after_pulls,
)

REGRET, RAISE = "regret (arm by arm)", "chance of a raise, ever"
SIMULATED = "regret, simulated"


def arm_by_arm_lines(problem: Problem, question: Question, pulls: int) -> list[Line]:
    """Bounds of the regret, and of the chance that anybody is raised."""
    only = problem.constants.only_context
    if only is not None:
        return [_regret_without_contexts(problem, question, only)]
    lines = [_regret_with_contexts(problem, question)]
    if problem.constants.n_arms == 2:
        lines.append(_chance_of_a_raise(problem, pulls))
    return lines


def _regret_without_contexts(problem: Problem, question: Question, only: np.ndarray) -> Line:
    worth = np.asarray(problem.constants.arms) @ only
    gaps = worth.max() - worth
    if (gaps == 0).sum() > 1:
        return Line(what=REGRET, value=None, remark="no promise: two arms are equal")
    found = arm_by_arm_mean_regret(gaps[gaps > 0], sigma=question.sigma, horizon=question.horizon)
    return Line(what=REGRET, value=found.bound, remark="of GreedyFirst() without contexts")


def _regret_with_contexts(problem: Problem, question: Question) -> Line:
    lead, constants = problem.lead, problem.constants
    if problem.inputs is None or not lead.lower > 0:
        return Line(what=REGRET, value=None, remark="no promise: it needs Assumption 4")
    inputs = ArmByArmInputs(
        n_features=constants.n_features,
        horizon=question.horizon,
        x_max=problem.x_max,
        b_max=constants.b_max,
        sigma=question.sigma,
        margin_constant=problem.margin.upper,
        lambda1=lead.lower,
        h=lead.h,
        n_suboptimal=len(lead.suboptimal),
        rule=ArmByArmRule(n_arms=constants.n_arms),
    )
    c, d = inputs.rule.doubt, inputs.n_features
    growth = "with a random constant" if c > d - 1 else f"for c > {d - 1} only; here c = {c:g}"
    growth = "" if c > d + 1 else f" {growth}"
    remark = f"of GreedyFirst() with a known noise and penalty; order log T{growth}"
    return Line(what=REGRET, value=arm_by_arm_regret(inputs).bound, remark=remark)


def _chance_of_a_raise(problem: Problem, pulls: int) -> Line:
    """By Theorem C: λ₀ and E[xx'], as drawn, say what greedy gives an arm at least."""
    rule, moment = ArmByArmRule(n_arms=2), problem.constants.moment
    values = np.linalg.eigvalsh(moment)
    diversity = min(problem.lambda0 / float(values[-1]), 0.5)
    if not diversity > rule.theta:
        why = f"θ* = {diversity:.2g} of E[xx'] is not above θ = {rule.theta:.2g}"
        return Line(what=RAISE, value=None, remark=f"no promise: {why}")
    chance = raise_probability_after_pulls(
        rule,
        pulls=pulls,
        diversity=diversity,
        leverage=problem.x_max**2 / float(values[0]),
        n_features=len(moment),
    )
    remark = f"at any time after {pulls} first pulls of each arm, at most"
    return Line(what=RAISE, value=chance, remark=remark)


def simulated_regret(
    arms: Sequence[Sequence[float]],
    *,
    contexts: ContextDistribution,
    sigma: float,
    horizon: int,
    n_runs: int,
    seed: int,
    **spread: Unpack[Spread],
) -> Line:
    """What `GreedyFirst()` loses in simulated runs, with its 99 % limit as the worst."""
    problem = LinearProblem(contexts=contexts, arms=arms, noise=GaussianNoise(sigma=sigma))
    result = simulate(
        problem,
        {"Greedy-First": GreedyFirst()},
        n_instances=n_runs,
        horizon=horizon,
        seed=seed,
        progress=False,
        **spread,
    )
    lost = result.final[:, 0]
    limit = lost.mean() + 2.576 * lost.std(ddof=1) / np.sqrt(n_runs) if n_runs > 1 else None
    return Line(
        what=SIMULATED,
        value=float(lost.mean()),
        worst=None if limit is None else float(limit),
        remark=f"of GreedyFirst() as it comes, in {n_runs} runs",
    )
