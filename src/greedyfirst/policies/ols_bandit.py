"""OLS Bandit (Algorithm 4, appendix): forced samples on a doubling schedule, greedy in between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, floats, part
from greedyfirst.models import reward_spread
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.models.linear_part import (
    AUTO,
    RULE,
    catch_up,
    checked_rule,
    linear_model,
    observe,
    pause,
    warmup_option,
)
from greedyfirst.models.reward_spread import RewardSpread
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.initial_pulls import InitialPulls
from greedyfirst.policies.policy import FOREIGN, SUMMARY, Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong

REFRESH = ("always", "scheduled")
SCHEDULED = 1
#: Standard deviations of the rewards that an "auto" h has: about what the paper took, which was 5
#: where rewards had 1.2 (Figure 2).
DEVIATIONS = 4.0
# What kernels are told where h is learned.
LEARNED = 0.0


class OLSBanditState(Record):
    """Two estimators per arm."""

    #: On all samples, and on the forced ones: least squares, or ridges whose prior is learned.
    model: Any = part()
    forced: Any = part()
    spread: RewardSpread = part()
    initial: InitialPulls = part()
    scores: Scores = part()
    #: 1 for all arms, but for scratch use within a decision.
    everyone: FloatArray = floats("n_arms")


@inline_kernel
def scheduled(q: int, n_arms: int, step: int) -> int:
    """The arm i whose forced-sample times contain ``step``, or -1."""
    block = n_arms * q
    first = 0  # (2ⁿ - 1)Kq for n = 0, 1, …
    while step > first + block:
        first = 2 * first + block
    if step <= first:
        return -1
    return (step - first - 1) // q


@inline_kernel
def on_schedule(policy: Any, initial: InitialPulls, step: int) -> bool:
    """Whether ``step`` is past the initial pulls."""
    return bool(step > initial.founders * policy.initial_pulls)


@kernel
def forced_arm(policy: Any, initial: InitialPulls, step: int, eligible: FloatArray) -> int:
    """The arm that this step must pull, or -1."""
    arm = initial_pulls.due(initial, policy.initial_pulls, step, eligible)
    if arm < 0 and on_schedule(policy, initial, step):
        arm = scheduled(policy.q, eligible.shape[0], step)
    if arm >= 0 and eligible[arm] == 0.0:
        return -1
    return arm


@inline_kernel
def margin(policy: Any, state: OLSBanditState) -> float:
    """h: as it is given, or as the rewards' spread suggests; ∞ rules out nothing."""
    if policy.h > LEARNED:
        return float(policy.h)
    return DEVIATIONS * reward_spread.standard_deviation(state.spread)


@kernel
def filter_arms(h: float, state: OLSBanditState, context: FloatArray, eligible: FloatArray) -> None:
    """Score by all samples; rule out arms h/2 below the best by the forced samples alone."""
    value, everyone = state.scores.value, state.everyone
    predict(state.forced, context, state.scores)
    highest = -math.inf
    for arm in range(eligible.shape[0]):
        if eligible[arm] != 0.0:
            highest = max(highest, value[arm])
    for arm in range(eligible.shape[0]):
        everyone[arm] = value[arm]
    predict(state.model, context, state.scores)
    for arm in range(eligible.shape[0]):
        if everyone[arm] < highest - h / 2.0:
            value[arm] = -math.inf
        everyone[arm] = 1.0


@dataclass(frozen=True, kw_only=True)
class OLSBandit(Policy):
    r"""OLS Bandit (Goldenshluger and Zeevi; Bastani and Bayati), Algorithm 4.

    Arm i is forced at the times
    :math:`\mathcal T_i = \{(2^n - 1)Kq + j : n \ge 0,\ q(i-1) < j \le qi\}`. At all others,
    arms whose forced-sample estimate is within h/2 of the best one's stay in the race, and the
    all-sample estimate picks among them. O(Kd) a decision, O(d²) an update.

    Parameters
    ----------
    h
        The margin by which a sub-optimal arm is worse (Assumption 4), in the unit of the rewards;
        the filter is h/2. ``"auto"`` takes four standard deviations of the rewards seen.
    q
        Forced samples per arm in each round of the schedule.
    warmup
        As in :class:`~greedyfirst.policies.greedy.Greedy`, for both estimators: ``"none"`` is
        Algorithm 4 as printed. As the fallback of
        :class:`~greedyfirst.policies.greedy_first.GreedyFirst`, ``"auto"`` is ``"none"``.
    initial_pulls
        Pulls of each arm, in turns, before the schedule begins; they count as forced samples.
        The practice of the paper's figures is ``initial_pulls=n_features``, its text 0.
    refresh
        When the estimates that decisions use are brought up to date: ``"always"``, with every
        reward, or ``"scheduled"``, an arm's only with its forced samples after the initial pulls,
        about log₂ T times, and 0 before the first. It is there for Figure 4: docs/figure-4.md says
        what is known of it.
        For least squares only: not with ``warmup="auto"``.
    rule
        As in :class:`~greedyfirst.policies.greedy.Greedy`.

    Examples
    --------
    The first 2q decisions of two arms are forced samples, q of each arm:

    >>> from greedyfirst import Agent, OLSBandit
    >>> agent = Agent(OLSBandit(h=5, q=2), n_arms=2, n_features=1, seed=1)
    >>> arms = []
    >>> for _ in range(4):
    ...     arm = agent.choose([1.0])
    ...     arms.append(arm)
    ...     agent.update([1.0], arm, 0.0)
    >>> arms
    [0, 0, 1, 1]
    """

    h: float | str = 5.0
    q: int = 1
    warmup: str = AUTO
    initial_pulls: int = 0
    refresh: str = "always"
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        if isinstance(self.h, str):
            choice("h", self.h, (AUTO,))
        else:
            number("h", self.h, above=0)
        whole_number("q", self.q, at_least=1)
        choice("warmup", self.warmup, (AUTO, *WARMUPS))
        whole_number("initial_pulls", self.initial_pulls, at_least=0)
        choice("refresh", self.refresh, REFRESH)
        if self.refresh != REFRESH[0] and self.warmup == AUTO:
            expected = 'with a warmup of least squares: "none", "ridge" or "pinv"'
            raise wrong("refresh", self.refresh, expected)

    @classmethod
    def examples(cls) -> Sequence[OLSBandit]:
        """Every option varied."""
        return [
            cls(h=0.5, warmup="none"),
            cls(),
            cls(h="auto"),
            cls(h="auto", rule=1),
            cls(h=0.5, q=3, warmup="ridge"),
            cls(warmup="pinv", initial_pulls=4),
            cls(h=0.5, q=2, warmup="pinv", initial_pulls=2, refresh="scheduled"),
        ]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, names by number."""
        return {
            **super().option_values(n_arms, n_features),
            "h": LEARNED if self.h == AUTO else float(self.h),
            "warmup": warmup_option(self.warmup),
            "refresh": REFRESH.index(self.refresh),
        }

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> OLSBanditState:
        """The state before the first decision."""
        state = OLSBanditState(
            memory,
            model=linear_model(memory, n_arms, n_features, policy.warmup, policy.rule),
            forced=linear_model(memory, n_arms, n_features, policy.warmup, policy.rule),
            spread=RewardSpread(memory),
            initial=initial_pulls.init(memory, n_arms),
            scores=Scores(memory, n_arms=n_arms),
            n_arms=n_arms,
        )
        state.everyone[:] = 1.0
        if policy.refresh == SCHEDULED:
            pause(state.model)
            pause(state.forced)
        return state

    @staticmethod
    @kernel
    def score(
        policy: Any, state: OLSBanditState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """The forced arm, else -1 and scores by all samples of the arms that pass the filter."""
        arm = forced_arm(policy, state.initial, step, eligible)
        if arm < 0:
            filter_arms(margin(policy, state), state, context, eligible)
        return arm

    @staticmethod
    @kernel
    def update(
        policy: Any, state: OLSBanditState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row for the all-sample estimator, and for the forced-sample one if it was forced."""
        observe(state.model, policy.warmup, arm, context, reward)
        if step != SUMMARY:  # whose rewards stand for many
            reward_spread.observe(state.spread, reward)
        if step > FOREIGN and forced_arm(policy, state.initial, step, state.everyone) == arm:
            observe(state.forced, policy.warmup, arm, context, reward)
            if policy.refresh == SCHEDULED and on_schedule(policy, state.initial, step):
                catch_up(state.model, policy.warmup, arm)
                catch_up(state.forced, policy.warmup, arm)
