"""What the decision-maker may tell an agent: answers to alarms, arms that leave or join."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.agent.running_policy import Arm, RunningPolicy
from greedyfirst.models.linear_part import admit
from greedyfirst.policies import initial_pulls as first_pulls
from greedyfirst.policies.greedy_first import ANSWERS, phases, watch
from greedyfirst.policies.greedy_first.arm_by_arm import ArmWatch
from greedyfirst.validation import choice, names, whole_number, wrong


class DecisionMaker(RunningPolicy):
    """The part of an agent that carries out what people decide about its arms."""

    def drop_arm(self, arm: Arm) -> None:
        """Never choose this arm again; Greedy-First goes on greedily without it."""
        if self._watch is None:
            self._forgo(self._arm(arm), arm)
        else:
            self.answer("drop", arm)

    def retire_arm(self, arm: Arm) -> None:
        """Never choose this arm again, and change nothing else: whoever decides goes on."""
        retired = self._arm(arm)
        self._forgo(retired, arm)
        if self._watch is not None:
            watch.leave_out(self._watch, retired, dropped=True)

    def reinstate_arm(self, arm: Arm) -> None:
        """Let a dropped or retired arm be chosen again.

        What was learned of it stands. Greedy-First tests it as a new arm: t₀ rewards later.
        """
        number = self._arm(arm)
        if not self.dropped[number]:
            raise wrong("arm", arm, "an arm that has been dropped or retired")
        self._dropped[number] = False
        self._eligible[number] = 1.0
        watched = self._watch
        if watched is None:
            return
        watched.dropped[number] = False
        if isinstance(watched, ArmWatch):
            watched.explored[number] = self.options.explores_arms
        watched.since[number] = watched.clock
        phases.watch_again(watched, number, anew=True)

    def keep_greedy(self, arm: Arm) -> None:
        """Go on greedily in spite of this arm's alarm, and do not test it any more."""
        self._watched("keep_greedy")
        self.answer("hold", arm)

    def explore(self) -> None:
        """Explore all arms from now on: the fallback decides, where there is one."""
        self._watched("explore")
        self.answer("explore", 0)

    def answer(self, answer: str, arm: Arm) -> None:
        """Answer an alarm about this arm, by the answer's name.

        "explore_arm" explores it while it starves (without a fallback), "explore" all arms; "drop"
        and "hold" go on greedily, without it or with it.
        """
        self._watched("answer")
        chosen, number = ANSWERS[choice("answer", answer, self.policy.answers())], self._arm(arm)
        if chosen.drops_arm:
            self._forgo(number, arm)
        chosen.apply(self, number)

    def watch_again(self, arm: Arm, *, anew: bool = True) -> None:
        """Test this arm again, whose alarm had been left to the decision-maker.

        Where arms are explored one by one, ``anew=False`` lets its alarm stand: the next one is
        raised when it starves after it has been fed.
        """
        number = self._arm(arm)
        watched = self._watched("watch_again")
        if self.dropped[number]:
            raise wrong("arm", arm, "an arm that has not been dropped")
        phases.watch_again(watched, number, anew=anew)

    def answer_alarms(self, on_alarm: str) -> None:
        """From now on, ``on_alarm`` is what Greedy-First does at an alarm."""
        self._watched("answer_alarms")
        with self._whole_or_not_at_all():
            self.policy = self.policy.answering(on_alarm)
            self._move()
        if self._watch is not None:
            phases.explore_starving(self._watch, getattr(self.options, "explores_arms", False))

    def _forgo(self, number: int, arm: Arm) -> None:
        already = self.dropped
        if already.sum() + 1 >= self.n_arms and not already[number]:
            raise wrong("arm", arm, "an arm other than the last one that is left")
        self._dropped[number] = True
        self._eligible[number] = 0.0

    def _watched(self, answer: str) -> watch.Watch:
        if self._watch is None:
            raise wrong("policy", self.policy, f"GreedyFirst for {answer}(): others raise no alarm")
        return self._watch

    def add_arm(self, name: str | None = None, *, initial_pulls: int | None = None) -> Any:
        """Add an arm at run time; returns it as ``choose`` would.

        Policies that only exploit give it ``initial_pulls`` pulls first: those of the policy, or
        n_features if that is 0, since an arm without samples would never be found out.
        Greedy-First tests it only t₀ rewards later.
        """
        added = f"arm {self.n_arms}" if name is None else name
        arm_names = names("name", (*self.arm_names, added), self.n_arms + 1)
        own = self._first_pulls() or self.n_features
        pulls = (
            own
            if initial_pulls is None
            else whole_number("initial_pulls", initial_pulls, at_least=0)
        )
        with self._whole_or_not_at_all():
            self.arm_names = arm_names
            self._dropped = np.append(self._dropped, False)
            self._move()
            admit(self.state, self.n_arms - 1)
            if self._watch is not None:
                phases.admit(self, pulls)
            elif hasattr(self.state, "initial"):
                arm, own = self.n_arms - 1, self.options.initial_pulls
                first_pulls.admit(self.state.initial, arm, self.decisions, pulls, own)
        return self._told(self.n_arms - 1)
