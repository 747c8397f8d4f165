r"""Regret of the Greedy Bandit with two arms: Theorem 1, Corollary 1 and Proposition 1.

All three bound the regret of round t (Lemma 6) by two parts and add up the rounds. The part due to
estimation errors falls like 1/t; the part due to samples that lack diversity falls exponentially.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from greedyfirst.links.link import Link, find_link
from greedyfirst.theory.bounds.assumption_errors import (
    BOUNDED,
    DIVERSITY,
    MARGIN,
    NOISE,
    required_by,
)
from greedyfirst.theory.bounds.peeling_sum import (
    generalized_factor,
    linear_constant,
    linear_factor,
    peeling_sum,
)
from greedyfirst.validation import number, whole_number, wrong

# Steps of the search for a link's steepest point; each keeps 2/3 of the interval.
TERNARY_STEPS = 120


@dataclass(frozen=True, kw_only=True)
class RegretInputs:
    """The constants that the regret bounds need.

    Parameters
    ----------
    n_arms, n_features : int
        K and d.
    horizon : int
        T, at least 3 so that log T ≥ 1.
    x_max, b_max : float
        Bounds of ‖x‖ and ‖β‖ (Assumption 1).
    sigma : float
        σ of the sub-Gaussian noise.
    margin_constant : float
        C₀ of the margin condition (Assumption 2).
    lambda0 : float
        λ₀ of covariate diversity (Assumption 3). It can be at most x_max²/(2d): the two halves
        x'u ≥ 0 and x'u ≤ 0 share E‖x‖² ≤ x_max². For Greedy-First, λ₀ of its test.
    """

    n_arms: int = 2
    n_features: int
    horizon: int
    x_max: float
    b_max: float
    sigma: float
    margin_constant: float
    lambda0: float

    def __post_init__(self) -> None:
        whole_number("n_arms", self.n_arms, at_least=2)
        whole_number("n_features", self.n_features, at_least=1)
        whole_number("horizon", self.horizon, at_least=3)
        with required_by(BOUNDED):
            number("x_max", self.x_max, above=0)
            number("b_max", self.b_max, above=0)
        with required_by(NOISE):
            number("sigma", self.sigma, at_least=0)
        with required_by(MARGIN):
            number("margin_constant", self.margin_constant, above=0)
        with required_by(DIVERSITY):
            highest = self.x_max**2 / (2 * self.n_features)
            number("lambda0", self.lambda0, above=0, at_most=highest)

    @property
    def c1(self) -> float:
        """C₁ = λ₀/(40 x_max²) of Lemma 4."""
        return self.lambda0 / (40 * self.x_max**2)

    @property
    def sharp_c1(self) -> float:
        """(1 - log 2)λ₀/(4 x_max²): the constant that Lemma 4's proof gives when corrected.

        The matrix inequality has the exponent μ/R with μ = λ₀t/2; the paper goes on with λ₀t/4,
        and rounds (1 - log 2)/2 = 0.153 to 0.1.
        """
        return (1 - math.log(2)) * self.lambda0 / (4 * self.x_max**2)

    @property
    def c3(self) -> float:
        """C₃ = λ₀²/(32 d σ² x_max²) of Lemma 6; infinite without noise."""
        if self.sigma * self.x_max == 0:
            return math.inf
        # As a product: a square alone may leave the range of floats.
        ratio = self.lambda0 / (self.sigma * self.x_max)
        return ratio * ratio / (32 * self.n_features)

    @property
    def largest_regret(self) -> float:
        """2 x_max b_max, the most that one round can cost."""
        return 2 * self.x_max * self.b_max


@dataclass(frozen=True, kw_only=True)
class RegretBound:
    """A regret bound and the constants and terms that it is made of."""

    inputs: RegretInputs
    #: C̄ of Theorem 1 (infinite for d = 1), C̄_μ of Proposition 1.
    c_bar: float
    #: What bounds the peeling sum: C̄(log d)^{3/2} of Theorem 1, C̄_μ of Proposition 1.
    peeling_factor: float
    c1: float
    c3: float
    #: L_μ and m_{b_max} of Proposition 1; 1 for linear rewards.
    lipschitz: float
    slope_floor: float
    log_coefficient: float
    constant: float
    #: The three parts of the bound at T, by what causes them.
    terms: dict[str, float]
    #: log_coefficient·log T + constant: the bound that the paper's proof gives.
    bound: float
    #: The bound as the theorem prints it.
    printed_bound: float
    #: The same proof with sums taken exactly and Lemma 4's own exponent.
    sharp_bound: float
    #: 2 x_max b_max T: the largest regret of a round, T times.
    trivial_bound: float

    @property
    def c_gb(self) -> float:
        """C_GB with regret ≤ C_GB·log T: both coefficients together, as log T ≥ 1."""
        return self.log_coefficient + self.constant

    @property
    def dominant(self) -> str:
        """The name of the largest term."""
        return max(self.terms, key=lambda name: self.terms[name])

    @property
    def informative(self) -> bool:
        """Whether the bound is below the trivial one at this horizon."""
        return self.bound < self.trivial_bound


def greedy_regret(inputs: RegretInputs) -> RegretBound:
    r"""Theorem 1: the Greedy Bandit's expected regret with two arms and covariate diversity.

    .. math:: R_T \le a \log T + a + \frac{160\, b_{\max} x_{\max}^3 d}{\lambda_0}
              + 2 x_{\max} b_{\max} , \qquad
              a = \frac{128\, C_0 \bar C x_{\max}^4 \sigma^2 d (\log d)^{3/2}}{\lambda_0^2} .

    Departure from the paper
    ------------------------
    The theorem multiplies the whole constant by C̄; its proof multiplies the part with C₀ only,
    and that is taken here (``printed_bound`` has the theorem's). At d = 1 the printed C̄ is
    infinite while C̄(log d)^{3/2} = 67/4 and bounds the sum it stands for.
    """
    _check_two_arms(inputs, "Theorem 1")
    return _assemble(
        inputs,
        c_bar=linear_constant(inputs.n_features),
        factor=linear_factor(inputs.n_features),
        exact=peeling_sum(inputs.n_features),
    )


def generalized_linear_regret(inputs: RegretInputs, *, link: str) -> RegretBound:
    r"""Proposition 1: the Greedy Bandit with rewards of a generalised linear model, two arms.

    As Theorem 1 with C̄_μ for C̄(log d)^{3/2}, all multiplied by L_μ, the largest slope of μ on
    ±x_max b_max. C̄_μ depends on m_{b_max}, the smallest slope on ±2 x_max b_max.

    Departure from the paper
    ------------------------
    As in Theorem 1 the statement multiplies everything by C̄_μ, the proof only the part with C₀.
    """
    _check_two_arms(inputs, "Proposition 1")
    formulas = find_link("link", link)
    reach = inputs.x_max * inputs.b_max
    slope = min(formulas.slope(-2 * reach), formulas.slope(2 * reach))
    if not slope > 0:
        expected = f"at most a value that keeps the slope of {link!r} above 0 on ±2·x_max·b_max"
        with required_by(BOUNDED):
            raise wrong("x_max and b_max", (inputs.x_max, inputs.b_max), expected)
    factor = generalized_factor(inputs.n_features, slope)
    return _assemble(
        inputs,
        c_bar=factor,
        factor=factor,
        exact=min(factor, peeling_sum(inputs.n_features, slope=slope)),
        lipschitz=_steepest(formulas, reach),
        slope_floor=slope,
    )


def _check_two_arms(inputs: RegretInputs, theorem: str) -> None:
    if inputs.n_arms != 2:
        raise wrong("n_arms", inputs.n_arms, f"2 ({theorem} is about two arms)")


def _steepest(link: type[Link], reach: float) -> float:
    """The largest slope of the link on ±reach; the slope may have at most one peak."""
    low, high = -reach, reach
    best = max(link.slope(low), link.slope(high), link.slope(0.0))
    for _ in range(TERNARY_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        best = max(best, link.slope(left), link.slope(right))
        if link.slope(left) < link.slope(right):
            low = left
        else:
            high = right
    return best


def log_coefficient(inputs: RegretInputs, factor: float) -> float:
    """4 C₀ x_max² · factor / C₃: the regret of one pair of arms per unit of log T."""
    return 4 * inputs.margin_constant * inputs.x_max**2 * factor / inputs.c3


def _assemble(
    inputs: RegretInputs,
    *,
    c_bar: float,
    factor: float,
    exact: float,
    lipschitz: float = 1.0,
    slope_floor: float = 1.0,
) -> RegretBound:
    """The bound from the bound ``factor`` of the peeling sum and its ``exact`` value."""
    T = inputs.horizon
    largest = inputs.largest_regret
    slow = lipschitz * log_coefficient(inputs, factor)
    diversity = lipschitz * 2 * largest * inputs.n_features / inputs.c1
    first = lipschitz * largest
    terms = {
        "estimates": slow * (math.log(T) + 1),
        "diversity": diversity,
        "first round": first,
    }
    harmonic = float(special.digamma(T)) + float(-special.digamma(1))
    sharp = lipschitz * log_coefficient(inputs, exact) * harmonic + first
    sharp += lipschitz * 2 * largest * inputs.n_features / math.expm1(inputs.sharp_c1)
    trivial = lipschitz * largest * T
    return RegretBound(
        inputs=inputs,
        c_bar=c_bar,
        peeling_factor=factor,
        c1=inputs.c1,
        c3=inputs.c3,
        lipschitz=lipschitz,
        slope_floor=slope_floor,
        log_coefficient=slow,
        constant=slow + diversity + first,
        terms=terms,
        bound=sum(terms.values()),
        printed_bound=terms["estimates"] + c_bar * (diversity + first),
        sharp_bound=min(sharp, trivial),
        trivial_bound=trivial,
    )
