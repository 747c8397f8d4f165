"""The decision service as its documents tell it, in memory and without a log: the judge of tests.

What is learned, and by which arm a context is answered, is left to the library's own ``Agent``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from greedyfirst import Agent, GreedyFirst

WAIT = 10.0


@dataclass
class Decision:
    """A decision and what came of it."""

    context: dict[str, Any]
    arm: str
    deadline: float
    rewards: dict[str, float] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    #: What people said the rewards were, by part; None: void.
    corrected: dict[str, float | None] = field(default_factory=dict)
    open: bool = True

    def value(self, default: float | None) -> float | None:
        """What is learned from it once it is not open any more; None for nothing."""
        if not self.rewards:
            return default
        stands = [self.corrected.get(part, value) for part, value in self.rewards.items()]
        left = [value for value in stands if value is not None]
        return sum(left) if left else None


class Reference:
    """One policy with arms, rewards that wait, and features x (number), s (f or m), later w.

    It is Greedy-First as it comes, arm by arm, or with options the paper's.
    """

    def __init__(
        self, *, summed: bool, default: float | None, seed: int, options: dict[str, Any]
    ) -> None:
        self.summed, self.default, self.seed = summed, default, seed
        self.options = options
        self.version, self.now = 1, 0.0
        self.decisions: list[Decision] = []
        #: All that ever happened to the agent.
        self.past: list[Callable[[], object]] = []
        self.counts = {"late": 0, "imported": 0}
        #: Arms with an alarm that nobody has answered.
        self.open: set[str] = set()
        #: Arms whose newest alarm a person has answered, or the policy itself.
        self.by_person: set[str] = set()
        self.by_policy: set[str] = set()
        self.arms = ("a", "b", "c")
        self.agent = self._new_agent(self.arms)

    def _new_agent(self, arms: tuple[str, ...]) -> Agent:
        names = ("intercept", "x", "s=m", "w")[: 3 + (self.version > 1)]
        policy = GreedyFirst(on_alarm="hold", **self.options)
        return Agent(
            policy,
            n_arms=len(arms),
            n_features=len(names),
            seed=self.seed,
            arm_names=arms,
            feature_names=names,
        )

    def encoded(self, context: dict[str, Any]) -> Any:
        numbers = [1.0, float(context["x"]), float(context["s"] == "m")]
        if self.version > 1:
            numbers.append(float(context.get("w", 0.5)))
        return np.array(numbers)

    @property
    def in_use(self) -> list[str]:
        dropped = self.agent.dropped
        return [name for name, gone in zip(self.agent.arm_names, dropped, strict=True) if not gone]

    def _do(self, act: Callable[[], object]) -> None:
        """Do it to the agent, and again when it has other features."""
        act()
        self.past.append(act)

    def decide(self, context: dict[str, Any], eligible: list[str] | None) -> str:
        arm = self.agent.arm_names[self.agent.choose(self.encoded(context), eligible=eligible)]
        self.decisions.append(Decision(context, arm, self.now + WAIT))
        step = len(self.decisions)
        self._do(lambda: setattr(self.agent, "decisions", step))
        return arm

    def reward(self, step: int, part: str, value: float) -> int | str:
        """ "counted", "duplicate" or "late", or the HTTP status of a refusal."""
        if not 1 <= step <= len(self.decisions):
            return 404
        if part and not self.summed:
            return 422
        decision = self.decisions[step - 1]
        for known, outcome in ((decision.rewards, "duplicate"), (decision.late, "late")):
            if part in known:
                stands = decision.corrected.get(part, known[part])
                return outcome if value in (known[part], stands) else 409
        if not decision.open:
            decision.late[part] = value
            self.counts["late"] += 1
            return "late"
        decision.rewards[part] = value
        if not self.summed:
            self._learn(step)
        return "counted"

    def correct(self, step: int, part: str, value: float | None) -> int:
        if not 1 <= step <= len(self.decisions):
            return 404
        decision = self.decisions[step - 1]
        came = decision.rewards | decision.late
        if part not in came or decision.corrected.get(part, came[part]) == value:
            return 409
        decision.corrected[part] = value
        if part in decision.rewards and not decision.open:
            self._relive()
        return 201

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for step, decision in enumerate(self.decisions, start=1):
            if decision.open and self.now > decision.deadline:
                self._learn(step)

    def _learn(self, step: int) -> None:
        """Learn what stands of a decision's reward, also when its past is lived again."""
        decision = self.decisions[step - 1]
        decision.open = False

        def learn() -> None:
            value = decision.value(self.default)
            if value is not None:
                self._update_agent(decision.context, decision.arm, value, step)

        self._do(learn)

    def _update_agent(self, context: dict[str, Any], arm: str, value: float, step: int) -> None:
        """Learn; who has raised an alarm by that, and who needs no answer any more?"""
        before = [each.tripped_at for each in self.agent.diversity().arms]
        self.agent.update(self.encoded(context), arm, value, step=step)
        for each, was in zip(self.agent.diversity().arms, before, strict=True):
            if was is not None and each.tripped_at is None and each.name in self.open:
                self.open.remove(each.name)
                self.agent.watch_again(each.name)
            elif each.tripped_at is not None and each.tripped_at != was:
                self.by_person.discard(each.name)
                self.by_policy.discard(each.name)
                if each.explored:
                    self.agent.watch_again(each.name, anew=False)
                    self.by_policy.add(each.name)
                else:
                    self.open.add(each.name)

    def bring(self, rows: list[tuple[dict[str, Any], str, float]]) -> None:
        for context, arm, value in rows:
            self._do(partial(self._update_agent, context, arm, value, 0))
        self.counts["imported"] += len(rows)

    def resolve(self, arm: str, resolution: str, change: bool) -> int:
        if arm not in self.agent.arm_names:
            return 404
        if arm not in self.in_use or (arm in self.by_person and not change):
            return 409
        if resolution == "drop" and self.in_use == [arm]:
            return 409
        if resolution.startswith("explore") and not self._can_explore(arm, resolution):
            return 409
        answered = (self.open if resolution == "explore" else self.open & {arm}) | (
            self.by_policy & {arm}
        )
        self._do(lambda: self._resolve(arm, resolution))
        self.by_person |= answered
        self.by_policy -= answered
        return 201

    def _can_explore(self, arm: str, resolution: str) -> bool:
        if resolution == "explore":
            return not self.agent.explores
        explored = {each.name for each in self.agent.diversity().arms if each.explored}
        return not self.options and arm in self.in_use and arm not in explored

    def _resolve(self, arm: str, resolution: str) -> None:
        """Answer; when that is done again with other features it may be so already."""
        if resolution.startswith("explore") and not self._can_explore(arm, resolution):
            return
        if resolution == "explore":
            for name in self.open if not self.options else ():
                self.agent.watch_again(name, anew=False)
            self.open.clear()
        self.agent.answer(resolution, arm)
        self.open.discard(arm)

    def retire(self, arm: str) -> int:
        if arm not in self.agent.arm_names:
            return 404
        if self.in_use == [arm] or arm not in self.in_use:
            return 409
        self._do(lambda: self._retire(arm))
        return 201

    def _retire(self, arm: str) -> None:
        self.agent.retire_arm(arm)
        self.open.discard(arm)

    def reinstate(self, arm: str) -> int:
        if arm not in self.agent.arm_names:
            return 404
        if arm in self.in_use:
            return 409
        self._do(lambda: self.agent.reinstate_arm(arm))
        return 201

    def add(self, arm: str) -> int:
        if arm in self.agent.arm_names:
            return 409
        self._do(lambda: self.agent.add_arm(arm))
        return 201

    def add_feature(self) -> None:
        """The feature w, which had been 0.5; all that happened happens again."""
        self.version = 2
        self._relive()

    def _relive(self) -> None:
        """All that happened happens again."""
        self.agent = self._new_agent(self.arms)
        self.open.clear()
        settled = set(self.by_person), set(self.by_policy)
        for act in self.past:
            act()
        self.by_person, self.by_policy = (arms - self.open for arms in settled)

    def expected_view(self) -> dict[str, Any]:
        """What the service must show of the policy."""
        report = self.agent.diversity()
        over = [decision for decision in self.decisions if not decision.open]
        learned = [decision.value(self.default) is not None for decision in over]
        unlearned = [decision for decision, known in zip(over, learned, strict=True) if not known]
        return self.counts | {
            "decisions": len(self.decisions),
            "joined": sum(learned),
            "defaulted": sum(
                known and not decision.rewards
                for decision, known in zip(over, learned, strict=True)
            ),
            "missing": sum(not (each.rewards or each.late) for each in unlearned),
            "too_late": sum(not each.rewards and bool(each.late) for each in unlearned),
            "voided": sum(bool(each.rewards) for each in unlearned),
            "pending": sum(decision.open for decision in self.decisions),
            "schema_version": self.version,
            "mode": report.mode,
            "arms": [
                {"name": arm.name, "pulls": arm.pulls, "in_use": arm.name in self.in_use}
                for arm in report.arms
            ],
        }
