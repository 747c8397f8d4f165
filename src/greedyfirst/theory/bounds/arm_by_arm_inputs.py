"""The constants of the arm-by-arm rule's regret bound with contexts."""

from __future__ import annotations

from dataclasses import dataclass, field

from greedyfirst.theory.bounds.arm_by_arm_rule import ArmByArmRule
from greedyfirst.theory.bounds.assumption_errors import check_lead, check_problem
from greedyfirst.validation import number, whole_number


@dataclass(frozen=True, kw_only=True)
class ArmByArmInputs:
    """The constants that the bound needs.

    Parameters
    ----------
    n_features, horizon : int
        d and T.
    x_max, b_max : float
        Bounds of ‖x‖ and ‖β‖ (Assumption 1).
    sigma : float
        σ of the sub-Gaussian noise, above 0.
    margin_constant : float
        C₀ (Assumption 2).
    lambda1, h : float
        Of Assumption 4: arms of K_opt lead by more than h on contexts with E[xx'1{…}] ⪰ λ₁I.
    n_suboptimal : int
        |K_sub|, arms that trail by h for everybody.
    penalty : float
        κ of the ridge; (σ/b_max)², that of a prior as wide as the arms, where it is not given.
    rule : ArmByArmRule
        K and the rule's constants; of two arms and `GreedyFirst()` where it is not given.

    Examples
    --------
    >>> from greedyfirst.theory import ArmByArmInputs
    >>> inputs = ArmByArmInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                         margin_constant=1.0, lambda1=0.1, h=0.2)
    >>> inputs.n_optimal, inputs.largest_regret
    (2, 2.0)
    """

    n_features: int
    horizon: int
    x_max: float
    b_max: float
    sigma: float
    margin_constant: float
    lambda1: float
    h: float
    n_suboptimal: int = 0
    penalty: float | None = None
    rule: ArmByArmRule = field(default_factory=lambda: ArmByArmRule(n_arms=2))

    def __post_init__(self) -> None:
        whole_number("n_features", self.n_features, at_least=1)
        whole_number("horizon", self.horizon, at_least=3)
        whole_number("n_suboptimal", self.n_suboptimal, at_least=0, at_most=self.rule.n_arms - 1)
        if self.penalty is not None:
            number("penalty", self.penalty, above=0)
        check_problem(self.x_max, self.b_max, self.sigma, self.margin_constant)
        check_lead(self.h, self.lambda1, self.x_max, self.n_features, self.n_optimal)

    @property
    def kappa(self) -> float:
        """κ."""
        return (self.sigma / self.b_max) ** 2 if self.penalty is None else self.penalty

    @property
    def n_optimal(self) -> int:
        """|K_opt|."""
        return self.rule.n_arms - self.n_suboptimal

    @property
    def largest_regret(self) -> float:
        """2 x_max b_max, the most that one round can cost."""
        return 2 * self.x_max * self.b_max
