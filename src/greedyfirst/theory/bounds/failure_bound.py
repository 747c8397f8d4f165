r"""The function L(γ, δ, p) of Theorem 2, and L' of Theorem 4: bounds of the failure probability.

With κ = h²δ²/(8dσ²x_max⁴), q = p - m|K_sub| and θ = P[λ_min(X₁:ₘ' X₁:ₘ) ≥ δ],

.. math:: L = 1 - θ^K + 2Kd\,θ\,e^{-h^2δ/(8dσ^2x_{\max}^2)}
          + w_0\,2d \sum_{n=m+1}^{p-1-(K-1)m} e^{-κ/n}
          + w_1\,d\,\frac{e^{-D_1 q}}{1-e^{-D_1}} + w_2\,2d\,\frac{e^{-D_2 q}}{1-e^{-D_2}} .

The weights w depend on the theorem and on its form.

**The printed form** has w = (1, 1, 1) for the Greedy Bandit and (1, K, 1) for Greedy-First.

**The proved form** has w = |K_opt| throughout. The printed proofs write P[π_t = l and A_l] as
P[π_t = l]·P[A_l], where A_l is the event that arm l's estimate is too far off. But the arm played
depends on the estimates: a greedy rule prefers arms that it overestimates. The lemmas do give a
union bound over the arms that may be played, which is |K_opt| times the printed terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from greedyfirst.theory.bounds.assumption_errors import BOUNDED, NOISE, check_lead, required_by
from greedyfirst.validation import FloatArray, choice, number, whole_number

FORMS = ("printed", "proved")
TERMS = ("initial contexts", "initial estimates", "early rounds", "diversity", "later estimates")
# Terms of the sum over n that are added one by one; the Euler-Maclaurin formula gives the others.
HEAD = 128
# How many such sums are computed at a time, to bound the memory.
BLOCK = 8192
# The remainder after the first-derivative term is at most 2ζ(3)/(2π)³ times the integral of the
# absolute third derivative of g(n) = e^{-κ/n}. That is at most 1.24/a² over [a, ∞); and over
# [a, b], as long as κ/b ≥ 3 + √3 where g'' still rises, at most g''(b) ≤ (κ/b)² e^{-κ/b}/b².
EULER_MACLAURIN = 2 * float(special.zeta(3)) / (2 * math.pi) ** 3
RISES = 3 + math.sqrt(3)


@dataclass(frozen=True, kw_only=True)
class SuccessInputs:
    """The constants that Theorems 2 and 4 need besides the law of λ_min.

    Parameters
    ----------
    n_arms, n_features : int
        K and d.
    initial_pulls : int
        m, the pulls of each arm at the start; at least d, or no estimate exists.
    sigma : float
        σ of the noise, above 0; its limit at 0 is Propositions 2 and 3.
    x_max : float
        The bound of ‖x‖.
    lambda1, h : float
        λ₁ and h of Assumption 4. λ₁ can be at most x_max²/(d|K_opt|): the sets U_i are disjoint,
        so the traces of their matrices add up to at most E‖x‖².
    n_suboptimal : int
        |K_sub|, arms that are never best.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs
    >>> inputs = SuccessInputs(n_arms=3, n_features=2, initial_pulls=5, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2, n_suboptimal=1)
    >>> inputs.n_optimal
    2
    """

    n_arms: int
    n_features: int
    initial_pulls: int
    sigma: float
    x_max: float
    lambda1: float
    h: float
    n_suboptimal: int = 0

    def __post_init__(self) -> None:
        whole_number("n_arms", self.n_arms, at_least=2)
        whole_number("n_features", self.n_features, at_least=1)
        whole_number("n_suboptimal", self.n_suboptimal, at_least=0, at_most=self.n_arms - 1)
        with required_by("§3.5: least squares needs at least d samples of each arm"):
            whole_number("initial_pulls", self.initial_pulls, at_least=self.n_features)
        with required_by(NOISE):
            number("sigma", self.sigma, above=0)
        with required_by(BOUNDED):
            number("x_max", self.x_max, above=0)
        check_lead(self.h, self.lambda1, self.x_max, self.n_features, self.n_optimal)

    @property
    def n_optimal(self) -> int:
        """|K_opt|."""
        return self.n_arms - self.n_suboptimal

    @property
    def signal(self) -> float:
        """h²/(8dσ²x_max²), the exponents' common factor."""
        # As a product: a square alone may leave the range of floats.
        ratio = self.h / self.sigma / self.x_max
        return ratio * ratio / (8 * self.n_features)

    def weights(self, form: str, *, greedy_first: bool) -> tuple[float, float, float]:
        """The weights w of the last three terms."""
        if choice("form", form, FORMS) == "proved":
            return (float(self.n_optimal),) * 3
        return (1.0, float(self.n_arms) if greedy_first else 1.0, 1.0)


def diversity_rate(inputs: SuccessInputs, gamma: FloatArray) -> FloatArray:
    """D₁(γ) = λ₁(γ + (1-γ)log(1-γ))/x_max²; increasing, λ₁/x_max² at γ = 1."""
    shape = gamma + special.xlog1py(1 - gamma, -gamma)
    return np.asarray(inputs.lambda1 / inputs.x_max**2 * shape)


def estimate_rate(inputs: SuccessInputs, gamma: FloatArray) -> FloatArray:
    """D₂(γ) = λ₁²h²(1-γ)²/(8dσ²x_max⁴); decreasing, 0 at γ = 1."""
    return np.asarray(inputs.signal * (inputs.lambda1 / inputs.x_max * (1 - gamma)) ** 2)


def geometric_tail(rate: FloatArray, start: FloatArray) -> FloatArray:
    """Σ_{t ≥ start} e^{-rate·t} in closed form; infinite at rate 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(-rate * start) / -np.expm1(-rate))


def early_sum(kappa: FloatArray, first: int, last: FloatArray) -> FloatArray:
    r"""Σ e^{-κ/n} for n = first … last, for each κ and last: an upper bound within 0.024/HEAD².

    0 if last < first. The first terms are added; the Euler-Maclaurin formula for the others has the
    closed integral ∫ e^{-κ/n} dn = n e^{-κ/n} - κ E₁(κ/n); its remainder's bound is added.
    """
    total = np.empty(len(kappa))
    n = first + np.arange(HEAD)
    for start in range(0, len(kappa), BLOCK):
        part = slice(start, start + BLOCK)
        terms = np.exp(-kappa[part, np.newaxis] / n)
        total[part] = np.sum(terms * (n <= last[part, np.newaxis]), axis=1)
    a = float(first + HEAD)
    long = last >= a
    k, b = kappa[long], last[long]
    at_a, at_b = np.exp(-k / a), np.exp(-k / b)
    integral = _antiderivative(k, b) - _antiderivative(k, np.full_like(b, a))
    slopes = k / b**2 * at_b - k / a**2 * at_a
    rising = np.where(k / b >= RISES, (k / b**2) ** 2 * at_b, np.inf)
    remainder = EULER_MACLAURIN * np.minimum(1.24 / a**2, rising)
    total[long] += integral + (at_a + at_b) / 2 + slopes / 12 + remainder
    return total


def _antiderivative(kappa: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(n * np.exp(-kappa / n) - kappa * special.exp1(kappa / n))


def failure_terms(
    inputs: SuccessInputs,
    *,
    survivor: float,
    gamma: float,
    delta: float,
    rounds: int,
    form: str = "printed",
    greedy_first: bool = False,
) -> dict[str, float]:
    """The five terms of L (or L') at one point, by name.

    Parameters
    ----------
    inputs
        The constants of the problem.
    survivor
        θ = P[λ_min(X₁:ₘ' X₁:ₘ) ≥ δ].
    gamma, delta, rounds
        γ in (0, 1), δ above 0 and p ≥ Km+1: any choice gives a valid bound.
    form
        ``"printed"`` or ``"proved"``.
    greedy_first
        True for L', False for L.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs, failure_terms
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> terms = failure_terms(inputs, survivor=0.9, gamma=0.5, delta=1.0, rounds=100)
    >>> len(terms), round(next(iter(terms.values())), 6)  # the first is 1 - 0.9²
    (5, 0.19)
    """
    survivor = number("survivor", survivor, at_least=0, at_most=1)
    with required_by("Theorem 2: the infimum is over γ in (0, 1), δ > 0 and p ≥ Km + 1"):
        gamma = number("gamma", gamma, above=0, below=1)
        delta = number("delta", delta, above=0)
        K, m, d = inputs.n_arms, inputs.initial_pulls, inputs.n_features
        p = whole_number("rounds", rounds, at_least=K * m + 1)
    w0, w1, w2 = inputs.weights(form, greedy_first=greedy_first)
    q = np.asarray(float(p - m * inputs.n_suboptimal))
    rates = (
        diversity_rate(inputs, np.asarray(gamma)),
        estimate_rate(inputs, np.asarray(gamma)),
    )
    kappa = np.array([inputs.signal * (delta / inputs.x_max) ** 2])
    early = early_sum(kappa, m + 1, np.array([p - 1.0 - (K - 1) * m]))[0]
    values = (
        1 - survivor**K,
        2 * K * d * survivor * np.exp(-inputs.signal * delta),
        w0 * 2 * d * early,
        w1 * d * geometric_tail(rates[0], q),
        w2 * 2 * d * geometric_tail(rates[1], q),
    )
    return {name: float(value) for name, value in zip(TERMS, values, strict=True)}
