"""A policy that runs: its options and state in memory, and the names of its arms and features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyfirst.agent import stored_state
from greedyfirst.agent.contexts import ContextReader
from greedyfirst.agent.loops import GIVEN, Workspace, decide, learn
from greedyfirst.agent.noise_sums import folding, new_noise
from greedyfirst.agent.rewarded_steps import RewardedSteps
from greedyfirst.compiling.calls import argument, compiled
from greedyfirst.compiling.kernels import Function
from greedyfirst.compiling.records import allocate
from greedyfirst.policies import initial_pulls as first_pulls
from greedyfirst.policies.greedy_first.warm_start import INITIAL
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import Policy
from greedyfirst.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    listed,
    names,
    whole_number,
    wrong,
)

if TYPE_CHECKING:
    from greedyfirst.tables.schema import Schema

#: An arm: its number, or its name.
Arm = int | str

FIRST_ROOM = 1024


class RunningPolicy:
    """What the parts of an agent share. Options are those of :class:`~greedyfirst.Agent`."""

    def __init__(
        self,
        policy: Policy,
        *,
        arms: Iterable[str] | None = None,
        schema: Schema | None = None,
        features: Iterable[str] | None = None,
        n_arms: int | None = None,
        n_features: int | None = None,
        arm_names: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
        seed: int | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise wrong("policy", policy, "a policy, for example Greedy()")
        self.arm_names = _sized_names("arm", arms, n_arms, arm_names, "arm {}")
        if schema is not None:
            _check_schema(schema, n_features, feature_names, features)
            feature_names, n_features = schema.feature_names, schema.n_features
        self.feature_names = _sized_names("feature", features, n_features, feature_names, "x{}")
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self.policy = policy
        self.seed = whole_number("seed", seed, at_least=0, at_most=2**63 - 1)
        named = features is not None or feature_names is not None
        self._reader = ContextReader(self.feature_names, named=named, schema=schema)
        #: Whether arms are told by name: they were given so.
        self._tells_names = arms is not None
        #: Decisions made, rewards of them joined, and rows taken in that were not decided here.
        self.decisions = self.joined = self.foreign = 0
        #: The decisions with a reward; None while they are the first ones, in order.
        self._rewarded: RewardedSteps | None = None
        #: Rewards that the state has room for, if it keeps them one by one: doubled when full.
        self.room = FIRST_ROOM
        #: The arm of the last ``choose``, and whether only some arms were eligible for it.
        self._chosen: int | None = None
        self._restricted = False
        self._link = policy.reward_link()
        self._dropped = np.zeros(self.n_arms, bool)
        self._allocate()

    def _allocate(self) -> None:
        """Make the state for the current arms, and the compiled calls that work on it."""
        n_arms, n_features = len(self.arm_names), len(self.feature_names)
        policy, seed = self.policy, self.seed
        self.options = policy.options(n_arms, n_features)
        self.buffer, self.state = new_state(self.options, n_arms, n_features, self.room)
        self._watch = policy.watch(self.state)
        self.noise_buffer, self.noise = new_noise(self.state, n_arms, n_features)
        parts = {"policy": self.options, "state": self.state, "noise": self.noise}
        sizes = {"n_arms": n_arms, "d": n_features}
        _, work = allocate(lambda memory: Workspace(memory, **parts, **sizes))
        work.eligible[:] = work.eligible_once[:] = 1.0
        self._work, self._eligible = work, work.eligible
        self._given_work = argument(work) if policy.is_compiled() else work
        #: The shape of an array that is a context as it is; with a schema none is.
        self._shape = (n_features,) if self.schema is None else ()
        self._decide = compiled(self._loop(decide), work, 1, GIVEN, 0, seed)
        self._learn = compiled(self._loop(learn), work, 1, GIVEN, 0, 0.0)
        self._folding: Callable[[int], None] | None = None

    def _fold(self, arm: int) -> None:
        """Take an arm's waiting rows into the sums of its noise, if its window is full."""
        if self._folding is None:
            self._folding = folding(self.noise, self.state)
        self._folding(arm)

    def _loop(self, function: Function) -> Function:
        return loop_for(function, self.policy, self.options, self.state)

    def _make_room(self, more: int) -> None:
        """See that the state can keep this many more rewards."""
        if self.rewards + more <= self.room:
            return
        while self.rewards + more > self.room:
            self.room *= 2
        self._move()

    def _move(self) -> None:
        """Go on with the same state in other memory, for the policy, arms and room as they are."""
        before, noise, eligible = self.state, self.noise, self._eligible
        self._allocate()
        stored_state.fill(self.state, dict(before.arrays()))
        stored_state.fill(self.noise, dict(noise.arrays()))
        self._eligible[: len(eligible)] = eligible

    @property
    def schema(self) -> Schema | None:
        """What makes numbers of raw rows, if the agent takes those."""
        return self._reader.schema

    @property
    def n_arms(self) -> int:
        """How many arms there are, dropped ones included."""
        return len(self.arm_names)

    @property
    def n_features(self) -> int:
        """How long a context is."""
        return len(self.feature_names)

    @property
    def dropped(self) -> BoolArray:
        """Which arms are never chosen any more (n_arms,)."""
        return self._dropped.copy() if self._watch is None else self._dropped | self._watch.dropped

    @property
    def rewards(self) -> int:
        """Rewards learned from so far."""
        return self.joined + self.foreign

    @property
    def pulls(self) -> IntArray:
        """How many rewards each arm has learned from (n_arms,)."""
        return np.asarray(self._model("to count its samples").pulls)

    def _model(self, purpose: str) -> Any:
        """What the policy has learned, if it keeps a model."""
        model = getattr(self.state, "model", None)
        if model is None:
            raise wrong("policy", self.policy, f"one that keeps a model, {purpose}")
        return model

    def _first_pulls(self) -> int:
        """Pulls that the policy gives each arm before its first own choice."""
        options = self.options if self._watch is None else self.options.greedy
        return int(getattr(options, "initial_pulls", 0))

    def _count_history(self) -> None:
        """Before the first decision: plan only the first pulls that history has not got.

        An arm's missing pulls then follow one another. First pulls that are forced samples, of OLS
        Bandit or handed over to a fallback, stay as they are: history is none.
        """
        greedy: Any = self.state if self._watch is None else self.state.greedy
        plan, own = getattr(greedy, "initial", None), self._first_pulls()
        handed = getattr(self.options, "carry_over", None) == INITIAL
        if plan is None or own == 0 or handed or hasattr(greedy, "forced"):
            return
        first_pulls.clear(plan, 0)
        for arm, pulls in enumerate(greedy.model.pulls.tolist()):
            if pulls < own:
                first_pulls.admit(plan, arm, 0, own - pulls, 0)

    # ---------------------------------------------------------------- arms by number and name

    def _arm(self, arm: Arm, argument: str = "arm") -> int:
        """An arm's number, from its number or name."""
        if isinstance(arm, str):
            if arm not in self.arm_names:
                raise wrong(argument, arm, f"one of {', '.join(self.arm_names)}")
            return self.arm_names.index(arm)
        try:
            return whole_number(argument, arm, at_least=0, at_most=self.n_arms - 1)
        except ValueError:
            expected = f"one of the arms 0 to {self.n_arms - 1}"
            raise wrong(argument, arm, expected) from None

    def _arms(self, arms: Any, length: int) -> IntArray:
        """Arms' numbers (length,), from numbers or names."""
        if (
            getattr(getattr(arms, "dtype", None), "kind", None) in ("i", "u")
            and len(arms) == length
        ):
            chosen = np.asarray(arms).astype(np.int64)
            if chosen.ndim == 1 and ((chosen >= 0) & (chosen < self.n_arms)).all():
                return chosen
        items = listed(arms)
        if items is None or len(items) != length:
            raise wrong("arms", arms, f"{length} arms, by number or name")
        return np.array([self._arm(arm, f"arms[{i}]") for i, arm in enumerate(items)], np.int64)

    def _told(self, arm: int) -> Any:
        """An arm as the agent tells it: by number, or by name where arms were given so."""
        return self.arm_names[arm] if self._tells_names else arm

    def _mask(self, eligible: Any) -> FloatArray:
        """1 for eligible arms that are not dropped."""
        if isinstance(eligible, str) or not isinstance(eligible, Iterable):
            raise wrong("eligible", eligible, "a sequence of arms")
        chosen = np.zeros(self.n_arms)
        for arm in eligible:
            chosen[self._arm(arm, "eligible")] = 1.0
        chosen[self.dropped] = 0.0
        if not chosen.any():
            raise wrong("eligible", eligible, "at least one arm that has not been dropped")
        return chosen


def _sized_names(
    kind: str, given: Any, count: int | None, chosen: Any, usual: str
) -> tuple[str, ...]:
    """Names from ``arms``, or from ``n_arms`` and perhaps ``arm_names``; features likewise."""
    if given is not None:
        for other, value in ((f"n_{kind}s", count), (f"{kind}_names", chosen)):
            if value is not None:
                raise wrong(other, value, f"left out beside {kind}s, which has the names")
        return names(f"{kind}s", given)
    if count is None and kind == "arm":
        raise wrong("n_arms", count, "a whole number, or left out where arms= has the names")
    if count is None:
        expected = "a whole number, or left out where features= or schema= has the names"
        raise wrong("n_features", count, expected)
    count = whole_number(f"n_{kind}s", count, at_least=1)
    numbered = [usual.format(i) for i in range(count)]
    return names(f"{kind}_names", numbered if chosen is None else chosen, count)


def _check_schema(schema: Any, n_features: Any, feature_names: Any, features: Any) -> None:
    from greedyfirst.tables.schema import Schema

    if not isinstance(schema, Schema):
        raise wrong("schema", schema, "a Schema, for example infer_schema(frame)")
    given = {"n_features": n_features, "feature_names": feature_names, "features": features}
    for name, value in given.items():
        if value is not None:
            raise wrong(name, value, "left out beside schema, which has the features")
