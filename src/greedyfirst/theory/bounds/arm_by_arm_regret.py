r"""Regret of the arm-by-arm rule with contexts: log T without a forced sample.

The assumptions are the paper's 1, 2 and 4; the penalty κI and the noise's scale are known. The
proof is on the page about the rule (docs/theory-arm-by-arm.md). In short, with Z√V the widest
that an estimate may be off, up to a chance of δ:

1. After round t₂ an arm that leads by h at x, and is not played there, has been overtaken by an arm
   that is itself hardly known: its score was high, or its share at x was above a level that tells
   enough, since all arms together know λt of any direction.
2. Rounds with an arm that is hardly known are few: each adds to log det(I + G/κ). So are those in
   which it has fewer rows than log t: after them Student's width is a few times the normal one.
3. So an arm of K_opt gets nearly all of its own people, and λ_min(G) ≥ λ₁t/4 from round t₃ on.
4. From there on a raise is of the order 1/√t, as errors are, and the margin makes that 1/t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.theory.bounds.arm_by_arm_inputs import ArmByArmInputs
from greedyfirst.theory.bounds.arm_by_arm_rule import log_lack
from greedyfirst.theory.bounds.poorly_known_rounds import poorly_known_rounds
from greedyfirst.validation import number

# The exponent of a matrix Chernoff bound at half of the mean: (1 - log 2)/2.
HALF = (1 - math.log(2)) / 2
# Conditions are checked on blocks of rounds that grow by this factor, at their worse ends.
BLOCK = 1.05
# The chance δ is halved so often; what is left costs T rounds.
HALVINGS = 120
# Cells of the integral over gaps, in deviations of an estimate.
CELL, FURTHEST = 0.01, 400.0
# An arm's pulls and its own error bound each other: rounds of that.
REFINEMENTS = 4
# Pulls before which an arm is taken to be poorly known, as multiples of q: the better of these.
ROWS = np.array([0.5, 2.0])


@dataclass(frozen=True, kw_only=True)
class ArmByArmRegret:
    """The bound, and what it is made of.

    Examples
    --------
    >>> from greedyfirst.theory import ArmByArmInputs, arm_by_arm_regret
    >>> inputs = ArmByArmInputs(n_features=1, horizon=10**12, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                         margin_constant=1.0, lambda1=0.4, h=0.5)
    >>> arm_by_arm_regret(inputs).informative
    True
    """

    inputs: ArmByArmInputs
    #: What multiplies 1 + log T: arms that are mixed up where they are nearly equal.
    log_coefficient: float
    #: Rounds before every arm of K_opt has λ_min(G) ≥ λ₁t/4, and pulls of K_sub after them.
    burn_in: float
    suboptimal_pulls: float
    bound: float
    trivial_bound: float

    @property
    def informative(self) -> bool:
        """Whether the bound is below the trivial one at this horizon."""
        return self.bound < self.trivial_bound


def arm_by_arm_regret(inputs: ArmByArmInputs, *, chance: float | None = None) -> ArmByArmRegret:
    r"""The regret of the rule with contexts, over T rounds.

    .. math:: R_T \le A\,(1+\log T) + 2x_{\max}b_{\max}\bigl(t_3 + |K_{sub}|\,N\bigr) .

    With a ``chance`` δ it holds for E[regret; E] with an event E of probability 1 - δ or more, for
    :math:`c > d-1`: then t₃ does not depend on T, and N is of the order log T·log log T. Without
    one it holds for the expected regret, which is logarithmic for :math:`c > d+1`; for smaller c
    it grows like :math:`T^{1-(c-d+1)/2}`.

    Parameters
    ----------
    inputs
        The constants.
    chance
        δ, between 0 and 1; ``None`` adds up all δ.

    Examples
    --------
    A thousand times as many rounds, with a chance of 9 in 10:

    >>> from dataclasses import replace
    >>> from greedyfirst.theory import ArmByArmInputs, arm_by_arm_regret
    >>> inputs = ArmByArmInputs(n_features=1, horizon=10**12, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                         margin_constant=1.0, lambda1=0.4, h=0.5)
    >>> short = arm_by_arm_regret(inputs, chance=0.1)
    >>> long = arm_by_arm_regret(replace(inputs, horizon=10**15), chance=0.1)
    >>> long.bound < 1.01 * short.bound
    True
    """
    horizon = inputs.horizon
    if chance is not None:
        burn_in, pulls = _burn_in(inputs, number("chance", chance, above=0, below=1))
    else:
        burn_in, pulls = 0.0, 0.0
        before = (0.0, 0.0)
        for halvings in range(HALVINGS):
            # With a chance of at least 1 - δ/2 it is over by then; δ remains from the last one.
            now = _burn_in(inputs, 0.5 ** (halvings + 1))
            burn_in += 0.5**halvings * (now[0] - before[0])
            pulls += 0.5**halvings * max(now[1] - before[1], 0.0)
            before = (now[0], max(now[1], before[1]))
            if now[0] >= horizon:
                break
        else:
            burn_in += 0.5**HALVINGS * horizon
    coefficient = _log_coefficient(inputs)
    costly = min(burn_in + inputs.n_suboptimal * pulls, horizon)
    trivial = inputs.largest_regret * horizon
    bound = coefficient * (1 + math.log(horizon)) + inputs.largest_regret * costly
    return ArmByArmRegret(
        inputs=inputs,
        log_coefficient=coefficient,
        burn_in=burn_in,
        suboptimal_pulls=inputs.n_suboptimal * pulls,
        bound=min(bound, trivial),
        trivial_bound=trivial,
    )


@dataclass(frozen=True, kw_only=True)
class _Sure:
    """What holds at all times with a chance of 1 - δ."""

    inputs: ArmByArmInputs
    chance: float

    @property
    def base(self) -> float:
        """2 log(2K/δ)."""
        return 2 * math.log(2 * self.inputs.rule.n_arms / self.chance)

    def deviations(self, log_determinant: float) -> float:
        """Z: the noise's part and the penalty's."""
        one = self.inputs
        return math.sqrt(self.base + log_determinant) + math.sqrt(one.kappa) * one.b_max / one.sigma

    def information(self, pulls: float, n_features: int) -> float:
        """The most that log det(I + G/κ) can be in so many dimensions after so many pulls."""
        if n_features == 0:
            return 0.0
        ratio = self.inputs.x_max**2 / self.inputs.kappa
        return n_features * math.log1p(pulls * ratio / n_features)

    def known_variance(self, deviations: float) -> float:
        """V below which Z deviations are less than h/2."""
        ratio = self.inputs.h / self.inputs.sigma / deviations / 2
        return ratio * ratio

    @property
    def typical_from(self) -> float:
        """Rounds after which the contexts of each U_i have half of their mean information."""
        one = self.inputs
        rate = HALF * one.lambda1 / one.x_max**2
        chance = self.chance * -math.expm1(-rate) / (2 * one.n_features * one.n_optimal)
        return max(-math.log(chance) / rate, 0.0)

    def overtaken(self, begin: float, end: float) -> bool:
        """Whether, in this block, a leading arm is only overtaken by a poorly known one."""
        one, d, kappa = self.inputs, self.inputs.n_features, self.inputs.kappa
        rewards = one.rule.last_look(begin)
        if rewards < self.typical_from or rewards <= 0:
            return False
        widest = self.deviations(self.information(end, d))
        direction = one.x_max**2 / (self.known_variance(widest) * kappa)
        few = max(math.log(direction), 0.0) + self.information(end, d - 1)
        z = min(widest, self.deviations(few))
        known = one.n_optimal * one.lambda1 * rewards / 2 + kappa
        lack = math.log(one.rule.theta * self.known_variance(z) * known / one.x_max**2)
        # By the normal width: Student's is never below it.
        needed = z * z / (one.rule.doubt * one.rule.reached(rewards, d))
        return lack >= log_lack(needed)

    def poorly_known(self, end: float, own_pulls: float) -> float:
        """Pulls of one arm until ``end`` at which its score could have been off by h/2.

        The first ``few`` of them, and those with a width of no more than it has after these.
        """
        one, d = self.inputs, self.inputs.n_features
        ratio = one.x_max**2 / one.kappa
        lack = one.rule.theta * (end * ratio + 1)
        z = self.deviations(self.information(own_pulls, d))
        found = math.inf
        firsts = np.maximum(ROWS * one.rule.normal_square(lack) - one.rule.rows, 0)
        for few in np.unique(np.ceil(firsts)):
            widest = z + math.sqrt(one.rule.width_square(lack, pulls=few))
            variance = self.known_variance(widest)
            later = poorly_known_rounds(n_features=d, ratio=ratio, variance=variance)
            found = min(found, few + later)
        return float(found)


def _burn_in(inputs: ArmByArmInputs, chance: float) -> tuple[float, float]:
    """t₃ with all that follows it, and N, for one δ; at most T."""
    sure, horizon = _Sure(inputs=inputs, chance=chance), inputs.horizon
    count = math.ceil(math.log(horizon) / math.log(BLOCK)) + 1
    ends = [float(end) for end in np.minimum(BLOCK ** np.arange(1, count + 1), horizon)]
    blocks = list(zip([1.0, *ends[:-1]], ends, strict=True))[::-1]
    if not sure.overtaken(*blocks[0]):
        return horizon, 0.0
    t2 = next((end for begin, end in blocks if not sure.overtaken(begin, end)), 1.0)

    def gathers(begin: float, end: float) -> bool:
        missed = t2 + inputs.rule.n_arms * sure.poorly_known(end, end)
        return bool(inputs.lambda1 * begin / 4 >= missed * inputs.x_max**2)

    def tells(begin: float, end: float) -> bool:
        if inputs.n_suboptimal == 0:
            return True
        z = sure.deviations(sure.information(end, inputs.n_features))
        known = inputs.lambda1 * (begin - 1) / 4 + inputs.kappa
        return bool(inputs.x_max**2 / known <= sure.known_variance(z))

    # From where on all later blocks have both.
    t3 = next((end for one, end in blocks if not (gathers(one, end) and tells(one, end))), 1.0)
    if inputs.n_suboptimal == 0:
        return min(t3 + 1, horizon), 0.0
    pulls = float(horizon)
    for _ in range(REFINEMENTS):
        pulls = min(pulls, sure.poorly_known(horizon, min(t3 + pulls, horizon)))
    return min(t3 + 1, horizon), pulls


def _log_coefficient(inputs: ArmByArmInputs) -> float:
    r"""A: what pairs of arms that are mixed up cost in round t, times t - 1.

    In units of :math:`s = 2\sigma x_{\max}/\sqrt{\lambda_1(t-1)}`, a gap of u is mistaken with a
    chance of at most :math:`\min\{1, 2(1 + 4x_{\max}^2/(d\lambda_1))^{d/2}e^{-(u-\rho)_+^2/16}\}`.
    """
    one, d = inputs, inputs.n_features
    information = 4 * one.x_max**2 / one.lambda1
    # A Gram matrix that is not singular has d rows.
    raised = math.sqrt(one.rule.width_square(one.rule.theta * information, pulls=d))
    # The penalty's part of two estimates: κ·b/(σ√(λ₁/4·(t - 1))), the most at the second round.
    shrunk = 2 * one.kappa * one.b_max / (one.sigma * math.sqrt(one.lambda1 / 4 + one.kappa))
    rho = raised + shrunk
    log_prefactor = math.log(2) + d / 2 * math.log1p(information / d)
    left = np.arange(0.0, FURTHEST + rho, CELL)
    exponents = log_prefactor - np.maximum(left - rho, 0.0) ** 2 / 16
    costs = (left + CELL) * np.exp(np.minimum(exponents, 0.0))
    majorant = np.maximum.accumulate(costs[::-1])[::-1]
    scale = 2 * one.sigma * one.x_max / math.sqrt(one.lambda1)
    pairs = one.n_optimal * (one.n_optimal - 1) / 2
    return pairs * one.margin_constant * scale**2 * float(majorant.sum()) * CELL
