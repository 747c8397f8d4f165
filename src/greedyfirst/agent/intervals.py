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

**Where σ is estimated** nobody knows that the noise has one scale, or is sub-Gaussian. With what is
left of the rewards, :math:`V = \sum r^2xx^\top` takes the place of σ²G,

.. math:: |x^\top\hat\beta_a - x^\top\beta_a| \le R_V\sqrt{x^\top G^+(V + \lambda s^2D)G^+x},
          \qquad R_V^2 = 2\log\frac{\det(I + D^{-1/2}VD^{-1/2}/(\lambda s^2))^{1/2}}{\delta},
          \quad s^2 = \frac1n\sum r^2,

which with the errors themselves in the place of r is proved for errors that are symmetric given all
before, whatever their scales and tails (de la Peña, Klass and Lai 2004); others come close as rows
add up. The interval is never narrower than the one above with σ = s, since a few rows say little of
the noise in their direction. And there is none before an arm's noise has been seen: while few rows
have most of the squares (:func:`~greedyfirst.agent.noise_sums.needed`), or all rewards are alike.
Nothing that never happened is in it: of events rarer than 1 in n/3 none may be among n rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from greedyfirst.agent.noise_sums import (
    ArmNoise,
    linear_model_of,
    moments_of,
    noise_of_arm,
    together,
)
from greedyfirst.models.first_ridge import FirstRidge
from greedyfirst.models.learned_prior import LearnedRidge
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.validation import FloatArray, number, whole_number, wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from greedyfirst.agent.running_policy import RunningPolicy

#: λ, in samples' worth of information.
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
LADDER = np.array(PENALTIES)
# Eigenvalues below this share of the largest, and parts of a context outside the others' span, are
# rounding.
NOTHING = 1e-10
# Rewards whose squares about the fit are below this share of their own are all alike.
ALIKE = 1e-12
# Of events rarer than 1 in n/3, n rows have none with a probability above 5 %.
RULE_OF_THREE = 3
# Arms without an interval that a sentence names.
MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Intervals:
    """Of each arm's expected reward in each of some contexts; all hold together, at all times."""

    #: (n, n_arms); an arm whose contexts do not span the row has NaN and infinite ends. Ends are
    #: infinite too while ``sigma`` is estimated and an arm's noise is not known: ``caution`` says
    #: which arms', and why.
    estimate: FloatArray
    half_width: FloatArray
    level: float
    sigma: float
    #: False where ``sigma`` was estimated: then the level is approximate.
    sigma_known: bool
    #: What is known of each arm's noise, where that is estimated.
    noise: tuple[ArmNoise, ...] = ()

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

    def caution(self, names: Sequence[str]) -> str:
        """What estimated noise leaves open, for arms of these names; "" if ``sigma`` is known."""
        given = [each.rows for each in self.noise if each.is_known]
        told = zip(names, self.noise, strict=True) if self.noise else ()
        why = [f"{name}: {each.why_not}" for name, each in told if not each.is_known]
        parts = []
        if given:
            rarest = max(min(given) // RULE_OF_THREE, 1)
            parts.append(f"They do not cover events rarer than 1 in {rarest:,} rewards of an arm.")
        missed = sum(each.missed for each in self.noise)
        if missed:
            parts.append(
                f"{missed:,} rewards were learned without what is needed to estimate noise from; "
                "the intervals are made of the others."
            )
        if why:
            more = len(why) - MOST_NAMED
            named = "; ".join(why[:MOST_NAMED]) + (f"; and {more} more arms" if more > 0 else "")
            parts.append(f"No interval yet for {named}. A known scale or range of rewards helps.")
        return " ".join(parts)

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
    gram, moments = model.gram, moments_of(model)
    if sigma is not None:
        scale = number("sigma", sigma, above=0)
        sums = Sums(gram, moments, agent.rewards)
        return intervals_of(sums, contexts, sigma=scale, sigma_known=True, level=level)
    scale, kept = estimated_sigma(model), agent.noise
    sums = Sums(gram - kept.missed_gram, moments - kept.missed_moment, agent.rewards)
    units = units_of(gram, agent.rewards)
    noise = []
    for arm in range(agent.n_arms):
        fit = _Fit.of(sums.gram[arm], units)
        explained = _Fit.of(gram[arm], units).explained(model.context_moment[arm])
        alike = bool(model.squares[arm] - explained <= ALIKE * model.squares[arm])
        noise.append(noise_of_arm(kept, arm, fit.estimate(sums.moment[arm]), alike))
    return intervals_of(
        sums, contexts, sigma=scale, sigma_known=False, level=level, noise=together(noise)
    )


class Sums(NamedTuple):
    """What intervals are made of: each arm's Gram matrix and Σxy, and the number of rewards."""

    gram: FloatArray  # (n_arms, d, d)
    moment: FloatArray  # (n_arms, d)
    rewards: int


class _Fit(NamedTuple):
    """A Gram matrix by its eigenvectors, in the features' units, without directions not seen."""

    units: FloatArray  # (d,)
    values: FloatArray  # (r,), above zero
    vectors: FloatArray  # (d, r)

    @classmethod
    def of(cls, gram: FloatArray, units: FloatArray) -> _Fit:
        values, vectors = np.linalg.eigh(gram / np.outer(units, units))
        seen = values > NOTHING * max(float(values[-1]), 0.0)
        return cls(units, values[seen], vectors[:, seen])

    def along(self, moment: FloatArray) -> FloatArray:
        """Σxy (d,) along the eigenvectors (r,)."""
        along: FloatArray = (moment / self.units) @ self.vectors
        return along

    def estimate(self, moment: FloatArray) -> FloatArray:
        """G⁺m (d,)."""
        estimate: FloatArray = self.vectors @ (self.along(moment) / self.values) / self.units
        return estimate

    def explained(self, moment: FloatArray) -> float:
        """m'G⁺m."""
        return float((self.along(moment) ** 2 / self.values).sum())

    def half_widths(
        self, weights: FloatArray, middle: FloatArray, scale: float, doubt: float
    ) -> FloatArray:
        """The narrowest half-widths (n,) of all λ, ``middle`` (r, r) being V and ``scale`` s².

        ``weights`` (n, r) are G⁺x.
        """
        own = np.einsum("ni,ij,nj->n", weights, middle, weights)
        lengths = (weights**2).sum(axis=1)
        grown = np.log1p(np.maximum(np.linalg.eigvalsh(middle), 0.0)[:, None] / scale / LADDER)
        radii = np.sqrt(grown.sum(axis=0) + 2 * doubt)
        widths = radii * np.sqrt(own[:, None] + scale * LADDER * lengths[:, None])
        narrowest: FloatArray = widths.min(axis=1)
        return narrowest


def units_of(gram: FloatArray, rewards: int) -> FloatArray:
    """The features' units, powers of ten (d,), by the Gram matrices of all arms."""
    pooled = np.einsum("aii->i", gram) / max(rewards, 1)
    powers = np.round(np.log10(np.where(pooled > 0, pooled, 1.0)) / 2)
    units: FloatArray = 10.0**powers
    return units


def intervals_of(
    sums: Sums,
    contexts: FloatArray,
    *,
    sigma: float,
    sigma_known: bool,
    level: float = 0.95,
    noise: tuple[ArmNoise, ...] = (),
) -> Intervals:
    """The intervals in these contexts (n, d) that follow from an agent's sums, or a subgroup's.

    Which rewards belong to the sums must have been known before each of them came. An infinite
    ``sigma`` says that nothing is known of the noise. With ``noise``, what is known of each arm's,
    ``sigma`` is for information only.
    """
    number("level", level, above=0, below=1)
    n_arms = len(sums.gram)
    units = units_of(sums.gram, sums.rewards)
    # The logarithm of 1/δ for each arm, λ and D.
    doubt = math.log(n_arms * len(PENALTIES) / (1 - level))
    powers = np.round(np.log10(units))
    doubt += sum(math.log(4 * k * (k + 1)) if k else math.log(2) for k in abs(powers))
    shape = (len(contexts), n_arms)
    estimate, half = np.full(shape, np.nan), np.full(shape, np.inf)
    for arm in range(n_arms):
        fit = _Fit.of(sums.gram[arm], units)
        if not len(fit.values):
            continue
        scaled = contexts / units
        inside = scaled @ fit.vectors
        squares = (scaled**2).sum(axis=1)
        outside = squares - (inside**2).sum(axis=1) > NOTHING * squares
        weights = inside / fit.values
        estimate[:, arm] = np.where(outside, np.nan, weights @ fit.along(sums.moment[arm]))
        widths = np.full(len(contexts), np.inf)
        if noise and noise[arm].is_known:
            widths = _by_squares(fit, weights, noise[arm], doubt)
        elif not noise and math.isfinite(sigma):
            widths = sigma * fit.half_widths(weights, np.diag(fit.values), 1.0, doubt)
        half[:, arm] = np.where(outside, np.inf, widths)
    return Intervals(
        estimate=estimate,
        half_width=half,
        level=level,
        sigma=sigma,
        sigma_known=sigma_known,
        noise=noise,
    )


def _by_squares(fit: _Fit, weights: FloatArray, noise: ArmNoise, doubt: float) -> FloatArray:
    """Half-widths (n,) by what is left of the rewards, and not below those of one scale."""
    scale = noise.squares / noise.rows
    middle = fit.vectors.T @ (noise.spread / np.outer(fit.units, fit.units)) @ fit.vectors
    by_squares = fit.half_widths(weights, middle, scale, doubt)
    by_scale = fit.half_widths(weights, scale * np.diag(fit.values), scale, doubt)
    widest: FloatArray = np.maximum(by_squares, by_scale)
    return widest


def linear_model(agent: RunningPolicy) -> LeastSquares | LearnedRidge | FirstRidge:
    """The model with the sums of all rows; a ValueError where the policy keeps none."""
    model = linear_model_of(agent.state)
    if model is not None:
        return model
    raise wrong("policy", agent.policy, "one that keeps linear regressions, for intervals")


def estimated_sigma(model: LeastSquares | LearnedRidge | FirstRidge) -> float:
    """The noise's scale by the model, infinite while none was seen; a ValueError without one."""
    if isinstance(model, (LearnedRidge, FirstRidge)):
        # No two rewards that differ: nothing is known of the noise.
        return math.sqrt(model.noise_variance) or math.inf
    raise ValueError(
        "sigma must be given: the noise's scale, for rewards between a and b at most (b - a)/2"
    )
