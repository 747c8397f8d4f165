"""GLM-UCB (Filippi, Cappé, Garivier and Szepesvári): optimism for generalised linear rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from greedyfirst.compiling.families import options_of
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Memory, Record, flag, part
from greedyfirst.compiling.records import number as one_number
from greedyfirst.links.link import Link, find_link
from greedyfirst.models import centred_likelihood, generalized_linear, least_squares
from greedyfirst.models.generalized_linear import WARMUPS
from greedyfirst.models.least_squares import LeastSquares
from greedyfirst.models.likelihood import GeneralizedLinear
from greedyfirst.models.linear_part import RULE, checked_rule
from greedyfirst.numerics.eigenvalues import smallest_eigenpair
from greedyfirst.numerics.matrices import quadratic
from greedyfirst.numerics.vectors import copy
from greedyfirst.policies import initial_pulls
from greedyfirst.policies.glm_greedy import EXACT, checked_memory
from greedyfirst.policies.initial_pulls import InitialPulls
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong

# A smallest eigenvalue below this share of x_max² counts as this: singular features.
FLOOR = 1e-12


class GLMUCBState(Record):
    """Maximum likelihood per arm, and what the radius needs."""

    model: GeneralizedLinear = part()
    #: Whether the first pulls are over, and λ₀ of then.
    settled: bool = flag()
    smallest: float = one_number()
    initial: InitialPulls = part()
    scores: Scores = part()


@kernel
def radius(policy: Any, state: GLMUCBState, step: int) -> float:
    """ρ_t."""
    n_arms, d = state.model.estimate.shape
    size = float(n_arms * d)
    t = max(float(step), 1.0)
    horizon = policy.horizon if policy.horizon > 0.0 else t
    square = policy.x_max * policy.x_max
    smallest = max(state.smallest, FLOOR * square)
    kappa = math.sqrt(3.0 + 2.0 * math.log(1.0 + 2.0 * square / smallest))
    width = 2.0 * size * math.log(t) * max(math.log(2.0 * size * horizon / policy.delta), 0.0)
    result: float = policy.slope_ratio * kappa * math.sqrt(width)
    return result


@kernel
def bound_rewards(policy: Any, state: GLMUCBState, step: int, context: FloatArray) -> None:
    """Upper confidence bounds of all arms."""
    model, value = state.model, state.scores.value
    predict(model, context, state.scores)
    generalized_linear.expect(model, value)
    bound = radius(policy, state, step)
    for arm in range(value.shape[0]):
        spread = quadratic(model.linear.inverse[arm], context)
        value[arm] += bound * math.sqrt(max(spread, 0.0))


@kernel
def settle(policy: Any, state: GLMUCBState, step: int) -> None:
    """Take λ₀ once every arm has had its first pulls, or their steps are over."""
    pulls = state.model.linear.pulls
    n_arms = pulls.shape[0]
    fewest = pulls[0]
    for arm in range(1, n_arms):
        fewest = min(fewest, pulls[arm])
    if fewest >= policy.initial_pulls or step > policy.initial_pulls * n_arms:
        state.settled = True
        state.smallest = smallest_eigenvalue(state.model.linear)


@kernel
def smallest_eigenvalue(linear: LeastSquares) -> float:
    """Of all Gram matrices of arms with rows."""
    matrix, work = linear.matrix, linear.other_matrix
    smallest = math.inf
    for arm in range(linear.pulls.shape[0]):
        if linear.pulls[arm] == 0:
            continue
        least_squares.settle(linear, arm)
        gram = linear.settled_gram[arm]
        for i in range(gram.shape[0]):
            copy(gram[i], matrix[i])
        smallest = min(smallest, smallest_eigenpair(matrix, work, linear.gain))
    return max(smallest, 0.0)


@dataclass(frozen=True, kw_only=True)
class GLMUCB(Policy):
    r"""GLM-UCB on the stacked parameter of all arms.

    .. math:: \pi_t = \arg\max_i\ \mu(x^\top\hat\beta_i) + \rho_t\lVert x\rVert_{V_i^{-1}}, \quad
              \rho_t = \frac{2k_\mu\kappa R}{c_\mu}\sqrt{2Kd\log t\,\log(2KdT/\delta)}, \quad
              \kappa = \sqrt{3 + 2\log(1 + 2x_{\max}^2/\lambda_0)}

    with maximum likelihood estimates :math:`\hat\beta_i`, :math:`V_i = \sum xx^\top`, k_μ and c_μ
    the largest and smallest slope of μ on [-x_max·b_max, x_max·b_max], and λ₀ the smallest
    eigenvalue of all V_i at the first reward after which every arm has its first pulls.

    Parameters
    ----------
    link
        As in :class:`~greedyfirst.policies.glm_greedy.GLMGreedy`.
    x_max
        A bound of :math:`\lVert x\rVert`.
    b_max
        A bound of :math:`\lVert\beta_i\rVert`. ``None`` is the true one, which only a simulation
        knows.
    horizon
        T; ``None`` takes t in its place.
    delta
        δ: the confidence sets fail with at most this probability.
    reward_max
        R, a bound of the rewards.
    initial_pulls
        Pulls of each arm, in turns, before the first own choice; ``None`` is n_features.
    warmup, memory, rule
        As in :class:`~greedyfirst.policies.glm_greedy.GLMGreedy`.

    Departures
    ----------
    The estimate is not projected onto the ball of radius b_max. Where contexts do not span
    everything, V_i⁻¹ is a pseudo-inverse and λ₀ at least 10⁻¹²·x_max².

    Examples
    --------
    >>> from greedyfirst import GLMUCB, Agent
    >>> agent = Agent(GLMUCB(initial_pulls=1), n_arms=2, n_features=1, seed=1)
    >>> first_pulls = []
    >>> for _ in range(2):
    ...     arm = agent.choose([1.0])
    ...     first_pulls.append(arm)
    ...     agent.update([1.0], arm, 1)
    >>> sorted(first_pulls)
    [0, 1]
    """

    link: str = "logistic"
    x_max: float = 1.0
    b_max: float | None = 1.0
    horizon: int | None = None
    delta: float = 0.01
    reward_max: float = 1.0
    initial_pulls: int | None = None
    warmup: str = "ridge"
    memory: str | int = EXACT
    rule: int = RULE

    def __post_init__(self) -> None:
        find_link("link", self.link)
        number("x_max", self.x_max, above=0)
        if self.b_max is not None:
            number("b_max", self.b_max, above=0)
        if self.horizon is not None:
            whole_number("horizon", self.horizon, at_least=1)
        number("delta", self.delta, above=0, below=1)
        number("reward_max", self.reward_max, above=0)
        if self.initial_pulls is not None:
            whole_number("initial_pulls", self.initial_pulls, at_least=0)
        choice("warmup", self.warmup, WARMUPS)
        checked_memory(self.memory)
        checked_rule(self.rule)

    @classmethod
    def examples(cls) -> Sequence[GLMUCB]:
        """Every option varied."""
        return [
            cls(x_max=2.0, b_max=0.5),
            cls(
                link="poisson",
                b_max=0.2,
                horizon=150,
                delta=0.1,
                reward_max=0.01,
                initial_pulls=2,
                warmup="none",
                memory=64,
            ),
            cls(x_max=2.0, b_max=0.5, rule=1),
        ]

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options, and the radius's factor 2·k_μ·R/c_μ as ``slope_ratio``."""
        return {
            "link": options_of(self.reward_link()),
            "x_max": float(self.x_max),
            "slope_ratio": self._factor(),
            "horizon": float(self.horizon or 0),
            "delta": float(self.delta),
            "initial_pulls": n_features if self.initial_pulls is None else int(self.initial_pulls),
            "warmup": WARMUPS.index(self.warmup),
            "memory": checked_memory(self.memory),
            "rule": self.rule,
        }

    def _factor(self) -> float:
        if self.b_max is None:
            raise wrong("b_max", None, "a number: only a simulation knows the true one")
        slope, end = self.reward_link().slope, self.x_max * self.b_max
        from scipy.optimize import minimize_scalar  # slow to import, and only needed here

        smallest, largest = sorted([slope(-end), slope(end)])
        factor = math.inf
        if smallest > 0.0 and largest < math.inf:
            # A slope has one peak at most: it is smallest at an end.
            peak = minimize_scalar(lambda z: -slope(z), bounds=(-end, end), method="bounded")
            largest = max(largest, slope(0.0), -float(peak.fun))
            factor = 2.0 * largest / smallest * self.reward_max
        if not math.isfinite(factor):
            expected = f"small enough for the slopes of {self.link} on ±{end:g} to be comparable"
            raise wrong("x_max * b_max", end, expected)
        return factor

    def reward_link(self) -> type[Link]:
        """The link of its rewards."""
        return find_link("link", self.link)

    def needs_truth(self) -> bool:
        """Whether b_max is to be the true one."""
        return self.b_max is None

    def informed(self, parameters: FloatArray) -> Self:
        """With the true b_max where it is asked for."""
        if self.b_max is not None:
            return self
        longest = float(np.sqrt((parameters**2).sum(axis=1)).max())
        return replace(self, b_max=max(longest, np.finfo(float).tiny))

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> GLMUCBState:
        """The state before the first decision."""
        rows = policy.memory
        return GLMUCBState(
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
        policy: Any, state: GLMUCBState, step: int, context: FloatArray, eligible: FloatArray
    ) -> int:
        """The arm that is due, else -1 and upper confidence bounds."""
        arm = initial_pulls.due(state.initial, policy.initial_pulls, step, eligible)
        if arm < 0:
            bound_rewards(policy, state, step, context)
        return arm

    @staticmethod
    @kernel
    def update(
        policy: Any, state: GLMUCBState, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """One row of maximum likelihood, and λ₀ after the last of the first pulls."""
        generalized_linear.observe(state.model, policy.warmup, arm, context, reward)
        if not state.settled:
            settle(policy, state, step)
