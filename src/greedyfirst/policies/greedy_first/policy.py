"""Greedy-First (Algorithms 3 and 5): greedy until an arm's samples are not diverse enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from greedyfirst.compiling.families import options_of
from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.compiling.records import Memory, Options, Record, floats, part
from greedyfirst.links import Link
from greedyfirst.models.least_squares import WARMUPS
from greedyfirst.models.linear_part import AUTO, FIRST_RULE, RULE, checked_rule, linear_part
from greedyfirst.models.summary import Summary
from greedyfirst.numerics.vectors import copy
from greedyfirst.policies import policy as kernels
from greedyfirst.policies.glm_greedy import GLMGreedy
from greedyfirst.policies.glm_ucb import GLMUCB
from greedyfirst.policies.greedy import Greedy
from greedyfirst.policies.greedy_first import phases, warm_start, watch
from greedyfirst.policies.greedy_first.answers.answer import ANSWERS
from greedyfirst.policies.greedy_first.answers.explore import Explore
from greedyfirst.policies.greedy_first.answers.explore_arm import ExploreArm
from greedyfirst.policies.greedy_first.arm_by_arm import ArmByArm, ArmByArmState
from greedyfirst.policies.greedy_first.first_rule import ArmByFirstRule
from greedyfirst.policies.greedy_first.smallest_eigenvalue import SmallestEigenvalue
from greedyfirst.policies.greedy_first.statistic import STATISTICS
from greedyfirst.policies.greedy_first.warm_start import InitialSamples, carry_over_code
from greedyfirst.policies.greedy_first.watch import SPANS, Watch
from greedyfirst.policies.ols_bandit import OLSBandit
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong

#: The options of the switch test, as they are where arms are explored one by one.
ABSENT: dict[str, Any] = {
    "warmup": AUTO,
    "t0": None,
    "lambda0": None,
    "fallback": None,
    "span": None,
    "carry_over": None,
    "lambda0_minimum": 0.0,
    "test_after": None,
    "statistic": None,
}
#: What they are in the paper's algorithm where they are not given.
SPAN, STATISTIC = "pooled", SmallestEigenvalue.name


class GreedyFirstState(Record):
    """The greedy policy's state, the fallback's, and the watch over the arms."""

    #: Keeps learning from all samples, also after a switch.
    greedy: Any = part()
    fallback: Any = part()
    watch: Watch = part()
    #: The greedy state's own.
    scores: Scores = part(shared=True)
    samples: InitialSamples = part()
    #: Scratch of the warm start.
    summary: Summary = part()
    #: Eligible arms that have not been dropped.
    allowed: FloatArray = floats("n_arms", scratch=True)

    @property
    def model(self) -> Any:
        """The estimates that decisions are made with."""
        deciding = self.fallback if self.watch.explores else self.greedy
        return getattr(deciding, "model", None)


@dataclass(frozen=True, kw_only=True)
class GreedyFirst(Policy):
    r"""Greedy-First: greedy, as long as every arm's samples are diverse enough.

    As it comes it explores **arm by arm**: an arm is greedy where it holds its share of all that is
    known about people like the one at hand. Where it has been left it gets the benefit of the
    doubt, which grows slowly, so that no arm that may be best is given up for good: see
    :mod:`greedyfirst.policies.greedy_first.arm_by_arm`. Nothing is to be chosen; no unit matters,
    nor, where a constant is in the span of the contexts, does any zero. For a penalty and a noise
    scale that are known, regret is of the order log T without one forced sample: without contexts,
    and with contexts for few features. Two arms with diverse contexts are soon greedy for good,
    whatever is learned. The theory page on this rule says for what exactly.

    With a ``fallback``, or any other option of the switch test, it is **the paper's algorithm**. It
    switches to ``fallback`` at the first :math:`t > t_0` with
    :math:`\min_i \lambda_{\min}(X_i^\top X_i) < \lambda_0t/4` (Algorithm 3). Without λ₀ it is
    estimated at t₀ as :math:`\hat\lambda_0 = \min_i\lambda_{\min}/(2t_0)`, and a zero estimate
    switches at once (Algorithm 5). With a λ₀ that is given, ``carry_over=False``, ``span="full"``
    and an OLS Bandit with enough forced samples it is rate optimal whether or not contexts are
    diverse (Theorem 3).
    The test is exact and costs almost nothing: see :mod:`greedyfirst.policies.greedy_first.watch`.

    Parameters
    ----------
    warmup, initial_pulls
        Of the greedy phase, as in :class:`~greedyfirst.policies.greedy.Greedy`. ``"auto"`` is
        ``"none"`` in the paper's algorithm; any other warm-up selects that.
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
        generalised linear rewards must have the link, memory and rule of ``greedy``. ``None``
        explores arm by arm, or is ``OLSBandit()`` where another option selects the paper's
        algorithm.
    span
        ``"full"`` tests λ_min as printed. ``"pooled"`` tests it inside the span of all contexts
        seen so far: rewards depend on β only there, so collinear or one-hot features do not force
        a switch; the two are the same when contexts span everything. ``None`` is ``"pooled"``.
    carry_over
        What a switch hands to the fallback: ``True`` all samples of the greedy phase, for its
        all-sample estimators; ``False``, as in the paper, nothing; ``None`` all, but nothing to a
        fallback that learns a prior, which a summary of them would mislead; ``"initial"``
        those of the ``initial_pulls``, as its own first steps (to OLS Bandit with as many initial
        pulls they are forced samples), the practice of Figure 4.
    on_alarm
        What to do when an arm falls short: ``"explore_arm"`` explores this arm while it starves
        (``None`` is this, where arms are explored one by one), ``"explore"`` all arms: it switches
        to the fallback (``None`` is this in the paper's algorithm); ``"drop"`` drops the arm and
        stays greedy, ``"hold"`` stays greedy and leaves the arm to the decision-maker. The last arm
        is never dropped.
    lambda0_minimum
        An estimate of λ₀ below this counts as zero.
    test_after
        Rounds before the test against λ₀t/4 begins; ``None`` is t₀. The practice of the paper's
        figures is 2·t₀.
    statistic
        What is tested, by name: ``"smallest_eigenvalue"``, the paper's, is also ``None``.
    rule
        How arms are explored one by one: 2, or 1 as older releases did, for what was begun with
        them. A policy given as ``greedy`` or ``fallback`` has its own.

    Departures
    ----------
    An arm's λ_min counts as exactly 0 while its Gram matrix is numerically singular.

    Examples
    --------
    Two treatments, and patients who are all different. Every arm gets samples in all directions,
    so nothing is explored:

    >>> import numpy as np
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=2, seed=1)
    >>> rng = np.random.default_rng(1)
    >>> for patient in rng.normal(size=(500, 2)):
    ...     arm = agent.choose(patient)
    ...     agent.update(patient, arm, patient[arm] + rng.normal(scale=0.1))
    >>> [arm.starving for arm in agent.diversity().arms]
    [False, False]

    The paper's algorithm, which switches all arms to a fallback:

    >>> from greedyfirst import OLSBandit
    >>> GreedyFirst(fallback=OLSBandit(h=5, q=1)).on_alarm is None
    True
    """

    watches: ClassVar[bool] = True
    warmup: str = AUTO
    initial_pulls: int = 0
    greedy: Greedy | GLMGreedy | None = None
    t0: int | None = None
    lambda0: float | None = None
    fallback: Policy | None = None
    span: str | None = None
    carry_over: bool | str | None = None
    on_alarm: str | None = None
    lambda0_minimum: float = 0.0
    test_after: int | None = None
    statistic: str | None = None
    rule: int = RULE

    def __post_init__(self) -> None:
        checked_rule(self.rule)
        choice("warmup", self.warmup, (AUTO, *WARMUPS))
        whole_number("initial_pulls", self.initial_pulls, at_least=0)
        if self.t0 is not None:
            whole_number("t0", self.t0, at_least=1)
        if self.lambda0 is not None:
            number("lambda0", self.lambda0, above=0)
        fallback = self.exploring_policy()
        if not isinstance(fallback, Policy) or isinstance(fallback, GreedyFirst):
            raise wrong("fallback", fallback, "a policy other than GreedyFirst")
        if not fallback.is_compiled():
            raise wrong("fallback", fallback, "a policy whose score and update are kernels")
        self._check_greedy()
        choice("span", _given(self.span, SPAN), SPANS)
        handed = carry_over_code(self.carried_over())
        if handed == warm_start.ALL and fallback.learns_prior():
            expected = "False or 'initial': this fallback learns a prior, from samples one by one"
            raise wrong("carry_over", self.carry_over, expected)
        if handed == warm_start.INITIAL and self.greedy_policy().initial_pulls == 0:
            expected = "True or False: without initial_pulls there are no initial samples"
            raise wrong("carry_over", self.carry_over, expected)
        if self.on_alarm is not None:
            choice("on_alarm", self.on_alarm, self.answers())
        choice("statistic", _given(self.statistic, STATISTIC), tuple(STATISTICS))
        number("lambda0_minimum", self.lambda0_minimum, at_least=0)
        if self.test_after is not None:
            whole_number("test_after", self.test_after, at_least=1)

    def _check_greedy(self) -> None:
        """Refuse phases that do not learn from the same rewards."""
        if self.greedy is not None and not (
            isinstance(self.greedy, (Greedy, GLMGreedy)) and self.greedy.exploits
        ):
            raise wrong("greedy", self.greedy, "None, a Greedy or a GLMGreedy")
        left_out = self.warmup in (AUTO, "none") and self.initial_pulls == 0
        if self.greedy is not None and not left_out:
            expected = "left out: they are options of the policy given as greedy"
            raise wrong("warmup and initial_pulls", (self.warmup, self.initial_pulls), expected)
        ridge = getattr(self.greedy, "regularization", None)
        if ridge is not None and not self.arm_by_arm():
            raise wrong("regularization", ridge, "None: the switch test is of least squares")
        greedy, fallback = self.greedy, self.exploring_policy()
        if isinstance(fallback, (GLMGreedy, GLMUCB)) and not (
            isinstance(greedy, GLMGreedy)
            and (fallback.link, fallback.memory, fallback.rule)
            == (greedy.link, greedy.memory, greedy.rule)
        ):
            expected = (
                "one for linear rewards, or of the link, memory and rule of a GLMGreedy as greedy"
            )
            raise wrong("fallback", fallback, expected)

    def arm_by_arm(self) -> bool:
        """Whether arms are explored one by one: no option of the switch test is given."""
        learns = self.greedy is None or self.greedy.learns_at_once()
        return learns and all(getattr(self, name) == ABSENT[name] for name in ABSENT)

    def exploring_policy(self) -> Policy:
        """The policy that explores after a switch, where there is one."""
        fallback = OLSBandit() if self.fallback is None else self.fallback
        if isinstance(fallback, OLSBandit) and fallback.warmup == AUTO:
            return replace(fallback, warmup="none")
        return fallback

    def carried_over(self) -> bool | str:
        """What a switch hands to the fallback."""
        if self.carry_over is not None:
            return self.carry_over
        return not self.exploring_policy().learns_prior()

    def answer_to_alarms(self) -> str:
        """What it does at an alarm, by name."""
        if self.on_alarm is not None:
            return self.on_alarm
        return ExploreArm.name if self.arm_by_arm() else Explore.name

    def greedy_policy(self) -> Greedy | GLMGreedy:
        """The policy of the greedy phase."""
        greedy = self.greedy or Greedy(
            warmup=self.warmup, initial_pulls=self.initial_pulls, rule=self.rule
        )
        if greedy.warmup == AUTO and not self.arm_by_arm():
            return replace(greedy, warmup="none")
        return greedy

    def reward_link(self) -> type[Link]:
        """The link of the greedy phase."""
        return self.greedy_policy().reward_link()

    def needs_truth(self) -> bool:
        """Whether the fallback does."""
        return self.exploring_policy().needs_truth()

    def informed(self, parameters: FloatArray) -> Self:
        """With a fallback that knows what it asks for."""
        if self.fallback is None:
            return self
        return replace(self, fallback=self.fallback.informed(parameters))

    @classmethod
    def examples(cls) -> Sequence[GreedyFirst]:
        """Every option varied; each other policy is a fallback in the checks by itself."""
        # λ₀ = 0.5 trips the test soon after t₀, so that fallbacks have most of a run to themselves.
        soon: dict[str, Any] = {"warmup": "pinv", "t0": 30, "lambda0": 0.5}
        bandit = OLSBandit(warmup="pinv", initial_pulls=3, refresh="scheduled")
        return [
            cls(),
            cls(initial_pulls=2, on_alarm="explore"),
            cls(on_alarm="drop"),
            cls(rule=1),
            cls(greedy=GLMGreedy(initial_pulls=1)),
            cls(fallback=OLSBandit()),
            cls(warmup="ridge", initial_pulls=4, t0=40, lambda0=0.01, test_after=50),
            cls(warmup="pinv", t0=25, span="pooled", lambda0_minimum=1e-3),
            cls(**soon, span="pooled", carry_over=True, fallback=OLSBandit(h=0.5, q=2)),
            cls(**soon, span="full", on_alarm="drop"),
            cls(**soon, span="full", on_alarm="hold"),
            cls(**soon, carry_over=False, fallback=Greedy(warmup="ridge", initial_pulls=1)),
            cls(**soon, initial_pulls=3, carry_over="initial", fallback=bandit),
            cls(
                greedy=GLMGreedy(warmup="none", initial_pulls=3),
                t0=30,
                lambda0=0.5,
                fallback=GLMUCB(b_max=0.5, reward_max=0.01),
            ),
            cls(
                greedy=GLMGreedy(initial_pulls=2),
                t0=30,
                lambda0=0.5,
                carry_over="initial",
                fallback=GLMUCB(b_max=0.5, reward_max=0.01),
            ),
            cls(
                greedy=GLMGreedy(),
                t0=30,
                lambda0=0.5,
                carry_over=False,
                fallback=GLMGreedy(warmup="none"),
            ),
        ]

    def options(self, n_arms: int, n_features: int) -> Options:
        """The options, for the kernels of the paper's algorithm or for those arm by arm."""
        values = self.option_values(n_arms, n_features)
        if not self.arm_by_arm():
            return options_of(type(self), values)
        return options_of(ArmByFirstRule if self.rule == FIRST_RULE else ArmByArm, values)

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, those of both phases, the test's and the answer's among them."""
        answer = self.answer_to_alarms()
        t0 = 4 * n_arms * n_features if self.t0 is None else int(self.t0)
        test = {
            "t0": t0,
            "lambda0": 0.0 if self.lambda0 is None else float(self.lambda0),
            "span": SPANS.index(_given(self.span, SPAN)),
            "on_alarm": options_of(ANSWERS[answer]),
            "lambda0_minimum": float(self.lambda0_minimum),
            "test_after": t0 if self.test_after is None else int(self.test_after),
            "statistic": STATISTICS[_given(self.statistic, STATISTIC)].options(),
        }
        greedy = self.greedy_policy().options(n_arms, n_features)
        if self.arm_by_arm():
            explores_arms = ANSWERS[answer].explores_arm
            return {
                "greedy": greedy,
                "explores_arms": explores_arms,
                "test": Options("test", test),
            }
        return {
            "greedy": greedy,
            "fallback": self.exploring_policy().options(n_arms, n_features),
            "carry_over": carry_over_code(self.carried_over()),
            "test": Options("test", test),
        }

    def watch(self, state: GreedyFirstState | ArmByArmState) -> Watch:
        """The watch over its arms' samples."""
        return state.watch

    def answers(self) -> tuple[str, ...]:
        """All, but the paper's algorithm explores all arms at once."""
        alone = self.arm_by_arm()
        return tuple(name for name, each in ANSWERS.items() if alone or not each.explores_arm)

    def answering(self, on_alarm: str) -> Self:
        """With this answer to its alarms."""
        return replace(self, on_alarm=on_alarm)

    def untested_rounds(self, n_arms: int, n_features: int) -> int:
        """The rounds before the test begins; a λ₀ that is given need not be estimated at t₀."""
        test = self.options(n_arms, n_features).test
        return int(test.test_after if self.lambda0 else max(test.t0, test.test_after))

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GreedyFirstState:
        """The state before the first decision."""
        greedy = kernels.init(policy.greedy, n_arms, n_features, memory)
        samples = linear_part(greedy.model)
        return GreedyFirstState(
            memory,
            greedy=greedy,
            fallback=kernels.init(policy.fallback, n_arms, n_features, memory),
            watch=watch.init(memory, n_arms, n_features, policy.test, samples),
            scores=greedy.scores,
            samples=warm_start.init(memory, policy, n_arms, n_features),
            summary=Summary(memory, samples=samples, d=n_features),
            n_arms=n_arms,
        )

    @staticmethod
    @inline_kernel
    def score(
        policy: Any, state: GreedyFirstState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """Greedy's scores, or the fallback's after a switch, without the arms that were dropped."""
        watched, scores = state.watch, state.scores
        allowed = watch.left(watched, eligible, state.allowed)
        if watched.explores:
            own_step = warm_start.own_step(policy, state, step)
            due = kernels.score(policy.fallback, state.fallback, own_step, context, allowed)
            copy(state.fallback.scores.value, scores.value)
            copy(state.fallback.scores.spread, scores.spread)
            scores.random_share = state.fallback.scores.random_share
            scores.rounding = state.fallback.scores.rounding
            scores.stated = state.fallback.scores.stated
        else:
            due = kernels.score(policy.greedy, state.greedy, step, context, allowed)
        watch.rule_out(watched, allowed, scores)
        return due

    @staticmethod
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
        watched = state.watch
        kernels.update(policy.greedy, state.greedy, step, context, arm, reward)
        warm_start.keep(policy, state, step, context, arm, reward)
        watched.clock += 1
        if watched.explores:
            own_step = warm_start.own_step(policy, state, step)
            kernels.update(policy.fallback, state.fallback, own_step, context, arm, reward)
        watch.see(watched, context)
        if watched.clock > watched.next_test and not watched.explores:
            watch.test(watched)
            if watched.explores:
                phases.switch(policy, state, step)


def _given(value: Any, otherwise: Any) -> Any:
    """An option's value, or what stands for None."""
    return otherwise if value is None else value
