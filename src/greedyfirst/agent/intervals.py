r"""Intervals that hold on data which chose itself, at every moment one may look.

An agent's decisions depend on earlier rewards, so textbook intervals are wrong for its estimates.
Let arm a's rewards be :math:`x^\top\beta_a` plus noise that is sub-Gaussian with scale σ whatever
came before, G its Gram matrix and m = Σxy. For any λ > 0 and diagonal D fixed beforehand, with
probability 1 − δ, at all times together (Abbasi-Yadkori, Pál and Szepesvári 2011, Theorem 1),

.. math:: \|m - G\beta_a\|^2_{(G + \lambda D)^{-1}} \le R^2 = 2\sigma^2\log
          \frac{\det(I + D^{-1/2}GD^{-1/2}/\lambda)^{1/2}}{\delta},

and then for every x in the span of the arm's contexts, with :math:`\hat\beta_a = G^+m`,

.. math:: |x^\top\hat\beta_a - x^\top\beta_a| \le R\sqrt{x^\top G^+(G + \lambda D)G^+x} .

No bound on the size of β is needed. λ may be chosen afterwards among ``PENALTIES``, and each
feature's unit, the root of its entry in D, among the powers of ten, since δ is shared out among all
of these beforehand: :math:`10^k` gets ½ for k = 0, else 1/(4|k|(|k| + 1)). It is shared among the
arms too, so that all arms, contexts and times hold together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.models.linear_part import linear_part
from greedyfirst.validation import FloatArray, number, whole_number, wrong

if TYPE_CHECKING:
    from greedyfirst.agent.running_policy import RunningPolicy

#: λ, in samples' worth of information.
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
# Eigenvalues below this share of the largest, and parts of a context outside the others' span, are
# rounding.
NOTHING = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals:
    """Of each arm's expected reward in each of some contexts; all hold together, at all times."""

    #: (n, n_arms); an arm whose contexts do not span the row has NaN and infinite ends. So are all
    #: ends while ``sigma`` is estimated and no noise has been seen.
    estimate: FloatArray
    half_width: FloatArray
    level: float
    sigma: float
    #: False where ``sigma`` was estimated: then the level is approximate.
    sigma_known: bool

    def __repr__(self) -> str:
        n, n_arms = self.estimate.shape
        return f"Intervals({n} contexts × {n_arms} arms, level {self.level:g})"

    @property
    def low(self) -> FloatArray:
        """Lower ends (n, n_arms)."""
        return np.where(np.isfinite(self.half_width), self.estimate - self.half_width, -np.inf)

    @property
    def high(self) -> FloatArray:
        """Upper ends (n, n_arms)."""
        return np.where(np.isfinite(self.half_width), self.estimate + self.half_width, np.inf)

    def difference(self, arm: int, other: int) -> tuple[FloatArray, FloatArray]:
        """Ends of the interval of one arm less another (n,), (n,), arms by number."""
        most = self.estimate.shape[1] - 1
        for name, given in (("arm", arm), ("other", other)):
            whole_number(name, given, at_least=0, at_most=most)
        return self.low[:, arm] - self.high[:, other], self.high[:, arm] - self.low[:, other]


def intervals(
    agent: RunningPolicy, contexts: FloatArray, *, sigma: float | None = None, level: float = 0.95
) -> Intervals:
    """The intervals in these contexts (n, d); those of coefficients are in the unit contexts."""
    model: Any = linear_model(agent)
    known = sigma is not None
    scale = estimated_sigma(model) if sigma is None else number("sigma", sigma, above=0)
    if hasattr(model, "reference"):
        moments = model.context_moment + model.gram @ model.reference
    else:
        moments = model.moment
    sums = Sums(model.gram, moments, agent.rewards)
    return intervals_of(sums, contexts, sigma=scale, sigma_known=known, level=level)


class Sums(NamedTuple):
    """What intervals are made of: each arm's Gram matrix and Σxy, and the number of rewards."""

    gram: FloatArray  # (n_arms, d, d)
    moment: FloatArray  # (n_arms, d)
    rewards: int


def intervals_of(
    sums: Sums, contexts: FloatArray, *, sigma: float, sigma_known: bool, level: float = 0.95
) -> Intervals:
    """The intervals in these contexts (n, d) that follow from an agent's sums, or a subgroup's.

    Which rewards belong to the sums must have been known before each of them came. An infinite
    ``sigma`` says that nothing is known of the noise.
    """
    number("level", level, above=0, below=1)
    n_arms = len(sums.gram)
    pooled = np.einsum("aii->i", sums.gram) / max(sums.rewards, 1)
    powers = np.round(np.log10(np.where(pooled > 0, pooled, 1.0)) / 2)
    units = 10.0**powers
    # The logarithm of 1/δ for each arm, λ and D.
    doubt = math.log(n_arms * len(PENALTIES) / (1 - level))
    doubt += sum(math.log(4 * k * (k + 1)) if k else math.log(2) for k in abs(powers))
    shape = (len(contexts), n_arms)
    estimate, half = np.full(shape, np.nan), np.full(shape, np.inf)
    for arm in range(n_arms):
        values, vectors = np.linalg.eigh(sums.gram[arm] / np.outer(units, units))
        seen = values > NOTHING * max(float(values[-1]), 0.0)
        rows = (contexts / units) @ vectors
        outside = (rows[:, ~seen] ** 2).sum(axis=1) > NOTHING * (rows**2).sum(axis=1)
        inside, values = rows[:, seen], values[seen]
        if not len(values):
            continue
        center = inside @ ((sums.moment[arm] / units) @ vectors[:, seen] / values)
        widths = [
            math.sqrt(float(np.log1p(values / penalty).sum()) + 2 * doubt)
            * np.sqrt(inside**2 @ ((values + penalty) / values**2))
            for penalty in PENALTIES
        ]
        estimate[:, arm] = np.where(outside, np.nan, center)
        if math.isfinite(sigma):
            half[:, arm] = np.where(outside, np.inf, sigma * np.min(widths, axis=0))
    return Intervals(
        estimate=estimate, half_width=half, level=level, sigma=sigma, sigma_known=sigma_known
    )


def linear_model(agent: RunningPolicy) -> LeastSquares | LearnedRidge | FirstRidge:
    """The model with the sums of all rows; a ValueError where the policy keeps none."""
    model: Any = getattr(getattr(agent.state, "greedy", agent.state), "model", None)
    if isinstance(model, (LearnedRidge, FirstRidge)):
        return model
    linear = linear_part(model)
    if isinstance(linear, LeastSquares) and not hasattr(model, "link"):
        return linear
    raise wrong("policy", agent.policy, "one that keeps linear regressions, for intervals")


def estimated_sigma(model: LeastSquares | LearnedRidge | FirstRidge) -> float:
    """The noise's scale by the model, infinite while none was seen; a ValueError without one."""
    if isinstance(model, (LearnedRidge, FirstRidge)):
        # No two rewards that differ: nothing is known of the noise.
        return math.sqrt(model.noise_variance) or math.inf
    raise ValueError(
        "sigma must be given: the noise's scale, for rewards between a and b at most (b - a)/2"
    )
