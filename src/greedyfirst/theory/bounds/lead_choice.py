"""The choice of the lead h of Assumption 4.

A larger h is a stronger signal, but fewer contexts have it: λ₁(h) falls with h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.bounds.assumption_errors import POSITIVE, required_by
from greedyfirst.theory.bounds.eigenvalue_sample import EigenvalueSample
from greedyfirst.theory.bounds.failure_bound import SuccessInputs
from greedyfirst.theory.bounds.problem_constants import LeadEstimate, ProblemConstants
from greedyfirst.theory.bounds.success_probability import (
    SuccessProbability,
    greedy_first_success,
    greedy_success,
)
from greedyfirst.validation import whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class LeadChoice:
    """The best h of a grid, and the bound with it.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import EigenvalueSample, ProblemConstants, choose_lead
    >>> law = UniformBox(n_features=2)
    >>> problem = ProblemConstants(contexts=law, arms=[[1.0, 0.0], [-1.0, 0.0]], n_samples=10_000)
    >>> sample = EigenvalueSample.draw(law, rows=10, n_samples=2_000, seed=1)
    >>> choice = choose_lead(problem, sample, sigma=0.001, n_candidates=5)
    >>> choice.lead.optimal
    (0, 1)
    """

    lead: LeadEstimate
    success: SuccessProbability
    #: The trade-off: h, λ₁(h) and the bound, for each h at which Assumption 4 holds.
    candidates: tuple[tuple[float, float, float], ...]


def success_inputs(
    constants: ProblemConstants, lead: LeadEstimate, *, sigma: float, initial_pulls: int
) -> SuccessInputs:
    """The inputs of Theorems 2 and 4 from estimated constants.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import ProblemConstants, success_inputs
    >>> law = UniformBox(n_features=2)
    >>> problem = ProblemConstants(contexts=law, arms=[[1.0, 0.0], [-1.0, 0.0]], n_samples=10_000)
    >>> inputs = success_inputs(problem, problem.lead(0.2), sigma=0.1, initial_pulls=5)
    >>> inputs.n_arms, inputs.n_features, inputs.h
    (2, 2, 0.2)
    """
    if not lead.holds:
        expected = (
            "one for which every arm leads by more than h on contexts that span R^d, or trails by "
            f"more than h on all; arms {list(lead.undecided)} do neither"
        )
        with required_by(POSITIVE):
            raise wrong("h", lead.h, expected)
    return SuccessInputs(
        n_arms=constants.n_arms,
        n_features=constants.n_features,
        initial_pulls=initial_pulls,
        sigma=sigma,
        x_max=float(constants.x_max or 0.0),
        lambda1=lead.lambda1,
        h=lead.h,
        n_suboptimal=len(lead.suboptimal),
    )


def choose_lead(
    constants: ProblemConstants,
    sample: EigenvalueSample,
    *,
    sigma: float,
    lambda0: float | None = None,
    t0: int | None = None,
    form: str = "printed",
    n_candidates: int = 40,
    tolerance: float = 1e-3,
) -> LeadChoice:
    """The h that makes the success bound highest (the end of §4.3 suggests it).

    Parameters
    ----------
    constants, sample
        The constants of the problem and draws of λ_min; ``sample.rows`` is m.
    sigma
        The noise parameter σ.
    lambda0, t0
        Both for Theorem 4 (Greedy-First); neither for Theorem 2.
    form, tolerance
        As for `greedy_success`.
    n_candidates
        Values of h tried, evenly spaced below the largest lead. They share the error probability
        of λ₁'s lower bound, so that the bound holds for the best one too.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import EigenvalueSample, ProblemConstants, choose_lead
    >>> law = UniformBox(n_features=2)
    >>> problem = ProblemConstants(contexts=law, arms=[[1.0, 0.0], [-1.0, 0.0]], n_samples=10_000)
    >>> sample = EigenvalueSample.draw(law, rows=10, n_samples=2_000, seed=1)
    >>> choice = choose_lead(problem, sample, sigma=0.001, n_candidates=5)
    >>> bool(0 < choice.lead.h < problem.largest_lead())
    True
    """
    if (lambda0 is None) != (t0 is None):
        raise wrong("lambda0 and t0", (lambda0, t0), "both given or both None")
    n = whole_number("n_candidates", n_candidates, at_least=1)
    leads = [
        constants.lead(float(h), shared_by=n)
        for h in constants.largest_lead() * np.arange(1, n + 1) / (n + 1)
        if h > 0
    ]
    found: list[tuple[LeadEstimate, SuccessProbability]] = []
    for lead in (lead for lead in leads if lead.holds):
        inputs = success_inputs(constants, lead, sigma=sigma, initial_pulls=sample.rows)
        if lambda0 is None or t0 is None:
            bound = greedy_success(
                inputs, sample, form=form, tolerance=tolerance, lambda1_lower=lead.lower
            )
        else:
            bound = greedy_first_success(
                inputs,
                sample,
                lambda0=lambda0,
                t0=t0,
                form=form,
                tolerance=tolerance,
                lambda1_lower=lead.lower,
            )
        found.append((lead, bound))
    if not found:
        with required_by(POSITIVE):
            raise wrong("constants", constants.arms, "arms for which some h > 0 exists")
    lead, success = max(found, key=lambda pair: pair[1].value)
    return LeadChoice(
        lead=lead,
        success=success,
        candidates=tuple((one.h, one.lambda1, bound.value) for one, bound in found),
    )
