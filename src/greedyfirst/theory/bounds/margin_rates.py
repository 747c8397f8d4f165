"""Corollary 1: how the Greedy Bandit's regret grows under a margin condition of any exponent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from greedyfirst.theory.bounds.assumption_errors import ALPHA_MARGIN, required_by
from greedyfirst.theory.bounds.peeling_sum import peeling_sum
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.validation import number


@dataclass(frozen=True, kw_only=True)
class MarginRate:
    """The rate of Corollary 1 and an explicit bound with it.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, margin_rate
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> margin_rate(inputs, alpha=0.5).exponent  # regret grows like T^((1-α)/2)
    0.25
    """

    inputs: RegretInputs
    alpha: float
    #: The exponent of T, 0 for log T and for bounded regret.
    exponent: float
    #: In words: "T^0.25", "log T" or "1".
    rate: str
    #: Σ (h+1)^{1+α} min{1, 4d e^{-h²}}.
    peeling_sum: float
    #: What multiplies Σ_t t^{-(1+α)/2}.
    coefficient: float
    bound: float


def margin_rate(inputs: RegretInputs, *, alpha: float) -> MarginRate:
    r"""Corollary 1 with its constants; ``inputs.margin_constant`` is C(α) of Definition 2.

    .. math:: R_T \le 2x_{\max}b_{\max} + g \Bigl[1 + \int_1^T t^{-(1+\alpha)/2} dt\Bigr]
              + \frac{4 b_{\max} x_{\max} d}{C_1} , \qquad
              g = C\,\Bigl(\frac{2 x_{\max}}{\sqrt{C_3}}\Bigr)^{1+\alpha}
              \sum_{h \ge 0} (h+1)^{1+\alpha} \min\{1, 4d e^{-h^2}\} ,

    which grows like T^{(1-α)/2} for α < 1, log T for α = 1, and not at all for α > 1.

    Departures from the paper
    -------------------------
    Its proof prints "+ P[…]" for a product with that probability. Its bound of the sum takes
    h₁ = ⌈√(3+α)⌉ and uses h² ≥ (3+α)h, which needs h ≥ 3+α; the sum is computed here instead.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, margin_rate
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> margin_rate(inputs, alpha=0.0).exponent  # √T
    0.5
    """
    inputs.require_two_arms("Corollary 1")
    inputs.require_diversity()
    with required_by(ALPHA_MARGIN):
        alpha = number("alpha", alpha, at_least=0)
    total = peeling_sum(inputs.n_features, power=1 + alpha)
    scale = 2 * inputs.x_max / math.sqrt(inputs.c3)
    coefficient = inputs.margin_constant * scale ** (1 + alpha) * total
    grows = (1 - alpha) / 2
    log_T = math.log(inputs.horizon)
    integral = log_T if grows == 0 else math.expm1(grows * log_T) / grows
    largest = inputs.largest_regret
    bound = largest + coefficient * (1 + integral)
    bound += 2 * largest * inputs.n_features / inputs.c1
    exponent = max(grows, 0.0)
    rate = f"T^{exponent:g}" if exponent > 0 else ("log T" if alpha == 1 else "1")
    return MarginRate(
        inputs=inputs,
        alpha=alpha,
        exponent=exponent,
        rate=rate,
        peeling_sum=total,
        coefficient=coefficient,
        bound=bound,
    )
