"""Theorem 3: the regret of Greedy-First, and how likely it is to switch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from greedyfirst.theory.bounds.peeling_sum import linear_constant, linear_factor
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.theory.bounds.round_regret import estimation_coefficient
from greedyfirst.validation import number, whole_number


@dataclass(frozen=True, kw_only=True)
class GreedyFirstRegret:
    """The regret bound of Theorem 3.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, greedy_first_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> regret = greedy_first_regret(inputs, t0=10, ols_bandit_coefficient=5.0)
    >>> regret.t0, regret.trivial_bound
    (10, 2000.0)
    """

    inputs: RegretInputs
    t0: int
    #: C, what multiplies log T: estimates of each pair of arms, and the fallback.
    log_coefficient: float
    constant: float
    bound: float
    #: As printed: ((K-1)·C_GB + C_OB)·log T + 2 t₀ x_max b_max.
    printed_bound: float
    trivial_bound: float
    #: δ, the chance of a switch if Assumption 3 holds with the test's λ₀; None for more than two
    #: arms, and for a λ₀ that no law of contexts can have.
    switch_probability: float | None


def greedy_first_regret(
    inputs: RegretInputs, *, t0: int, ols_bandit_coefficient: float
) -> GreedyFirstRegret:
    r"""Theorem 3, for any number of arms and with or without covariate diversity.

    .. math:: R_T \le \Bigl(\tfrac{K(K-1)}{2}\, a + C_{OB}\Bigr)\log T
              + 2 (t_0+1) x_{\max} b_{\max}

    with a of Theorem 1. While the test passes, diversity is observed, not assumed: Theorem 1's
    diversity term is absent, and λ₀ may be any number above 0.

    It is proved for ``GreedyFirst(t0=…, lambda0=…, fallback=OLSBandit(h=…, q=…, warmup="none"),
    warmup="none", span="full", carry_over=False)``: λ₀ is fixed beforehand, λ_min is that of the
    whole Gram matrix, and the fallback starts afresh; it grows like log T if q is at least
    `OLSBanditInputs.smallest_q`. With an estimated λ₀ (Algorithm 5), samples
    carried over, a pooled span, or without a fallback, which is the default, Greedy-First is
    measured, not proved. The assumptions are 1, 2 and, for OLS Bandit, 4.

    Parameters
    ----------
    inputs
        ``inputs.lambda0`` is the λ₀ of the test.
    t0
        Rounds before the test begins.
    ols_bandit_coefficient
        C_OB, with the fallback's regret over at most T rounds at most C_OB·log T, lower-order terms
        included: `OLSBanditRegret.coefficient`. The paper leaves it to Bastani and Bayati (2020).

    Departures from the paper
    -------------------------
    - K(K-1)/2 for its K-1. Lemma 6 bounds P[x ∈ I^h | x ∈ R_l] by P[x ∈ I^h], which does not hold;
      summed over l, each *pair* of arms may add C₀κ. For K = 2 both factors are 1. Contexts near
      the three rays between the arms of Example 1 reach 3 C₀κ.
    - t₀ + 1 for its t₀: round t₀+1 is decided before the first test.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, greedy_first_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> regret = greedy_first_regret(inputs, t0=10, ols_bandit_coefficient=5.0)
    >>> regret.constant  # 2(t₀ + 1) x_max b_max
    22.0
    """
    t0 = whole_number("t0", t0, at_least=1)
    fallback = number("ols_bandit_coefficient", ols_bandit_coefficient, at_least=0)
    K, log_T = inputs.n_arms, math.log(inputs.horizon)
    a = estimation_coefficient(inputs, linear_factor(inputs.n_features))
    largest = inputs.largest_regret
    coefficient = K * (K - 1) / 2 * a + fallback
    constant = (t0 + 1) * largest
    diversity = 2 * largest * inputs.n_features / inputs.c1
    can_hold = K == 2 and inputs.lambda0 <= inputs.largest_diversity
    c_gb = 2 * a + linear_constant(inputs.n_features) * (diversity + largest)
    return GreedyFirstRegret(
        inputs=inputs,
        t0=t0,
        log_coefficient=coefficient,
        constant=constant,
        bound=coefficient * log_T + constant,
        printed_bound=((K - 1) * c_gb + fallback) * log_T + t0 * largest,
        trivial_bound=largest * inputs.horizon,
        switch_probability=switch_probability(inputs, t0=t0) if can_hold else None,
    )


def switch_probability(inputs: RegretInputs, *, t0: int, sharp: bool = False) -> float:
    r"""δ of Theorem 3: a bound of the chance that Greedy-First switches, for two diverse arms.

    .. math:: \delta = \min\bigl\{1,\ 2d\, e^{-t_0 C_1} / C_1\bigr\} .

    With ``sharp`` the geometric series is summed exactly, with the corrected exponent of Lemma 4
    (`RegretInputs.sharp_c1`). The printed δ exceeds 1 for small t₀; here it is at most 1.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, switch_probability
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> switch_probability(inputs, t0=10)  # nothing is promised so early
    1.0
    >>> bool(switch_probability(inputs, t0=10_000) < 1e-6)
    True
    """
    t0 = whole_number("t0", t0, at_least=1)
    inputs.require_two_arms("this part of Theorem 3")
    inputs.require_diversity()
    d = inputs.n_features
    if sharp:
        rate = inputs.sharp_c1
        return min(1.0, 2 * d * math.exp(-rate * (t0 + 1)) / -math.expm1(-rate))
    return min(1.0, 2 * d * math.exp(-t0 * inputs.c1) / inputs.c1)
