"""Greedy Bandit for generalised linear rewards (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from greedyfirst.compiling.families import options_of
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, part
from greedyfirst.links.link import Link, find_link
from greedyfirst.models import centred_likelihood, generalized_linear
from greedyfirst.models.generalized_linear import WARMUPS
from greedyfirst.models.likelihood import GeneralizedLinear
from greedyfirst.models.linear_part import RULE, checked_rule
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.initial_pulls import InitialPulls
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, choice, whole_number, wrong

EXACT = "exact"


def checked_memory(memory: str | int) -> int:
    """Rows that an arm keeps, 0 for all."""
    if isinstance(memory, str):
        if memory != EXACT:
            raise wrong("memory", memory, "'exact' or a whole number of rows of at least 1")
        return 0
    return whole_number("memory", memory, at_least=1)


class GLMGreedyState(Record):
    """Maximum likelihood per arm."""

    model: GeneralizedLinear = part()
    initial: InitialPulls = part()
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class GLMGreedy(Policy):
    r"""Greedy Bandit with :math:`E[Y] = \mu(X_t^\top\beta_i)`: highest estimate, ties at random.

    Estimates are the maximum likelihood estimates of all rewards so far (Algorithm 2), see
    :mod:`greedyfirst.models.generalized_linear`. Rate optimal for two arms under covariate
    diversity (Proposition 1). O(Kd) a decision, O(nd²) an update of an arm that keeps n rows.

    Parameters
    ----------
    link
        ``"logistic"``, ``"probit"``, ``"poisson"``, ``"identity"``, or the name of a link of your
        own.
    warmup
        The estimate until an arm's maximum likelihood estimate exists: ``"none"`` keeps it at 0,
        ``"ridge"`` is a penalised one.
    initial_pulls
        Pulls of each arm, in turns, before the first greedy choice.
    memory
        ``"exact"`` keeps every row: memory and the time of an update grow with them. A number keeps
        at least that many newest rows per arm, in blocks of 64, and older ones in the second-order
        expansion of their likelihood: constant memory and time.
    rule
        2: the ridge is about the features' means, and where there is an intercept, or dummies, no
        shift of a feature changes a decision. 1: it is about 0, as in older releases.

    Examples
    --------
    Of three visitors who saw each page, two and one clicked:

    >>> from greedyfirst import Agent, GLMGreedy
    >>> agent = Agent(GLMGreedy(link="logistic"), n_arms=2, n_features=1, seed=1)
    >>> for arm, clicks in [(0, [1, 1, 0]), (1, [1, 0, 0])]:
    ...     for click in clicks:
    ...         agent.update([1.0], arm, click)
    >>> agent.expected_rewards([1.0]).round(3).tolist()
    [0.667, 0.333]
    """

    exploits: ClassVar[bool] = True
    link: str = "logistic"
    warmup: str = "ridge"
    initial_pulls: int = 0
    memory: str | int = EXACT
    rule: int = RULE

    def __post_init__(self) -> None:
        find_link("link", self.link)
        choice("warmup", self.warmup, WARMUPS)
        whole_number("initial_pulls", self.initial_pulls, at_least=0)
        checked_memory(self.memory)
        checked_rule(self.rule)

    @classmethod
    def examples(cls) -> Sequence[GLMGreedy]:
        """Every option varied."""
        return [
            cls(),
            cls(link="probit", warmup="none", initial_pulls=2),
            cls(link="poisson", memory=1),
            cls(link="identity"),
            cls(rule=1),
        ]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, the link's own among them, and the memory in rows."""
        return {
            **super().option_values(n_arms, n_features),
            "link": options_of(self.reward_link()),
            "warmup": WARMUPS.index(self.warmup),
            "memory": checked_memory(self.memory),
        }

    def learns_at_once(self) -> bool:
        """Whether estimates learn from an arm's first row on, whatever their rank."""
        return self.warmup == WARMUPS[generalized_linear.RIDGE]

    def reward_link(self) -> type[Link]:
        """The link of its rewards."""
        return find_link("link", self.link)

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GLMGreedyState:
        """The state before the first decision."""
        rows = policy.memory
        return GLMGreedyState(
            memory,
            model=centred_likelihood.init(
                memory, n_arms, n_features, policy.link, rows, policy.rule
            ),
            initial=initial_pulls.init(memory, n_arms),
            scores=Scores(memory, n_arms=n_arms),
        )

    @staticmethod
    @kernel
    def score(
        policy: Any, state: GLMGreedyState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """The arm that is due, else -1 and linear scores: expectations have the same order."""
        arm = initial_pulls.due(state.initial, policy.initial_pulls, step, eligible)
        if arm < 0:
            predict(state.model, context, state.scores)
        return arm

    @staticmethod
    @kernel
    def update(
        policy: Any, state: GLMGreedyState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of maximum likelihood."""
        generalized_linear.observe(state.model, policy.warmup, arm, context, reward)
