"""λ₀ of the context distributions of §2.2, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from greedyfirst.problems import (
    ClippedGaussian,
    ContextDistribution,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithIntercept,
)
from greedyfirst.theory.diversity.truncated_gaussian import (
    SmallestMoment,
    moment_in_ball,
    moment_in_box,
    moment_in_interval,
)
from greedyfirst.validation import FloatArray, wrong

# Contexts drawn for ``DiversityConstant.numerical``, and their seed.
NUMERICAL_SAMPLE, NUMERICAL_SEED = 200_000, 20
SYMMETRY = (
    "Lemma 1 with W the whole support: the law is the same at x and -x, so that every half-space "
    "keeps at least half of E[xxᵀ], and almost every one exactly half"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DiversityConstant:
    """λ₀(p) = inf over u of λ_min(E[xxᵀ 1{xᵀu ≥ 0}]), Assumption 3's constant of a law p.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox, WithIntercept
    >>> from greedyfirst.theory import diversity_constant
    >>> diversity_constant(WithIntercept(contexts=UniformBox(n_features=2))).holds
    False
    """

    #: A proved lower bound; it may be used as λ₀ wherever the theory asks for one.
    lower: float
    #: λ₀ itself, None where no closed form is known.
    exact: float | None
    #: An estimate from a seeded sample, only where there is no closed form. Not a bound.
    numerical: float | None
    #: Where the lower bound comes from, in words.
    lemma: str
    #: A unit u (d,) for which no context has xᵀu ≥ 0, where there is one.
    witness: FloatArray | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the law satisfies covariate diversity, None where that is not proved."""
        if self.lower > 0.0:
            return True
        return False if self.exact == 0.0 else None


def diversity_constant(distribution: ContextDistribution) -> DiversityConstant:
    r"""λ₀ of a context distribution (Assumption 3 and §2.2).

    For every law λ₀ ≤ λ_min(E[xxᵀ])/2. For almost every u, P(xᵀu = 0, x ≠ 0) = 0: the half-spaces
    of u and -u then split E[xxᵀ] between them, and one keeps at most half of it in the weakest
    direction. For a centrally symmetric law both keep exactly half, and no u keeps less, so

    .. math:: \lambda_0 = \tfrac{1}{2} \lambda_{\min}(E[x x^\top]) ,

    also when it has atoms: directions u with P(xᵀu = 0) > 0 only keep more.

    ========================================  ====================================================
    `UniformBall`                             R²/(2(d+2))
    `UniformBox`                              min w_i²/6
    `TruncatedGaussian`, ball, Σ = v·I        v·F_{d+2}(b²/v)/(2F_d(b²/v)), F_k the law of χ²(k)
    `TruncatedGaussian`, ball, any Σ          as `truncated_gaussian.moment_in_ball`
    `TruncatedGaussian`, box, diagonal Σ      half the smallest truncated variance
    `TruncatedGaussian`, box, any Σ           a lower bound, and a numerical value
    `ClippedGaussian`, diagonal Σ, no ball    half the smallest clipped variance
    `Rademacher`                              s²/2
    `Gibbs`                                   λ_min of the enumerated E[xxᵀ], halved
    `Product`                                 the smallest of its symmetric parts; 0 with an
                                              intercept in any part
    `WithIntercept`                           0, at u = (-1, 0, …, 0)
    ========================================  ====================================================

    Parameters
    ----------
    distribution : context distribution
        One of the above.

    Raises
    ------
    ValueError
        For laws without a closed form; `measure_diversity` takes a sample of those.

    Departures from the paper
    -------------------------
    - §2.2 gives the constant λ of Lemma 1's condition (c); λ₀ is a/(2b) of it, so half. The lemma's
      factor a/(2b) can be raised to a/(a+b): of x and -x the rarer one has at least a/(a+b) of
      their joint mass, and one of the two is always kept.
    - Example 1 asks for a set V "that contains the origin". It must contain a ball around it: the
      uniform law on [0, 1]^d contains the origin and has λ₀ = 0.
    - λ = R^{d+2}/((d+2)x_max^d) is exact only for V = B_{x_max}; for other V it is a lower bound.
    - Example 2 prints |Σ|^{d/2} where a Gaussian density has |Σ|^{1/2}. With the printed power the
      constant can exceed x_max², which no λ can. With the right one it is a lower bound, far below
      the value here: it counts every context at the density of the ball's surface.
    - At the end of §2.2, P(W) of the second part multiplies λ of the first one.

    Examples
    --------
    The uniform law on [-1, 1]² has λ₀ = 1/6:

    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import diversity_constant
    >>> round(diversity_constant(UniformBox(n_features=2)).exact, 6)
    0.166667
    """
    for kind, rule in RULES.items():
        if type(distribution) is kind:
            return rule(distribution)
    raise wrong(
        "distribution",
        distribution,
        "a law with a closed form ("
        + ", ".join(kind.__name__ for kind in RULES)
        + "); for others measure a sample: "
        "measure_diversity(distribution.sample(np.random.default_rng(0), 100_000))",
    )


def _symmetric(moment: SmallestMoment, distribution: ContextDistribution) -> DiversityConstant:
    return DiversityConstant(
        lower=0.5 * moment.lower,
        exact=None if moment.exact is None else 0.5 * moment.exact,
        numerical=_estimate(distribution) if moment.exact is None else None,
        lemma=f"{SYMMETRY}; the smallest eigenvalue of E[xxᵀ] by {moment.reason}",
    )


def _estimate(distribution: ContextDistribution) -> float | None:
    try:
        rows = distribution.sample(np.random.default_rng(NUMERICAL_SEED), NUMERICAL_SAMPLE)
    except ValueError:  # the bound keeps too few proposals to draw a sample
        return None
    return 0.5 * max(float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[0]), 0.0)


def _known(smallest: float, reason: str, distribution: Any) -> DiversityConstant:
    return _symmetric(SmallestMoment(lower=smallest, exact=smallest, reason=reason), distribution)


def _ball(law: UniformBall) -> DiversityConstant:
    return _known(law.radius**2 / (law.n_features + 2), "Lemma 2, R²/(d+2)", law)


def _box(law: UniformBox) -> DiversityConstant:
    return _known(float(np.min(law.half_width)) ** 2 / 3.0, "the variance w²/3", law)


def _truncated(law: TruncatedGaussian) -> DiversityConstant:
    covariance = np.asarray(law.covariance, dtype=np.float64)
    if law.norm == "linf":
        return _symmetric(moment_in_box(covariance, law.n_features, law.bound), law)
    if covariance.ndim == 2:
        variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    else:
        variances = np.broadcast_to(covariance, (law.n_features,)).astype(np.float64)
    return _symmetric(moment_in_ball(variances, law.bound), law)


def _clipped(law: ClippedGaussian) -> DiversityConstant:
    if law.ball_radius is not None or np.ndim(law.covariance) == 2:
        raise wrong(
            "distribution",
            law,
            "a ClippedGaussian with a diagonal covariance and no ball_radius; for others measure a "
            "sample: measure_diversity(distribution.sample(np.random.default_rng(0), 100_000))",
        )
    variance = float(np.min(np.asarray(law.covariance)))
    outside = 2.0 * float(norm.sf(law.bound / np.sqrt(variance))) if variance > 0.0 else 0.0
    inside = (1.0 - outside) * moment_in_interval(variance, law.bound)
    return _known(inside + outside * law.bound**2, "the variance of a clipped normal", law)


def _rademacher(law: Rademacher) -> DiversityConstant:
    return _known(law.scale**2, "E[xxᵀ] = s²·I", law)


def _gibbs(law: Gibbs) -> DiversityConstant:
    moments = law.states.T @ (law.states * law.probabilities[:, np.newaxis])
    smallest = max(float(np.linalg.eigvalsh(moments)[0]), 0.0)
    return _known(smallest, "the sum over all corners of the cube", law)


def _intercept(law: WithIntercept) -> DiversityConstant:
    witness = np.zeros(law.n_features)
    witness[0] = -1.0
    return DiversityConstant(
        lower=0.0,
        exact=0.0,
        numerical=None,
        lemma="the first feature is always 1, so that u = (-1, 0, …, 0) keeps no context at all",
        witness=witness,
    )


def _product(law: Product) -> DiversityConstant:
    parts = [_part(place, part) for place, part in enumerate(law.parts)]
    starts = np.cumsum([0] + [part.n_features for part in law.parts])
    for start, part in zip(starts, parts, strict=False):
        if part.witness is not None:
            witness = np.zeros(law.n_features)
            witness[start : start + len(part.witness)] = part.witness
            return DiversityConstant(
                lower=0.0, exact=0.0, numerical=None, lemma=part.lemma, witness=witness
            )
    lower = min(part.lower for part in parts)
    values = [part.exact for part in parts if part.exact is not None]
    # A part without a closed form does not matter if another one is below its lower bound.
    exact = lower if lower in values else None
    guesses = [part.exact if part.numerical is None else part.numerical for part in parts]
    numbers = [value for value in guesses if value is not None]
    return DiversityConstant(
        lower=lower,
        exact=exact,
        numerical=min(numbers) if exact is None and len(numbers) == len(parts) else None,
        lemma="independent parts that are each the same at x and -x are so together, and E[xxᵀ] "
        "has their blocks; " + "; ".join(dict.fromkeys(part.lemma for part in parts)),
    )


def _part(place: int, part: ContextDistribution) -> DiversityConstant:
    try:
        return diversity_constant(part)
    except ValueError as error:
        raise ValueError(f"parts[{place}]: {error}") from None


#: The law and how its constant is found; all but `WithIntercept` are centrally symmetric.
RULES: dict[type, Callable[[Any], DiversityConstant]] = {
    UniformBall: _ball,
    UniformBox: _box,
    TruncatedGaussian: _truncated,
    ClippedGaussian: _clipped,
    Rademacher: _rademacher,
    Gibbs: _gibbs,
    Product: _product,
    WithIntercept: _intercept,
}
