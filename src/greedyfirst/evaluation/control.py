r"""A control share: is a policy better than current practice, on the same people at the same time?

A share s of decisions, drawn at random, goes to current practice. A decision with the reward R gets
the score

.. math:: Z = (R - m)\left(\frac{1\{\text{policy}\}}{1 - s} - \frac{1\{\text{control}\}}{s}\right),

m being a baseline that is known before the reward. The draw is independent of the person and of all
before, so the mean of Z is (what the policy earns here on average, as it stands) − (what current
practice does): m drops out, and so does how the policy learned. A confidence sequence of the
scores (:mod:`~greedyfirst.evaluation.confidence_sequence`) is about the average of these advantages
over the decisions so far.

The baseline only narrows the interval. It is :math:`s\bar R_p + (1 - s)\bar R_c` of the groups'
mean rewards so far, with which Z is the doubly robust score of two groups. Each mean begins
with one reward: the middle of the range where there is one; else the first reward that comes, which
has no score then.

Scores are taken in the order in which rewards come. That is right if *when* a reward comes, and
whether it does, has nothing to do with the group.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from greedyfirst.compiling.calls import compiled
from greedyfirst.compiling.kernels import entry
from greedyfirst.evaluation.confidence_sequence import (
    Interval,
    Sums,
    asymptotic_interval,
    bounded_interval,
)
from greedyfirst.numerics.randomness import stream, uniform
from greedyfirst.validation import number, wrong

Group = Literal["policy", "control"]
Verdict = Literal["better", "worse", "not yet known"]
#: "bounded": the interval's level is proved; "asymptotic": it is approached with many rewards.
Method = Literal["bounded", "asymptotic"]
#: Informative rewards that each group must have before an asymptotic interval is given: 20 tossed
#: coins, 20 rare events, 60 normal rewards. Rare events that one group has had count for the other
#: as well: it must have had as many rewards as 20 of them take, whether it has had any or not.
LEAST_INFORMATIVE = 20.0
#: Of events rarer than 1 in n/3, n rewards have none with a probability above 5 %.
RULE_OF_THREE = 3
#: A variance that is a smaller part of the mean square is rounding.
ROUNDING = 1e-12
#: Draws of groups are those of another seed than the policy's, whose steps have the same numbers.
GROUPS = int.from_bytes(b"groups")


def in_control(seed: int, step: int, share: float) -> bool:
    """Whether decision ``step`` goes to current practice: a function of (seed, step) alone.

    Examples
    --------
    >>> from greedyfirst.evaluation import in_control
    >>> share = sum(in_control(7, step, share=0.1) for step in range(1, 10_001)) / 10_000
    >>> 0.09 < share < 0.11
    True
    """
    drawn: float = _draw()(seed ^ GROUPS, step)
    return drawn < share


@entry
def draw_group(seed: int, step: int) -> float:
    """A uniform draw for this decision."""
    return uniform(stream(seed, step), 0)


@cache
def _draw() -> Any:
    return compiled(draw_group, 0, 0)


@dataclass(kw_only=True)
class Rewards:
    """The rewards of a group: their number, sum, and sums of powers of u, about a fixed value."""

    count: int = 0
    total: float = 0.0
    first: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0

    def add(self, reward: float, about: float) -> None:
        """One more."""
        u = reward - about
        self.count += 1
        self.total += reward
        self.first += u
        self.second += u * u
        self.third += u**3
        self.fourth += u**4

    @property
    def mean(self) -> float | None:
        """The mean reward, if there is any."""
        return self.total / self.count if self.count else None

    @property
    def informative(self) -> float:
        """(Σu²)²/Σu⁴ about the mean: the number of coins, of rare events, a third of normal ones.

        As many rewards of ±1 would tell as much about how far the rewards scatter.
        """
        if self.count == 0:
            return 0.0
        a, b, c, d = (
            each / self.count for each in (self.first, self.second, self.third, self.fourth)
        )
        variance, fourth = b - a * a, d - 4 * a * c + 6 * a * a * b - 3 * a**4
        alike = variance <= ROUNDING * b or fourth <= 0
        return 0.0 if alike else self.count * variance**2 / fourth

    def informative_beside(self, other: Rewards) -> float:
        """The same, by the other group where large rewards are rarer there."""
        own, others = self.informative, other.informative
        if own == 0.0 or others == 0.0:
            return own
        return min(own, self.count * others / other.count)


@dataclass(kw_only=True)
class Comparison:
    """What the rewards of both groups say so far.

    Parameters
    ----------
    share
        The share of decisions that goes to current practice.
    low, high
        Between which all rewards must be; None where that is not known. Without both, or once a
        reward was outside, intervals are asymptotic.

    Examples
    --------
    >>> from greedyfirst.evaluation import Comparison
    >>> trial = Comparison(share=0.5, low=0.0, high=1.0)
    >>> for reward in [1.0, 0.0, 1.0, 1.0] * 100:
    ...     trial.add("policy", reward)
    ...     trial.add("control", 1.0 - reward)
    >>> trial.verdict()
    'better'
    """

    share: float
    low: float | None = None
    high: float | None = None
    scores: Sums = field(default_factory=Sums)
    #: The rewards of each group.
    policy: Rewards = field(default_factory=Rewards)
    control: Rewards = field(default_factory=Rewards)
    #: What the mean of each group begins with.
    start: float | None = None
    #: Whether a reward was outside its range.
    outside: bool = False

    def __post_init__(self) -> None:
        number("share", self.share, above=0, below=1)
        if self.low is not None and self.high is not None:
            if not self.low < self.high:
                raise wrong("low", self.low, f"below high, which is {self.high}")
            if self.start is None:
                self.start = (self.low + self.high) / 2

    def add(self, group: Group, reward: float) -> None:
        """Take the reward of a decision of this group."""
        number("reward", reward)
        if self.low is not None and self.high is not None:
            self.outside |= not self.low <= reward <= self.high
        if self.start is None:
            self.start = reward
        else:
            weight = 1 / (1 - self.share) if group == "policy" else -1 / self.share
            self.scores.add((reward - self._baseline(self.start)) * weight)
        (self.policy if group == "policy" else self.control).add(reward, self.start)

    def _baseline(self, start: float) -> float:
        """The mean rewards of both groups, each weighted by the other's share."""
        policy = (start + self.policy.total) / (1 + self.policy.count)
        control = (start + self.control.total) / (1 + self.control.count)
        return self.share * policy + (1 - self.share) * control

    @property
    def method(self) -> Method:
        """How intervals are made."""
        known = self.low is not None and self.high is not None and not self.outside
        return "bounded" if known else "asymptotic"

    def advantage(self, *, level: float = 0.95) -> Interval | None:
        """By how much the policy is better, on average per decision so far; None if it is too soon.

        At every look together the interval is right with probability ``level``.
        """
        if self.low is not None and self.high is not None and not self.outside:
            most = self.high - self.low
            bound = most / min(self.share, 1 - self.share)
            found = bounded_interval(self.scores, bound=bound, level=level)
            return replace(found, low=max(found.low, -most), high=min(found.high, most))
        number("level", level, above=0, below=1)
        if min(self._informative()) < LEAST_INFORMATIVE:
            return None
        return asymptotic_interval(self.scores, level=level)

    def _informative(self) -> tuple[float, float]:
        """Informative rewards of the policy's group and of the control group."""
        policy, control = self.policy, self.control
        return policy.informative_beside(control), control.informative_beside(policy)

    def sentence(self, *, level: float = 0.95) -> str:
        """The verdict and the interval in plain words, in the units of the reward."""
        found, verdict = self.advantage(level=level), self.verdict(level=level)
        unknown = "It is not yet known whether the policy is better or worse than current practice"
        if self.scores.count == 0:
            return f"{unknown}: there are no rewards to compare."
        if found is None:
            policy, control = self._informative()
            return (
                f"{unknown}. Each group needs {LEAST_INFORMATIVE:.0f} informative rewards for an "
                f"interval; the policy’s has {policy:.0f}, the control group {control:.0f}."
            )
        over = f"on average over the {self.scores.count:,} decisions compared so far"
        interval = f"{100 * level:g} % interval {_signed(found.low)} to {_signed(found.high)}"
        if self.method == "asymptotic":
            rarest = max(min(self.policy.count, self.control.count) // RULE_OF_THREE, 1)
            over += f". Events rarer than 1 in {rarest:,} rewards of a group may not be in it"
        if verdict == "not yet known":
            earned = f"its advantage is {_signed(found.value)} a decision ({interval})"
            return f"{unknown}: {earned}, {over}."
        by = f"by {abs(found.value):.3g} a decision ({interval})"
        return f"The policy is {verdict} than current practice: {by}, {over}."

    def verdict(self, *, level: float = 0.95) -> Verdict:
        """Whether the policy is better than current practice."""
        found = self.advantage(level=level)
        if found is None or found.low <= 0 <= found.high:
            return "not yet known"
        return "better" if found.low > 0 else "worse"


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")
