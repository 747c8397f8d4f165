"""Greedy-First (Algorithms 3 and 5): greedy until an arm's samples are not diverse enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from greedyfirst.compilation import inline_kernel, rare_kernel
from greedyfirst.linalg import copy
from greedyfirst.links import Link
from greedyfirst.memory import Memory
from greedyfirst.models import summary
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.policies import diversity_watch, hand_over
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.diversity_watch import (
    ALARMS,
    CLOCK,
    DECIDED,
    DROPPED,
    EXPLORES,
    MODE,
    NEXT_TEST,
    OFFSET,
    ON_ALARM,
    SPANS,
    SWITCHED_AT,
    DiversityWatch,
)
from greedyfirst.policies.glm_greedy import GLMGreedy
from greedyfirst.policies.glm_ucb import GLMUCB
from greedyfirst.policies.greedy import Greedy
from greedyfirst.policies.hand_over import InitialSamples, carry_over_code
from greedyfirst.policies.ols_bandit import OLSBandit
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import SCORE
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class GreedyFirst(Policy):
    r"""Greedy-First: greedy, until some arm's smallest eigenvalue falls short.

    Switches to ``fallback`` at the first :math:`t > t_0` with
    :math:`\min_i \lambda_{\min}(X_i^\top X_i) < \lambda_0t/4` (Algorithm 3). Without λ₀ it is
    estimated at t₀ as :math:`\hat\lambda_0 = \min_i\lambda_{\min}/(2t_0)`, and a zero estimate
    switches at once (Algorithm 5). Rate optimal whether or not contexts are diverse (Theorem 3).
    The test is exact and costs almost nothing: see :mod:`greedyfirst.policies.diversity_watch`.

    Parameters
    ----------
    warmup, initial_pulls
        Of the greedy phase, as in :class:`~greedyfirst.policies.greedy.Greedy`.
    greedy
        The policy of the greedy phase where it is not that: for generalised linear rewards a
        :class:`~greedyfirst.policies.glm_greedy.GLMGreedy`, which brings its own ``warmup`` and
        ``initial_pulls``.
    t0
        Rounds before the test begins; ``None`` is 4·K·d.
    lambda0
        λ₀ of the test; ``None`` estimates it at t₀.
    fallback
        The policy that explores after a switch: any other than Greedy-First itself. One for
        generalised linear rewards must have the same link and memory as ``greedy``.
    span
        ``"full"`` tests λ_min as printed. ``"pooled"`` tests it inside the span of all contexts
        seen so far: rewards depend on β only there, so collinear or one-hot features do not force
        a switch. The two are the same when contexts span everything.
    carry_over
        What a switch hands to the fallback: ``True`` all samples of the greedy phase, for its
        all-sample estimators; ``False``, as in the paper, nothing; ``"initial"`` those of the
        ``initial_pulls``, as its own first steps (to OLS Bandit with as many initial pulls they are
        forced samples), the practice of Figure 4.
    on_alarm
        What to do when an arm falls short: ``"explore"`` switches to the fallback (the paper's
        algorithm), ``"drop"`` drops the arm and stays greedy, ``"hold"`` stays greedy and leaves
        the arm to the decision-maker. The last arm is never dropped.
    lambda0_minimum
        An estimate of λ₀ below this counts as zero.
    test_after
        Rounds before the test against λ₀t/4 begins; ``None`` is t₀. The practice of the paper's
        figures is 2·t₀.

    Departures
    ----------
    An arm's λ_min counts as exactly 0 while its Gram matrix is numerically singular.
    """

    warmup: str = "none"
    initial_pulls: int = 0
    greedy: Greedy | GLMGreedy | None = None
    t0: int | None = None
    lambda0: float | None = None
    fallback: Policy = field(default_factory=OLSBandit)
    span: str = "pooled"
    carry_over: bool | str = True
    on_alarm: str = "explore"
    lambda0_minimum: float = 0.0
    test_after: int | None = None

    def __post_init__(self) -> None:
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)
        if self.t0 is not None:
            whole_number("t0", self.t0, at_least=1)
        if self.lambda0 is not None:
            number("lambda0", self.lambda0, above=0)
        if not isinstance(self.fallback, Policy) or isinstance(self.fallback, GreedyFirst):
            raise wrong("fallback", self.fallback, "a policy other than GreedyFirst")
        self._check_greedy()
        choice("span", self.span, SPANS)
        handed = carry_over_code(self.carry_over)
        if handed == hand_over.INITIAL and self.greedy_policy().initial_pulls == 0:
            expected = "True or False: without initial_pulls there are no initial samples"
            raise wrong("carry_over", self.carry_over, expected)
        choice("on_alarm", self.on_alarm, ON_ALARM)
        number("lambda0_minimum", self.lambda0_minimum, at_least=0)
        if self.test_after is not None:
            whole_number("test_after", self.test_after, at_least=1)

    def _check_greedy(self) -> None:
        """Refuse phases that do not learn from the same rewards."""
        if self.greedy is not None and not isinstance(self.greedy, (Greedy, GLMGreedy)):
            raise wrong("greedy", self.greedy, "None, a Greedy or a GLMGreedy")
        if self.greedy is not None and (self.warmup, self.initial_pulls) != ("none", 0):
            expected = "left out: they are options of the policy given as greedy"
            raise wrong("warmup and initial_pulls", (self.warmup, self.initial_pulls), expected)
        greedy, fallback = self.greedy, self.fallback
        if isinstance(fallback, (GLMGreedy, GLMUCB)) and not (
            isinstance(greedy, GLMGreedy)
            and (fallback.link, fallback.memory) == (greedy.link, greedy.memory)
        ):
            expected = "one for linear rewards, or of the link and memory of a GLMGreedy as greedy"
            raise wrong("fallback", fallback, expected)

    def greedy_policy(self) -> Greedy | GLMGreedy:
        """The policy of the greedy phase."""
        if self.greedy is not None:
            return self.greedy
        return Greedy(warmup=self.warmup, initial_pulls=self.initial_pulls)

    def reward_link(self) -> type[Link]:
        """The link of the greedy phase."""
        return self.greedy_policy().reward_link()

    def needs_truth(self) -> bool:
        """Whether the fallback does."""
        return self.fallback.needs_truth()

    def informed(self, parameters: FloatArray) -> Self:
        """With a fallback that knows what it asks for."""
        return replace(self, fallback=self.fallback.informed(parameters))

    def record(self, n_arms: int, n_features: int) -> Any:
        """The compiled form."""
        t0 = 4 * n_arms * n_features if self.t0 is None else int(self.t0)
        return self.Record(
            warmup=WARMUPS.index(self.warmup),
            initial_pulls=int(self.initial_pulls),
            greedy=self.greedy_policy().record(n_arms, n_features),
            t0=t0,
            lambda0=0.0 if self.lambda0 is None else float(self.lambda0),
            fallback=self.fallback.record(n_arms, n_features),
            span=SPANS.index(self.span),
            carry_over=carry_over_code(self.carry_over),
            on_alarm=ON_ALARM.index(self.on_alarm),
            lambda0_minimum=float(self.lambda0_minimum),
            test_after=t0 if self.test_after is None else int(self.test_after),
        )


class GreedyFirstState(NamedTuple):
    """The greedy policy's state, the fallback's, and the watch over the arms."""

    greedy: Any  # keeps learning from all samples, also after a switch
    fallback: Any
    watch: DiversityWatch
    outlook: FloatArray  # (3, n_arms), see selection: the greedy state's own
    allowed: FloatArray  # (n_arms,) scratch: eligible arms that have not been dropped
    initial: InitialSamples
    summarise_routine: int  # its address in this process, 0 where it is not needed

    @property
    def explores(self) -> bool:
        """Whether the fallback decides."""
        return bool(self.watch.numbers[MODE] == EXPLORES)

    @property
    def model(self) -> Any:
        """The estimates that decisions are made with."""
        return self.fallback.model if self.explores else self.greedy.model


def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyFirstState:
    """The state before the first decision."""
    greedy_state = kernels.init(policy.greedy, n_arms, n_features, memory)
    return GreedyFirstState(
        greedy_state,
        kernels.init(policy.fallback, n_arms, n_features, memory),
        diversity_watch.init(memory, n_arms, n_features, policy),
        greedy_state.outlook,
        memory.take(n_arms),
        hand_over.init(memory, policy, n_arms, n_features),
        summary.SUMMARISE.address if policy.carry_over == hand_over.ALL else 0,
    )


@inline_kernel
def weigh(
    policy: Any, state: GreedyFirstState, step: int, context: FloatArray, eligible: FloatArray
) -> int:
    """Greedy's outlook, or the fallback's after a switch, without the arms that were dropped."""
    watch, outlook = state.watch, state.greedy.outlook
    allowed = eligible
    if watch.numbers[ALARMS] > 0.0:
        allowed = state.allowed
        for arm in range(allowed.shape[0]):
            allowed[arm] = eligible[arm] if watch.arms[arm, DROPPED] == 0.0 else 0.0
    if watch.numbers[MODE] == EXPLORES:
        own_step = hand_over.own_step(policy, state, step)
        due = kernels.weigh(policy.fallback, state.fallback, own_step, context, allowed)
        for row in range(3):
            copy(state.fallback.outlook[row], outlook[row])
    else:
        due = kernels.weigh(policy.greedy, state.greedy, step, context, allowed)
    if watch.numbers[ALARMS] > 0.0:
        for arm in range(allowed.shape[0]):
            if allowed[arm] == 0.0:
                outlook[SCORE, arm] = -math.inf
    return due


@inline_kernel
def update(
    policy: Any,
    state: GreedyFirstState,
    step: int,
    context: FloatArray,
    arm: int,
    reward: float,
) -> None:
    """Learn, then test whether every arm's samples are diverse enough."""
    watch = state.watch
    kernels.update(policy.greedy, state.greedy, step, context, arm, reward)
    hand_over.keep(policy, state, step, context, arm, reward)
    watch.numbers[CLOCK] += 1.0
    if watch.numbers[MODE] == EXPLORES:
        own_step = hand_over.own_step(policy, state, step)
        kernels.update(policy.fallback, state.fallback, own_step, context, arm, reward)
    if policy.span != 0:
        diversity_watch.see(watch, context)
    if watch.numbers[CLOCK] > watch.numbers[NEXT_TEST] and watch.numbers[MODE] != EXPLORES:
        diversity_watch.test(policy, watch, state.greedy.model)
        if watch.numbers[MODE] == EXPLORES:
            switch(policy, state, step)


@rare_kernel
def switch(policy: Any, state: GreedyFirstState, step: int) -> None:
    """Start the fallback after decision ``step``, with what it is handed."""
    watch = state.watch
    watch.numbers[MODE] = EXPLORES
    decided = max(float(step), watch.numbers[DECIDED])
    watch.numbers[OFFSET] = max(decided - hand_over.initial_steps(policy, state), 0.0)
    watch.numbers[SWITCHED_AT] = watch.numbers[CLOCK]
    hand_over.hand_over(policy, state)
