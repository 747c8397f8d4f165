r"""Regret of the arm-by-arm rule without contexts: as MOSS at any time, with constants.

The proof is on the page about the rule (docs/theory-arm-by-arm.md). In short, for a level y_i
between 0 and an arm's gap Δ_i: arm i is played either because its own score is at least
:math:`\mu^* - y_i`, which each number of its pulls allows once, or because the best arm's score is
below that. The chance of the latter is bounded over shells of pulls, each of which ends at r times
its beginning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from greedyfirst.theory.bounds.arm_by_arm_rule import ArmByArmRule
from greedyfirst.validation import FloatArray, number, whole_number, wrong

#: Ratios of shells, and of the level y to the gap: the best of each is taken.
RATIOS = (1.06, 1.12, 1.3)
LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85)
# Sums of what falls go over blocks that grow by these factors, each as high as where it begins.
ROUNDS_BLOCK, PULLS_BLOCK, EXACT_PULLS = 1.05, 1.01, 200
# Shells beyond this exponent add less than 1e-18 together.
NEGLIGIBLE_EXPONENT = 50.0
# The bound that knows no gap: points a decade of gaps and levels, blocks of rounds.
GRID, COARSE_BLOCK = 12, 1.25


@dataclass(frozen=True, kw_only=True)
class MeanRegret:
    """A bound of the regret without contexts, and what it is made of.

    Examples
    --------
    >>> from greedyfirst.theory import arm_by_arm_mean_regret
    >>> found = arm_by_arm_mean_regret([0.2], sigma=1.0, horizon=50_000)
    >>> found.bound < found.trivial_bound
    True
    """

    #: Rounds in which worse arms look as good as the best, and in which the best looks worse.
    exploring: float
    unlucky: float
    #: The largest gap times the rounds.
    trivial_bound: float

    @property
    def bound(self) -> float:
        """The bound."""
        return min(self.exploring + self.unlucky, self.trivial_bound)


def arm_by_arm_mean_regret(
    gaps: Sequence[float],
    *,
    sigma: float,
    horizon: int,
    rule: ArmByArmRule | None = None,
    penalty: float = 0.0,
    prior_error: float = 0.0,
    scale_range: tuple[float, float] = (1.0, 1.0),
) -> MeanRegret:
    r"""The regret of the rule without contexts, for arms that are worse by these gaps.

    .. math:: R_T \le \sum_i \Delta_i \sum_n p_i(n) + \sum_{s \le T}\sum_k
              (\Delta_{(k)} - \Delta_{(k-1)})\,F_s(\epsilon\Delta_{(k)}) ,

    the gaps in order. It grows like log T for c > 2, and like :math:`T^{1-c/2}` below that.

    Parameters
    ----------
    gaps
        Δ of each arm but the best, above 0.
    sigma
        σ of the sub-Gaussian noise.
    horizon
        T.
    rule
        Its constants; ``None`` is those of `GreedyFirst()`.
    penalty
        κ of the ridge; 0 is the mean of an arm's rewards, each arm pulled once beforehand.
    prior_error
        How far the arms' means are from the prior's at most; 0 without a penalty.
    scale_range
        The least and the largest ratio of the noise scale in a width to σ.

    Examples
    --------
    Ten times as many rounds cost about as much more each time: it grows like log T.

    >>> from greedyfirst.theory import ArmByArmRule, arm_by_arm_mean_regret
    >>> rule = ArmByArmRule(n_arms=2, doubt=4.0)
    >>> first, second, third = (
    ...     arm_by_arm_mean_regret([0.2], sigma=1.0, horizon=T, rule=rule).bound
    ...     for T in (10**6, 10**7, 10**8)
    ... )
    >>> third < second + 1.2 * (second - first) < 1.5 * first
    True
    """
    ordered = sorted(number(f"gaps[{i}]", gap, above=0) for i, gap in enumerate(gaps))
    if not ordered:
        raise wrong("gaps", gaps, "one for each arm but the best")
    means = _Means(
        rule=rule or ArmByArmRule(n_arms=len(ordered) + 1),
        horizon=whole_number("horizon", horizon, at_least=1),
        penalty=number("penalty", penalty, at_least=0),
        error=number("prior_error", prior_error, at_least=0) / number("sigma", sigma, above=0),
        low=number("scale_range[0]", scale_range[0], above=0),
        high=number("scale_range[1]", scale_range[1], at_least=scale_range[0]),
    )
    gaps_in_sigma = [gap / sigma for gap in ordered]
    found: list[tuple[float, float]] = []
    for level in LEVELS:
        own = sum(gap * means.pulls(gap, level * gap) for gap in gaps_in_sigma)
        unlucky, before = 0.0, 0.0
        for gap in dict.fromkeys(gaps_in_sigma):
            unlucky += (gap - before) * means.rounds(partial(means.fails, level=level * gap))
            before = gap
        found.append((own, unlucky))
    exploring, unlucky = min(found, key=sum)
    return MeanRegret(
        exploring=sigma * exploring,
        unlucky=sigma * unlucky,
        trivial_bound=ordered[-1] * horizon,
    )


def worst_mean_regret(
    *, sigma: float, horizon: int, rule: ArmByArmRule, level: float = 0.7
) -> float:
    r"""The same whatever the gaps, beyond one pull of each arm: like :math:`\sigma\sqrt{KT}`.

    .. math:: R_T - \sum_i\Delta_i \le \min_{\Delta_0}\Bigl\{\Delta_0T + (K-1)
              \sup_{\Delta\ge\Delta_0}\Delta\sum_{n\ge1} p_\Delta(n)\Bigr\}
              + \frac1\epsilon\sum_{s\le T}\int_0^\infty F_s(y)\,dy .

    That is for c > 2.

    Parameters
    ----------
    sigma, horizon, rule
        As for `arm_by_arm_mean_regret`; without a penalty.
    level
        ε, between 0 and 1.

    Examples
    --------
    >>> from greedyfirst.theory import ArmByArmRule, worst_mean_regret
    >>> rule = ArmByArmRule(n_arms=2, doubt=4.0)
    >>> short, long = (
    ...     worst_mean_regret(sigma=1.0, horizon=T, rule=rule) for T in (10**6, 10**8)
    ... )
    >>> 9 < long / short < 11  # like √T
    True
    """
    sigma = number("sigma", sigma, above=0)
    horizon = whole_number("horizon", horizon, at_least=1)
    level = number("level", level, above=0, below=1)
    means = _Means(rule=rule, horizon=horizon, penalty=0.0, error=0.0, low=1.0, high=1.0)
    # Gaps in σ, from below 1/√(θT) to where one pull tells all.
    smallest = math.floor(GRID * math.log10(0.1 / math.sqrt(rule.theta * horizon)))
    widest = math.sqrt(rule.width_square(rule.theta * horizon, pulls=1))
    if math.isinf(widest):
        return math.inf
    largest = 100 * (1 + widest) / (1 - level)
    gaps = 10 ** (np.arange(smallest, GRID * math.log10(largest)) / GRID)
    numbers = [means.pulls(gap, level * gap) - 1 for gap in gaps]
    # Pulls fall with the gap: between two points they are at most those of the smaller gap.
    costs = [gaps[i + 1] * numbers[i] for i in range(len(gaps) - 1)]
    worst = np.maximum.accumulate(costs[::-1])[::-1]
    known = min(gaps[i] * horizon + (rule.n_arms - 1) * worst[i] for i in range(len(worst)))

    def lost(step: float) -> float:
        lowest = math.floor(GRID * math.log10(0.01 / math.sqrt(step)))
        ys = 10.0 ** (np.arange(lowest, GRID + 1) / GRID)
        values = np.array([means.fails(step, float(y)) for y in ys])
        return float(ys[0] + (values[:-1] * np.diff(ys)).sum())

    return float(sigma * (known + means.rounds(lost, COARSE_BLOCK) / level))


@dataclass(frozen=True, kw_only=True)
class _Means:
    """The problem, in units of σ."""

    rule: ArmByArmRule
    horizon: int
    penalty: float
    error: float
    low: float
    high: float

    def widths(self, weights: FloatArray, rewards: float, *, ramp: bool) -> FloatArray:
        """Widths of arms whose pulls and penalty are ``weights``, after a look at ``rewards``."""
        squares = self.rule.width_squares(
            self.rule.theta * (rewards + self.penalty) / weights,
            np.maximum(weights - self.penalty, 0),
            reached=self.rule.reached(rewards, 1) if ramp else 1.0,
        )
        widths: FloatArray = np.sqrt(squares / weights)
        return widths

    def fails(self, step: float, level: float) -> float:
        """F: the chance that the best arm's score is below its mean by ``level``, at most 1."""
        rewards, kappa = self.rule.last_look(step), self.penalty
        if kappa > 0:
            unpulled = self.low * self.widths(np.array([kappa]), rewards, ramp=True)[0]
            if self.error > unpulled + level:
                return 1.0
        best = 1.0
        for ratio in RATIOS:
            # Exponents grow at least like m·y²/2 once κ·B/m is half of y.
            largest = 8 * NEGLIGIBLE_EXPONENT / level**2 + 2 * kappa * self.error / level + 2
            shells = math.ceil(math.log(largest) / math.log(ratio)) + 1
            begins = (1 + kappa) * ratio ** np.arange(float(shells))
            widths = self.low * self.widths(ratio * begins, rewards, ramp=True)
            lead = np.maximum(widths + level - kappa * self.error / begins, 0)
            best = min(best, float(np.exp(-(begins + kappa) * lead * lead / 2).sum()))
        return best

    def pulls(self, gap: float, level: float) -> float:
        """Σp: how often a worse arm is pulled while the best arm's score is not too low."""
        T, kappa = self.horizon, self.penalty
        first = np.arange(1.0, min(T, EXACT_PULLS) + 1)
        count = 0
        if T > EXACT_PULLS:
            count = math.ceil(math.log(T / EXACT_PULLS) / math.log(PULLS_BLOCK))
        later = EXACT_PULLS * PULLS_BLOCK ** np.arange(1, count + 1)
        ends = np.concatenate([first, np.minimum(later, T)])
        begins = np.concatenate([first, ends[first.size - 1 : -1]])
        sizes = np.diff(ends, prepend=0.0)
        weights = begins + kappa
        lead = gap - level - self.high * self.widths(weights, T, ramp=False)
        lead = np.maximum(weights * np.maximum(lead, 0) - kappa * self.error, 0)
        return 1 + float((sizes * np.exp(-lead * lead / (2 * ends))).sum())

    def rounds(self, value: Callable[[float], float], block: float = ROUNDS_BLOCK) -> float:
        """The sum over the rounds of what falls with them."""
        total, step = 0.0, 1
        while step <= self.horizon:
            following = min(self.horizon + 1, max(step + 1, int(step * block)))
            total += (following - step) * value(step)
            step = following
        return total
