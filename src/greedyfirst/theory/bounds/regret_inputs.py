"""The constants of the regret bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from greedyfirst.theory.bounds.assumption_errors import (
    DIVERSITY,
    check_problem,
    required_by,
)
from greedyfirst.validation import number, whole_number, wrong


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
        λ₀ of covariate diversity (Assumption 3), or of Greedy-First's test (Theorem 3).

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> inputs.largest_regret, inputs.largest_diversity  # 2 x_max b_max, x_max²/(2d)
    (2.0, 0.25)
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
        check_problem(self.x_max, self.b_max, self.sigma, self.margin_constant, noiseless=True)
        number("lambda0", self.lambda0, above=0)

    @property
    def largest_diversity(self) -> float:
        """x_max²/(2d), above which no law has λ₀: two half-spaces share E‖x‖² ≤ x_max²."""
        return self.x_max**2 / (2 * self.n_features)

    def require_diversity(self) -> None:
        """Refuse a λ₀ that no law of contexts can have in Assumption 3."""
        with required_by(DIVERSITY):
            number("lambda0", self.lambda0, at_most=self.largest_diversity)

    def require_two_arms(self, theorem: str) -> None:
        """Refuse any other number of arms, in the name of a theorem about two."""
        if self.n_arms != 2:
            raise wrong("n_arms", self.n_arms, f"2 ({theorem} is about two arms)")

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
