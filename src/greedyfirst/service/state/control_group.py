"""The control share of a deployment: which decisions go to current practice, and what came of them.

A decision is in one group, drawn by (seed, step). Where current practice is an arm that may not be
given, the policy decides, and the decision is in neither group: it is left out of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from greedyfirst.agent import Agent
from greedyfirst.evaluation.control import Comparison, Group, in_control
from greedyfirst.service.log.events import Decided
from greedyfirst.service.state.policy_description import Control
from greedyfirst.service.state.specification import Features, Specification
from greedyfirst.validation import FloatArray

#: Draws of the control share's policy are those of another seed than the main policy's.
SEED = int.from_bytes(b"control")


class GroupCounts(Struct):
    """Decisions by group, and those of them that wait for their reward."""

    policy: int = 0
    control: int = 0
    left_out: int = 0
    #: Of pending decisions, by step; all others are the policy's.
    waiting_in_control: set[int] = set()
    waiting_left_out: set[int] = set()

    def add(self, step: int, group: Group | None) -> None:
        """A decision of this group."""
        if group == "policy":
            self.policy += 1
        elif group == "control":
            self.control += 1
            self.waiting_in_control.add(step)
        else:
            self.left_out += 1
            self.waiting_left_out.add(step)

    def wait_no_more(self, step: int) -> None:
        """A decision has its reward, or its wait is over."""
        self.waiting_in_control.discard(step)
        self.waiting_left_out.discard(step)

    def copied(self) -> GroupCounts:
        """A copy that later changes leave alone."""
        return GroupCounts(
            policy=self.policy,
            control=self.control,
            left_out=self.left_out,
            waiting_in_control=set(self.waiting_in_control),
            waiting_left_out=set(self.waiting_left_out),
        )


class Drawn(NamedTuple):
    """What the control share makes of a decision."""

    group: Group | None
    #: The probability with which each arm is taken, whichever group was drawn (n_arms,).
    propensities: FloatArray
    #: In the control group: the arm, and the decision's number among those of the control's policy.
    arm: int | None = None
    control_step: int | None = None


@dataclass
class ControlGroup:
    """The state of a control share."""

    specification: Control
    seed: int
    comparison: Comparison
    #: Of current practice, where that is a policy.
    agent: Agent | None
    counts: GroupCounts = field(default_factory=GroupCounts)

    @classmethod
    def begin(
        cls, specification: Specification, seed: int, encoding: Features
    ) -> ControlGroup | None:
        """Before the first decision; None where the specification has no control share."""
        control = specification.control
        if control is None:
            return None
        limits = specification.reward_range if specification.rewards == "first" else None
        comparison = Comparison(
            share=control.share,
            low=None if limits is None else limits.low,
            high=None if limits is None else limits.high,
        )
        agent = specification.made_control_agent(seed ^ SEED, encoding)
        return cls(control, seed, comparison, agent)

    @property
    def learned(self) -> int:
        """Decisions of the control group whose reward the main policy has learned."""
        return self.comparison.control.count if self.specification.learn else 0

    @property
    def not_learned(self) -> int:
        """Decisions of the control group whose reward it has not learned, as was asked for."""
        return 0 if self.specification.learn else self.comparison.control.count

    def learns_from(self, decided: Decided) -> bool:
        """Whether the main policy learns from a decision."""
        return self.specification.learn or decided.answer.group != "control"

    def draw(self, main: Agent, encoded: FloatArray, eligible: Sequence[str] | None) -> Drawn:
        """Draw the group of the decision that the main policy's agent has just made."""
        share, step, own = self.specification.share, main.decisions, main.propensities
        allowed = self._allowed(main, eligible)
        control = in_control(self.seed, step, share)
        if self.agent is None:
            if self.specification.arm not in allowed:
                self.counts.add(step, None)
                return Drawn(None, own)
            arm, number = main.arm_names.index(self.specification.arm), None
            chances = np.arange(main.n_arms) == arm
        else:
            arm = self.agent.choose(encoded, eligible=allowed)
            number, chances = self.agent.decisions, self.agent.propensities
            if not control:  # it did not decide: its next decision has this number
                self.agent.decisions -= 1
        mixed = share * chances + (1 - share) * own
        self.counts.add(step, "control" if control else "policy")
        return Drawn("control", mixed, arm, number) if control else Drawn("policy", mixed)

    def _allowed(self, main: Agent, eligible: Sequence[str] | None) -> list[str]:
        """The arms that may be given: what people dropped or retired is so for both groups."""
        dropped = main.dropped
        in_use = [arm for arm, out in zip(main.arm_names, dropped, strict=True) if not out]
        return in_use if eligible is None else [arm for arm in in_use if arm in eligible]

    def pass_over(self, decided: Decided) -> None:
        """Take a decision of the log as it is, without making it again."""
        self.counts.add(decided.answer.step, decided.answer.group)
        self.number(decided)

    def number(self, decided: Decided) -> None:
        """The control's policy goes on after this decision, if it was its own."""
        if self.agent is not None and decided.control_step is not None:
            self.agent.decisions = decided.control_step

    def learn(self, decided: Decided, encoded: FloatArray, reward: float) -> None:
        """Compare the reward of a decision; the control's policy learns it, if it was its own."""
        answer = decided.answer
        if answer.group is not None:
            self.comparison.add(answer.group, reward)
        if self.agent is not None and decided.control_step is not None:
            self.agent.update(encoded, answer.arm, reward, step=decided.control_step)

    def adopt(self, successor: ControlGroup) -> None:
        """Take over what was learned and compared again."""
        self.agent, self.comparison = successor.agent, successor.comparison
