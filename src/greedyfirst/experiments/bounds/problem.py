"""A problem and what is asked of it, with its constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greedyfirst.problems import ContextDistribution, FromArray
from greedyfirst.theory import (
    EigenvalueSample,
    LeadEstimate,
    MarginEstimate,
    ProblemConstants,
    RegretInputs,
    SuccessInputs,
    choose_lead,
    diversity_constant,
    measure_diversity,
    success_inputs,
)
from greedyfirst.validation import wrong

# Gram matrices drawn for the law of λ_min.
N_GRAM_MATRICES = 20_000


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a problem."""

    sigma: float
    horizon: int
    #: λ₀ and t₀ of Greedy-First.
    test: tuple[float, int] | None
    q: int | None
    alpha: float
    link: str | None
    #: The lead of Assumption 4 where it is given.
    h: float | None


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem with its constants, estimated once."""

    constants: ProblemConstants
    margin: MarginEstimate
    #: λ₀, proved, and the reason in words.
    lambda0: float
    lambda0_reason: str
    lead: LeadEstimate
    sample: EigenvalueSample
    #: None where Assumption 4 does not hold.
    inputs: SuccessInputs | None

    @property
    def x_max(self) -> float:
        """The bound of ‖x‖."""
        return float(self.constants.x_max or 0.0)

    def regret_inputs(
        self, question: Question, lambda0: float, margin: float | None = None
    ) -> RegretInputs:
        """The inputs of the regret bounds, C₀ at its upper limit."""
        return RegretInputs(
            n_arms=self.constants.n_arms,
            n_features=self.constants.n_features,
            horizon=question.horizon,
            x_max=self.x_max,
            b_max=self.constants.b_max,
            sigma=question.sigma,
            margin_constant=self.margin.upper if margin is None else margin,
            lambda0=lambda0,
        )


def prepare(
    arms: Sequence[Sequence[float]],
    *,
    contexts: ContextDistribution,
    sigma: float,
    initial_pulls: int,
    x_max: float | None,
    h: float | None,
    seed: int,
) -> Problem:
    """Estimate the constants of a problem; arguments as of `report_bounds`."""
    constants = ProblemConstants(contexts=contexts, arms=arms, seed=seed, x_max=x_max)
    margin = constants.margin()
    if not margin.upper > 0:
        raise wrong("arms", arms, "arms that differ on some contexts")
    sample = EigenvalueSample.draw(
        contexts, rows=initial_pulls, n_samples=N_GRAM_MATRICES, seed=seed + 1
    )
    lead = _best_lead(constants, sample, sigma) if h is None else constants.lead(h)
    inputs = None
    if lead.holds and lead.lambda1 > 0:
        inputs = success_inputs(constants, lead, sigma=sigma, initial_pulls=initial_pulls)
    lambda0, reason = _diversity(contexts, seed)
    return Problem(
        constants=constants,
        margin=margin,
        lambda0=lambda0,
        lambda0_reason=reason,
        lead=lead,
        sample=sample,
        inputs=inputs,
    )


def _best_lead(constants: ProblemConstants, sample: EigenvalueSample, sigma: float) -> LeadEstimate:
    try:
        return choose_lead(constants, sample, sigma=sigma).lead
    except ValueError:  # for no h; a small one shows which arms neither lead nor trail
        return constants.lead(constants.largest_lead() / 100)


def _diversity(contexts: ContextDistribution, seed: int) -> tuple[float, str]:
    """λ₀ as far as it is proved, and why."""
    if not isinstance(contexts, FromArray):
        found = diversity_constant(contexts)
        return (
            found.lower,
            found.lemma if not found.lower > 0 else "the least in any half and direction",
        )
    rows = np.asarray(contexts.rows)
    measured = measure_diversity(rows, seed=seed)
    if measured.rank < rows.shape[1]:
        return 0.0, "columns are collinear"
    if measured.lower > 0:
        return measured.lower, "of these rows, proved"
    known = "0" if measured.answer == "no" else "nothing is proved"
    return 0.0, f"{known}, see greedyfirst diversity"
