r"""The steps behind Theorems 2 and 4: Lemmas 13 to 16.

The event of the theorems is that every arm's estimate stays within θ₁ = h/(2x_max) of the truth
from round Km on. The chance to leave is bounded in four pieces, which the function L adds up
(:mod:`greedyfirst.theory.bounds.failure_bound`). All results are at most 1.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.theory.bounds.estimation_lemmas import estimate_failure_probability
from greedyfirst.theory.bounds.failure_bound import SuccessInputs, diversity_rate, estimate_rate
from greedyfirst.validation import number, whole_number


def initial_estimate_failure(inputs: SuccessInputs, *, delta: float, survivor: float) -> float:
    r"""Lemma 13: after m random pulls an arm's estimate is off although λ_min ≥ δ.

    .. math:: 2d\,θ\,e^{-θ_1^2 δ/(2dσ^2)} , \qquad θ = P[λ_{\min}(X_{1:m}^\top X_{1:m}) \ge δ] .

    It is sharper than Lemma 5, since these contexts do not depend on the rewards.

    Parameters
    ----------
    inputs
        The constants.
    delta, survivor
        δ and θ.

    Examples
    --------
    >>> import math
    >>> from greedyfirst.theory import SuccessInputs, initial_estimate_failure
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> chance = initial_estimate_failure(inputs, delta=10.0, survivor=0.9)
    >>> math.isclose(chance, 4 * 0.9 * math.exp(-(0.1**2) * 10 / (4 * 0.1**2)))
    True
    """
    delta = number("delta", delta, above=0)
    survivor = number("survivor", survivor, at_least=0, at_most=1)
    return min(1.0, 2 * inputs.n_features * survivor * math.exp(-inputs.signal * delta))


def early_estimate_failure(inputs: SuccessInputs, *, delta: float, t: int) -> float:
    r"""Lemma 14: at round t > Km an arm's estimate is off although λ_min ≥ δ at round Km.

    .. math:: 2d \exp\Bigl(-\frac{θ_1^2 δ^2}{2d(t-(K-1)m)σ^2x_{\max}^2}\Bigr) ,

    which is Lemma 5: the other arms have had (K-1)m rounds at least.

    Parameters
    ----------
    inputs
        The constants.
    delta, t
        δ and the round.

    Examples
    --------
    At round 30 an arm has at most 20 samples: 2d exp(-θ₁²δ²/(2d·20σ²x_max²)) with θ₁ = 0.1.

    >>> import math
    >>> from greedyfirst.theory import SuccessInputs, early_estimate_failure
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> chance = early_estimate_failure(inputs, delta=20.0, t=30)
    >>> math.isclose(chance, 4 * math.exp(-4 / (4 * 20 * 0.01)))
    True
    """
    K, m = inputs.n_arms, inputs.initial_pulls
    t = whole_number("t", t, at_least=K * m + 1)
    return estimate_failure_probability(
        error=inputs.h / (2 * inputs.x_max),
        eigenvalue=number("delta", delta, above=0),
        pulls=t - (K - 1) * m,
        n_features=inputs.n_features,
        sigma=inputs.sigma,
        x_max=inputs.x_max,
    )


def later_diversity_failure(inputs: SuccessInputs, *, gamma: float, t: int) -> float:
    r"""Lemma 15: an optimal arm's λ_min is below (1-γ)λ₁(t - m|K_sub|), all estimates inside.

    .. math:: d\,e^{-D_1(γ)(t - m|K_{sub}|)} .

    While all estimates are inside, sub-optimal arms are never played.

    Parameters
    ----------
    inputs
        The constants.
    gamma, t
        γ in (0, 1) and the round.

    Departure from the paper
    ------------------------
    The event J is printed with λt - m|K_sub| for λ(t - m|K_sub|), which the proof has.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs, later_diversity_failure
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> later_diversity_failure(inputs, gamma=0.5, t=21)
    1.0
    >>> bool(later_diversity_failure(inputs, gamma=0.5, t=10_000) < 1e-6)
    True
    """
    rate = float(diversity_rate(inputs, np.asarray(_gamma(gamma))))
    return min(1.0, inputs.n_features * math.exp(-rate * _rounds(inputs, t)))


def later_estimate_failure(inputs: SuccessInputs, *, gamma: float, t: int) -> float:
    r"""Lemma 16: at round t an estimate is off although λ_min ≥ (1-γ)λ₁(t - m|K_sub|).

    .. math:: 2d\,e^{-D_2(γ)(t - m|K_{sub}|)} ,

    which is Lemma 5, as an arm has at most t - (K-1)m ≤ t - m|K_sub| samples.

    Parameters
    ----------
    inputs, gamma, t
        As for `later_diversity_failure`.

    Departure from the paper
    ------------------------
    As in `later_diversity_failure`. With J as printed the lemma is false: for small λ₁ the event
    holds whatever the samples are.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs, later_estimate_failure
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> bool(later_estimate_failure(inputs, gamma=0.5, t=100_000) < 1e-6)
    True
    """
    rate = float(estimate_rate(inputs, np.asarray(_gamma(gamma))))
    return min(1.0, 2 * inputs.n_features * math.exp(-rate * _rounds(inputs, t)))


def _gamma(gamma: float) -> float:
    return number("gamma", gamma, above=0, below=1)


def _rounds(inputs: SuccessInputs, t: int) -> int:
    """Rounds t, without those that initial pulls gave to sub-optimal arms."""
    m = inputs.initial_pulls
    return whole_number("t", t, at_least=inputs.n_arms * m + 1) - m * inputs.n_suboptimal
