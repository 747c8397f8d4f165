r"""The regret of OLS Bandit with constants, so that Theorem 3 has its C_OB.

The paper takes C_OB from Bastani and Bayati (2020) without its value. Here the regret is bounded
with the paper's own lemmas, and the constants are those of this proof.

OLS Bandit forces q samples of each arm in block n = 0, 1, …, which ends at round 2ⁿKq. **Phase n**
are the rounds from there to the next block. In it each arm has s = (n+1)q forced samples, and the
forced estimates do not change. Write λ* = |K_opt|λ₁. As the sets U_i are disjoint, λ* is at most
λ_min(E[xx']).

1. *The filter is right*: all forced estimates are within h/(4x_max) of the truth. By Lemma 9 the
   Gram matrix of s random contexts has λ_min < λ*s/2 with a chance of at most d·e^{-a₁s}, and by
   Lemma 13 the estimate is then off with a chance of at most 2d·e^{-a₂s}, where
   a₁ = (1 - log 2)λ*/(2x_max²) and a₂ = h²λ*/(64dσ²x_max²). So the filter of phase n is wrong
   with a chance of at most F(n) = K(d·e^{-a₁s} + 2d·e^{-a₂s}).
2. *While it is right*, the best arm passes, arms that trail by more than h do not, and a context in
   U_i leaves arm i alone. A round costs at most min(h, 2x_max b_max), arms of K_sub are not played,
   and an optimal arm's conditional expectation of xx' is at least λ₁.
3. *Diversity*: with the filters of phases n-1 and n right, u rounds into phase n the expected Gram
   matrix of an optimal arm is at least λ₁N, N = (2^{n-1} - 1)Kq + u + (n+1)q|K_opt|. By Lemma 9 its
   samples have λ_min < λ₁N/2 with a chance of at most d·exp(-(1 - log 2)λ₁N/(2x_max²)).
4. *Estimates*: otherwise Lemma 5 holds with the eigenvalue λ₁N/2 and at most M = 2ⁿKq + u - (K-1)s
   samples, and the peeling of Lemma 6 over pairs of optimal arms gives a regret of at most
   32·C₀·d·σ²x_max⁴·P·M/(λ₁N)² per pair, P the peeling sum.

A phase costs what 1, 3 and 4 add up to, and never more than 2x_max b_max a round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy import special

from greedyfirst.theory.bounds.assumption_errors import check_lead, check_problem
from greedyfirst.theory.bounds.peeling_sum import peeling_sum
from greedyfirst.validation import whole_number

#: The parts of the bound, by what causes them.
TERMS = ("forced samples", "filter", "diversity", "estimates", "phases without a promise")
# γ + (1-γ)log(1-γ) at γ = 1/2: the exponent of Lemma 9.
HALF = (1 - math.log(2)) / 2


@dataclass(frozen=True, kw_only=True)
class OLSBanditInputs:
    """The constants that the bound needs.

    Parameters
    ----------
    n_arms, n_features, horizon : int
        K, d and T.
    x_max, b_max : float
        Bounds of ‖x‖ and ‖β‖ (Assumption 1).
    sigma : float
        σ of the sub-Gaussian noise, above 0.
    margin_constant : float
        C₀ (Assumption 2).
    lambda1, h : float
        Of Assumption 4; h is also the policy's.
    q : int
        Forced samples of each arm in a block.
    n_suboptimal : int
        |K_sub|, arms that are never best.

    Examples
    --------
    >>> from greedyfirst.theory import OLSBanditInputs
    >>> inputs = OLSBanditInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                          margin_constant=1.0, lambda1=0.1, h=0.2)
    >>> inputs.n_optimal, inputs.largest_regret
    (2, 2.0)
    """

    n_arms: int = 2
    n_features: int
    horizon: int
    x_max: float
    b_max: float
    sigma: float
    margin_constant: float
    lambda1: float
    h: float
    q: int = 1
    n_suboptimal: int = 0

    def __post_init__(self) -> None:
        whole_number("n_arms", self.n_arms, at_least=2)
        whole_number("n_features", self.n_features, at_least=1)
        whole_number("horizon", self.horizon, at_least=3)
        whole_number("q", self.q, at_least=1)
        whole_number("n_suboptimal", self.n_suboptimal, at_least=0, at_most=self.n_arms - 1)
        check_problem(self.x_max, self.b_max, self.sigma, self.margin_constant)
        check_lead(self.h, self.lambda1, self.x_max, self.n_features, self.n_optimal)

    @property
    def n_optimal(self) -> int:
        """|K_opt|."""
        return self.n_arms - self.n_suboptimal

    @property
    def largest_regret(self) -> float:
        """2 x_max b_max, the most that one round can cost."""
        return 2 * self.x_max * self.b_max

    @property
    def filter_rates(self) -> tuple[float, float]:
        """a₁ and a₂: how fast the filter's two errors fall with the forced samples."""
        moment = self.n_optimal * self.lambda1
        ratio = self.h / self.sigma / self.x_max
        diversity = HALF * moment / self.x_max**2
        return diversity, ratio * ratio * moment / (64 * self.n_features)

    @property
    def smallest_q(self) -> int:
        """The fewest forced samples a block for which the bound grows like log T: log 2/min aᵢ.

        A phase is twice as long as the one before, and its filter's error must at least halve.
        """
        return max(1, math.ceil(math.log(2) / min(self.filter_rates)))

    def with_smallest_q(self) -> OLSBanditInputs:
        """The same with as many forced samples as a logarithmic bound needs."""
        return replace(self, q=self.smallest_q)


@dataclass(frozen=True, kw_only=True)
class OLSBanditRegret:
    """The bound, and the parts that it is made of.

    Examples
    --------
    >>> from greedyfirst.theory import OLSBanditInputs, ols_bandit_regret
    >>> inputs = OLSBanditInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                          margin_constant=1.0, lambda1=0.1, h=0.2)
    >>> ols_bandit_regret(inputs.with_smallest_q()).is_logarithmic
    True
    """

    inputs: OLSBanditInputs
    #: By cause (`TERMS`); they add up to the bound.
    terms: dict[str, float]
    #: It never falls with the horizon.
    bound: float
    #: 2 x_max b_max T: the largest regret of a round, T times.
    trivial_bound: float

    @property
    def coefficient(self) -> float:
        """C_OB: the regret of any number of rounds up to T is at most C_OB·log T."""
        return self.bound / math.log(self.inputs.horizon)

    @property
    def is_logarithmic(self) -> bool:
        """Whether q is large enough for a bound that grows like log T."""
        return self.inputs.q >= self.inputs.smallest_q

    @property
    def informative(self) -> bool:
        """Whether the bound is below the trivial one."""
        return self.bound < self.trivial_bound


def ols_bandit_regret(inputs: OLSBanditInputs) -> OLSBanditRegret:
    """The expected regret of OLS Bandit over T rounds, under Assumptions 1, 2 and 4.

    For ``OLSBandit(h=inputs.h, q=inputs.q, warmup="none")`` that starts afresh. The proof is in the
    text of this module. O(log T).

    Departure from the paper
    ------------------------
    The paper cites Theorem 2 of Bastani and Bayati (2020) for C_OB. This bound has the same
    assumptions and grows like log T too, with constants of its own.

    Examples
    --------
    >>> from greedyfirst.theory import OLSBanditInputs, ols_bandit_regret
    >>> inputs = OLSBanditInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                          margin_constant=1.0, lambda1=0.1, h=0.2)
    >>> ols_bandit_regret(inputs).trivial_bound  # 2 x_max b_max T
    2000.0
    """
    K, q, T = inputs.n_arms, inputs.q, inputs.horizon
    terms = dict.fromkeys(TERMS, 0.0)
    n = 0
    while (2**n - 1) * K * q < T:
        block = min(K * q, T - (2**n - 1) * K * q)
        terms["forced samples"] += block * inputs.largest_regret
        length = min((2**n - 1) * K * q, T - 2**n * K * q)
        if length > 0:
            phase = _phase(inputs, n, length)
            trivial = length * inputs.largest_regret
            if sum(phase.values()) >= trivial:
                phase = {"phases without a promise": trivial}
            for name, value in phase.items():
                terms[name] += value
        n += 1
    return OLSBanditRegret(
        inputs=inputs,
        terms=terms,
        bound=sum(terms.values()),
        trivial_bound=T * inputs.largest_regret,
    )


def filter_failure_probability(inputs: OLSBanditInputs, phase: int) -> float:
    """F(n): the chance that some forced estimate of phase n is off by h/(4x_max); at most 1."""
    phase = whole_number("phase", phase, at_least=0)
    diversity, estimate = inputs.filter_rates
    forced = (phase + 1) * inputs.q
    each = inputs.n_features * (math.exp(-diversity * forced) + 2 * math.exp(-estimate * forced))
    return min(1.0, inputs.n_arms * each)


def _phase(inputs: OLSBanditInputs, n: int, length: int) -> dict[str, float]:
    """Steps 1, 3 and 4 for the first ``length`` rounds of phase n ≥ 1."""
    K, d, q, optimal = inputs.n_arms, inputs.n_features, inputs.q, inputs.n_optimal
    x, forced = inputs.x_max, (n + 1) * q
    before = (2 ** (n - 1) - 1) * K * q
    first = before + forced * optimal  # N at u = 0
    cost = min(inputs.h, inputs.largest_regret)
    # The phase before is not used where it has no rounds.
    earlier = filter_failure_probability(inputs, n - 1) if before else 0.0
    rate = HALF * inputs.lambda1 / x**2
    lacking = math.exp(-rate * first) * -math.expm1(-rate * length) / -math.expm1(-rate)
    # Σ M/N² with M = N + surplus: Σ 1/N and Σ 1/N² are differences of polygamma functions.
    surplus = 2**n * K * q - (K - 1) * forced - first
    inverse = float(special.digamma(first + length) - special.digamma(first))
    squares = float(special.polygamma(1, first) - special.polygamma(1, first + length))
    noise = inputs.sigma * x**2 / inputs.lambda1
    each = 32 * inputs.margin_constant * d * noise * noise * peeling_sum(d)
    pairs = optimal * (optimal - 1) / 2
    return {
        "filter": inputs.largest_regret * length * filter_failure_probability(inputs, n),
        "diversity": cost * (length * earlier + optimal * d * lacking),
        "estimates": pairs * each * (inverse + surplus * squares),
    }
