"""How far an arm's estimate is from the truth: Lemmas 5 and 10, and Corollary 4."""

from __future__ import annotations

import math

from greedyfirst.theory.bounds.assumption_errors import BOUNDED, NOISE, required_by
from greedyfirst.theory.bounds.link_slopes import proved_link, smallest_slope
from greedyfirst.validation import number, whole_number


def estimate_failure_probability(
    *, error: float, eigenvalue: float, pulls: int, n_features: int, sigma: float, x_max: float
) -> float:
    r"""Lemma 5: the chance that an estimate is off although its samples are diverse.

    .. math:: P\bigl[\|\hat\beta - \beta\| \ge \chi \text{ and } \lambda_{\min}(\hat\Sigma) \ge g
              \bigr] \le 2d \exp\Bigl(-\frac{g^2\chi^2}{2d\sigma^2x_{\max}^2 n}\Bigr) ,

    for whatever rule chose the samples from the past and the present context; at most 1. The
    paper writes g = λt, so that the exponent is C₂t²χ²/n.

    Parameters
    ----------
    error
        χ.
    eigenvalue
        g, what λ_min of the arm's Gram matrix reaches at least.
    pulls
        n, a number known beforehand that the arm's samples do not exceed.
    n_features, sigma, x_max
        d, the noise parameter σ, and the bound of ‖x‖.

    Departure from the paper
    ------------------------
    Definition 1 asks for E[exp(τZ)] ≤ exp(τ²σ²/2) at τ > 0 only. The lemma bounds both tails, and
    needs it at every τ.

    Examples
    --------
    >>> import math
    >>> from greedyfirst.theory import estimate_failure_probability
    >>> chance = estimate_failure_probability(
    ...     error=1.0, eigenvalue=10.0, pulls=10, n_features=1, sigma=1.0, x_max=1.0
    ... )
    >>> math.isclose(chance, 2 * math.exp(-(10**2) / (2 * 10)))
    True
    """
    error = number("error", error, above=0)
    eigenvalue = number("eigenvalue", eigenvalue, above=0)
    pulls = whole_number("pulls", pulls, at_least=1)
    d = whole_number("n_features", n_features, at_least=1)
    with required_by(NOISE):
        sigma = number("sigma", sigma, above=0)
    with required_by(BOUNDED):
        x_max = number("x_max", x_max, above=0)
    # As a product: a square alone may leave the range of floats.
    ratio = eigenvalue / x_max * error / sigma
    return min(1.0, 2 * d * math.exp(-ratio * ratio / (2 * d * pulls)))


def generalized_estimate_failure_probability(
    *,
    link: str,
    error: float,
    eigenvalue: float,
    pulls: int,
    n_features: int,
    sigma: float,
    x_max: float,
    b_max: float,
) -> float:
    """Corollary 4: Lemma 5 for the maximum likelihood estimate of a generalised linear model.

    The exponent has (χ·m_χ)² for χ², with m_χ the smallest slope of μ on ±(b_max + χ)x_max. That no
    estimate exists counts as an error of χ. By `generalized_error_bound` with θ = χ, such an error
    with λ_min at least g needs ‖X'ε‖ ≥ χ·m_χ·g, and the proof of Lemma 5 is about this event.

    Parameters
    ----------
    link
        A canonical link with sub-Gaussian noise, by name.
    b_max
        The bound of ‖β‖.
    error, eigenvalue, pulls, n_features, sigma, x_max
        As for `estimate_failure_probability`.

    Examples
    --------
    >>> from greedyfirst.theory import generalized_estimate_failure_probability
    >>> chance = generalized_estimate_failure_probability(
    ...     link="logistic", error=1.0, eigenvalue=1000.0, pulls=1000, n_features=1, sigma=0.5,
    ...     x_max=1.0, b_max=1.0,
    ... )
    >>> bool(0 < chance < 1e-6)
    True
    """
    error = number("error", error, above=0)
    slope = _slope(link, "Corollary 4", error, x_max, b_max)
    return estimate_failure_probability(
        error=error * slope,
        eigenvalue=eigenvalue,
        pulls=pulls,
        n_features=n_features,
        sigma=sigma,
        x_max=x_max,
    )


def generalized_error_bound(
    *,
    link: str,
    noise_sum: float,
    eigenvalue: float,
    radius: float,
    x_max: float,
    b_max: float,
) -> float:
    r"""Lemma 10, mended: how far a maximum likelihood estimate is from the truth.

    .. math:: \|\hat\beta - \beta\| \le \frac{\|X^\top\varepsilon\|}{m_\theta g}
              \quad\text{where}\quad \|X^\top\varepsilon\| \le \theta m_\theta g
              \text{ and } \lambda_{\min}(X^\top X) \ge g .

    It is about one sample, not about chances, for whatever rule chose its rows; the estimate
    exists there.

    Parameters
    ----------
    link
        A canonical link, by name.
    noise_sum
        ‖X'ε‖, the length of Σ εᵢxᵢ, with ε = y - μ(Xβ).
    eigenvalue
        g, what λ_min(X'X) reaches at least.
    radius
        θ; m_θ is the smallest slope of μ on ±(b_max + θ)x_max.
    x_max, b_max
        Bounds of ‖x‖ and ‖β‖.

    Returns
    -------
    float
        The bound; infinite where ‖X'ε‖ exceeds θ·m_θ·g, and the lemma says nothing.

    Departure from the paper
    ------------------------
    The paper has ‖(X'X)⁻¹X'ε‖, which may be smaller, for ‖X'ε‖/λ_min(X'X). Its proof takes
    A S⁻² A ⪰ I from A ⪰ S, with S = X'X and A = Σ μ'xx'/m_θ. That holds if A and S commute, and is
    false in general, and so is the lemma: with nearly parallel contexts the error can be twice the
    printed bound. What holds is (β̂ - β)'X'ε ≥ m_θ(β̂ - β)'S(β̂ - β) ≥ m_θ·g·‖β̂ - β‖², for the
    mean value theorem turns X'ε into m_θ·A(β̂ - β); the left side is at most ‖β̂ - β‖·‖X'ε‖.
    Corollary 4 and Proposition 1 follow as printed, see `generalized_estimate_failure_probability`.

    Examples
    --------
    The slope of the identity is 1, so the bound is that of least squares:

    >>> from greedyfirst.theory import generalized_error_bound
    >>> generalized_error_bound(
    ...     link="identity", noise_sum=1.0, eigenvalue=10.0, radius=0.5, x_max=1.0, b_max=1.0
    ... )
    0.1
    """
    noise = number("noise_sum", noise_sum, at_least=0)
    eigenvalue = number("eigenvalue", eigenvalue, above=0)
    radius = number("radius", radius, above=0)
    slope = _slope(link, "Lemma 10", radius, x_max, b_max)
    bound = noise / eigenvalue / slope
    return bound if bound <= radius else math.inf


def _slope(link: str, result: str, radius: float, x_max: float, b_max: float) -> float:
    """m_θ of the link at θ = radius."""
    with required_by(BOUNDED):
        x_max = number("x_max", x_max, above=0)
        b_max = number("b_max", b_max, above=0)
    return smallest_slope(proved_link(link, result), (b_max + radius) * x_max)
