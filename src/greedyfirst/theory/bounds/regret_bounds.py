r"""Regret of the Greedy Bandit with two arms: Theorem 1 and Proposition 1.

Both add up the regret of the rounds (Lemmas 6 and 12), which has two parts. The part due to
estimation errors falls like 1/t; the part due to samples that lack diversity falls exponentially.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from greedyfirst.theory.bounds.link_slopes import largest_slope, proved_link, smallest_slope
from greedyfirst.theory.bounds.peeling_sum import (
    generalized_factor,
    linear_constant,
    linear_factor,
    peeling_sum,
)
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.theory.bounds.round_regret import estimation_coefficient


@dataclass(frozen=True, kw_only=True)
class RegretBound:
    """A regret bound and the constants and terms that it is made of.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, greedy_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> greedy_regret(inputs).informative  # Theorem 1 promises nothing here
    False
    """

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

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, greedy_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.0,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> round(greedy_regret(inputs).bound, 6)  # without noise 160 b_max x_max³d/λ₀ + 2 x_max b_max
    3202.0
    """
    inputs.require_two_arms("Theorem 1")
    inputs.require_diversity()
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

    It holds for canonical links and sub-Gaussian noise: see
    :func:`~greedyfirst.theory.bounds.link_slopes.proved_link`. For logistic rewards, and all others
    from 0 to 1, σ = 1/2 always holds.

    Departure from the paper
    ------------------------
    As in Theorem 1 the statement multiplies everything by C̄_μ, the proof only the part with C₀.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, generalized_linear_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.5,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> round(generalized_linear_regret(inputs, link="logistic").lipschitz, 6)  # the largest slope
    0.25
    """
    inputs.require_two_arms("Proposition 1")
    inputs.require_diversity()
    formulas = proved_link(link, "Proposition 1")
    reach = inputs.x_max * inputs.b_max
    slope = smallest_slope(formulas, 2 * reach)
    factor = generalized_factor(inputs.n_features, slope)
    return _assemble(
        inputs,
        c_bar=factor,
        factor=factor,
        exact=min(factor, peeling_sum(inputs.n_features, slope=slope)),
        lipschitz=largest_slope(formulas, reach),
        slope_floor=slope,
    )


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
    slow = lipschitz * estimation_coefficient(inputs, factor)
    diversity = lipschitz * 2 * largest * inputs.n_features / inputs.c1
    first = lipschitz * largest
    terms = {
        "estimates": slow * (math.log(T) + 1),
        "diversity": diversity,
        "first round": first,
    }
    harmonic = float(special.digamma(T)) + float(-special.digamma(1))
    sharp = lipschitz * estimation_coefficient(inputs, exact) * harmonic + first
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
