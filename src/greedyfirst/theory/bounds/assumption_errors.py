"""Errors that also say which of the paper's assumptions an argument breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from greedyfirst.validation import number

BOUNDED = "Assumption 1: contexts and parameters are bounded"
MARGIN = "Assumption 2: P[0 < |x'(β_i - β_j)| ≤ κ] ≤ C₀κ"
ALPHA_MARGIN = "Definition 2: P[0 < |x'(β_i - β_j)| ≤ κ] ≤ Cκ^α with α ≥ 0"
DIVERSITY = "Assumption 3: λ_min(E[xx' 1{x'u ≥ 0}]) ≥ λ₀ > 0 for every u"
POSITIVE = "Assumption 4: each optimal arm leads by h > 0 on contexts with λ_min(E[xx']) ≥ λ₁ > 0"
NOISE = "§2: noise is sub-Gaussian with a parameter σ"


@contextmanager
def required_by(assumption: str) -> Iterator[None]:
    """Add the assumption to the message of a ``ValueError`` raised inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} ({assumption})") from None


def check_problem(
    x_max: float, b_max: float, sigma: float, margin_constant: float, *, noiseless: bool = False
) -> None:
    """Refuse constants that Assumptions 1 and 2 and the noise cannot have; σ may be 0 if asked."""
    with required_by(BOUNDED):
        number("x_max", x_max, above=0)
        number("b_max", b_max, above=0)
    with required_by(NOISE):
        if noiseless:
            number("sigma", sigma, at_least=0)
        else:
            number("sigma", sigma, above=0)
    with required_by(MARGIN):
        number("margin_constant", margin_constant, above=0)


def check_lead(h: float, lambda1: float, x_max: float, n_features: int, n_optimal: int) -> None:
    """Refuse an h or λ₁ that Assumption 4 cannot have: λ₁ is at most x_max²/(d|K_opt|)."""
    with required_by(POSITIVE):
        number("h", h, above=0)
        highest = x_max**2 / (n_features * n_optimal)
        # Slightly more is allowed: estimates equal to the bound have rounding errors.
        number("lambda1", lambda1, above=0, at_most=highest * (1 + 1e-12))
