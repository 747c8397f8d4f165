r"""The rule of `GreedyFirst()`, arm by arm, as the theorems about it take it.

With :math:`V_i = x^\top P_ix`, and :math:`V_0 = x^\top P_0x` of the last look, an arm's score is

.. math:: x^\top\hat\beta_i + \sigma w_i\sqrt{V_i}, \quad
          w_i^2 = \nu_i\left(e^{q_i/\nu_i} - 1\right), \quad
          q_i = c\,\frac{L}{L + \ell Kd}\,g(\log^+(\theta V_i/V_0)), \quad g(u) = u - \log(1+u),

:math:`\nu_i = \nu_0 + n_i` with the arm's pulls :math:`n_i`, and L the rewards at the last look:
the round t is decided with :math:`L \ge (t-1)/(1+\gamma)`. The width w is Student's. It is never
below :math:`\sqrt{q_i}`, the normal width, falls to it as the arm is pulled, and is the normal one
for :math:`\nu_0 = \infty`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.models.doubt import DOUBT, EARLY
from greedyfirst.models.learned_prior import LOUDER_ROWS
from greedyfirst.models.shares import GROWTH
from greedyfirst.policies.greedy_first.arm_by_arm import SHARE
from greedyfirst.validation import FloatArray, number, whole_number

# Steps of Newton's method: it is at rounding after six for any width.
NEWTON_STEPS = 60


@dataclass(frozen=True, kw_only=True)
class ArmByArmRule:
    """The constants of the rule; by default those of `GreedyFirst()`.

    Parameters
    ----------
    n_arms
        K, arms that are not dropped.
    share
        θ·K, the part of an equal share that an arm must hold, at most 1.
    doubt
        c, what the square of a normal width is multiplied by.
    early
        ℓ, so that half of c is reached after ℓ·K·d rewards.
    growth
        γ, by which rewards grow between two looks.
    rows
        ν₀, at least 1: the rows that the scale of an arm's noise rests on before its own.
        `math.inf` is the normal width, for a scale that is known beforehand.

    Examples
    --------
    >>> from greedyfirst.theory import ArmByArmRule
    >>> rule = ArmByArmRule(n_arms=2, share=0.6)
    >>> rule.theta
    0.3
    >>> rule.width_square(1.0, pulls=3)  # an arm that holds its share is greedy
    0.0
    >>> early, late = rule.width_square(9.0, pulls=3), rule.width_square(9.0, pulls=300)
    >>> early > late > rule.normal_square(9.0)
    True
    """

    n_arms: int
    share: float = SHARE
    doubt: float = DOUBT
    early: float = EARLY
    growth: float = GROWTH
    rows: float = LOUDER_ROWS

    def __post_init__(self) -> None:
        whole_number("n_arms", self.n_arms, at_least=2)
        number("share", self.share, above=0, at_most=1)
        number("doubt", self.doubt, above=0)
        number("early", self.early, at_least=0)
        number("growth", self.growth, at_least=0)
        if self.rows != math.inf:
            number("rows", self.rows, at_least=1)

    @property
    def theta(self) -> float:
        """θ, the share that an arm must hold."""
        return self.share / self.n_arms

    def last_look(self, step: float) -> float:
        """The fewest rewards that the last look before this decision can have had."""
        return (step - 1) / (1 + self.growth)

    def reached(self, rewards: float, n_features: int) -> float:
        """c_t/c after a look at so many rewards."""
        start = self.early * self.n_arms * n_features
        return 1.0 if start == 0 else rewards / (rewards + start)

    def normal_square(self, lack: float) -> float:
        """c·g(log⁺ ``lack``): the square of a width in the arm's own deviations, for ν = ∞."""
        u = math.log(max(lack, 1.0))
        return self.doubt * (u - math.log1p(u))

    def width_square(self, lack: float, *, pulls: float, reached: float = 1.0) -> float:
        """w² of an arm with so many ``pulls``, infinite where it overflows; c_t/c ``reached``."""
        return float(self.width_squares(np.array([lack]), np.array([pulls]), reached=reached)[0])

    def width_squares(
        self, lack: FloatArray, pulls: FloatArray, *, reached: float = 1.0
    ) -> FloatArray:
        """The same for many."""
        u = np.log(np.maximum(lack, 1.0))
        squares: FloatArray = self.doubt * reached * (u - np.log1p(u))
        if self.rows == math.inf:
            return squares
        rows = self.rows + pulls
        with np.errstate(over="ignore"):
            squares = rows * np.expm1(squares / rows)
        return squares


def log_lack(square: float) -> float:
    """u ≥ 0 with g(u) = u - log(1 + u) = ``square``, from above: g is increasing and convex."""
    u = square + math.sqrt(2 * square) + math.log1p(square)
    for _ in range(NEWTON_STEPS):
        slope = u / (1 + u)
        if slope == 0.0:
            return 0.0
        step = (u - math.log1p(u) - square) / slope
        if step <= 1e-15 * u:
            break
        u -= step
    return u


def round_of_return(
    rule: ArmByArmRule, *, deviations: float, pulls: float, n_features: int = 1
) -> float:
    r"""The round from which an arm that was unlucky has a score above the truth again.

    Without contexts, an arm whose estimate from n ``pulls`` is z ``deviations``, each σ/√n, below
    its mean has a score above that mean as soon as

    .. math:: c_t\,g(\log(\theta L/n)) \ge z_\nu^2 := \nu\log(1 + z^2/\nu),
              \quad\text{about}\quad t = \frac{1+\gamma}{\theta}\,n\,(1 + u)\,
              \left(1 + \frac{z^2}\nu\right)^{\nu/c}, \; u = g^{-1}(z_\nu^2/c),

    with :math:`\nu = \nu_0 + n`; for :math:`\nu_0 = \infty` the power is :math:`e^{z^2/c}`. Every z
    has such a round: no arm is given up. With contexts the same holds for people like x,
    with the share s(x) that the arm holds in the place of n/L.

    Examples
    --------
    An arm with three rewards, two deviations below what it is worth:

    >>> import math
    >>> from greedyfirst.theory import ArmByArmRule, round_of_return
    >>> rule = ArmByArmRule(n_arms=2, share=0.6, doubt=2.5, early=0.0, growth=0.0,
    ...                     rows=math.inf)
    >>> round(round_of_return(rule, deviations=2.0, pulls=3))
    198
    """
    z = number("deviations", deviations, at_least=0)
    n = number("pulls", pulls, above=0)
    whole_number("n_features", n_features, at_least=1)

    def returns(rewards: float) -> bool:
        ramp = rule.reached(rewards, n_features)
        return rule.width_square(rule.theta * rewards / n, pulls=n, reached=ramp) >= z * z

    low = n / rule.theta
    high = low
    while not returns(high):
        low, high = high, 2 * high
        if math.isinf(high):
            return math.inf
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if returns(middle) else (middle, high)
    return 1 + high * (1 + rule.growth)
