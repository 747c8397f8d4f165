"""One decision at a time: a policy, its state, and a seed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.agent.contexts import is_table
from greedyfirst.agent.decision_maker import DecisionMaker
from greedyfirst.agent.estimates import Estimates
from greedyfirst.agent.from_logs import FromLogs
from greedyfirst.agent.loops import FULL, ONCE, USUAL, contribution_loop, decide_many, learn_many
from greedyfirst.agent.rewarded_steps import RewardedSteps
from greedyfirst.agent.running_policy import Arm
from greedyfirst.agent.saving import Saving
from greedyfirst.compiling.calls import compiled, run
from greedyfirst.links import Identity
from greedyfirst.links.link import check_rewards, link_of, means
from greedyfirst.policies.greedy_first.arm_by_arm import ArmWatch
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.policies.selection import selection_probabilities
from greedyfirst.validation import (
    BoolArray,
    FloatArray,
    amount,
    amounts,
    array,
    number,
    whole_number,
    wrong,
)

#: How a decision was made: "explored" took an arm whose score was raised because it lacks people
#: like this one, "forced" is an initial pull or a forced sample, "fallback" comes while
#: Greedy-First explores all arms, "policy" is any decision of a policy with rules of its own.
Mode = Literal["greedy", "explored", "forced", "fallback", "policy"]

#: Looked up once: these are asked for in every decision.
_ARRAY, _FLOAT64 = np.ndarray, np.dtype(np.float64)


class Agent(Estimates, DecisionMaker, FromLogs, Saving):
    """A policy at work, one decision at a time.

    Parameters
    ----------
    policy
        Any policy of :mod:`greedyfirst.policies`.
    arms
        The arms' names. ``choose`` then tells names, and arms may be given by name or number.
    schema
        What makes contexts of raw rows: :class:`~greedyfirst.Schema`. Every row is then given by
        name, as a dict, a Series or a frame, with categories and missing values as they are.
    features
        The features' names, for rows of numbers. A row that has names is matched by them.
    n_arms, n_features
        The size of the problem, instead of ``arms`` and ``features``. ``choose`` then tells
        numbers, and the first row that is given by name fixes the features' names.
    arm_names, feature_names
        Names beside ``n_arms`` and ``n_features``.
    seed
        All randomness: draws depend on (seed, decision's number) only. ``None`` takes a fresh one,
        kept in ``agent.seed``.

    Notes
    -----
    A context is an array or list of numbers in the features' order, or has names: a dict, a Series,
    a frame of one row. Names must be those of the features; their order does not matter. Methods
    that also take several contexts take them as an array (n, n_features), a frame or a list of
    dicts, and then return one row for each. True and False are 1 and 0.

    Rewards are taken to arrive in the order of the decisions. Where they do not, pass ``step``, the
    decision's number (``agent.decisions`` right after ``choose``). Rows that were never decided
    here (history) can be given to ``update`` before the first ``choose``: they count as first pulls
    of their arms. While decisions wait for their rewards they need ``step=0``.

    An agent is for one thread at a time: two that share one need a lock around each call. Different
    agents, copies among them, can work in different threads.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedyfirst import Agent, Categorical, Greedy, Numeric, Schema
    >>> schema = Schema(features=[Numeric("age", mean=50, scale=10),
    ...                           Categorical("sex", ["f", "m"])], intercept=True)
    >>> agent = Agent(Greedy(), schema=schema, arms=["low dose", "high dose"], seed=7)
    >>> past = pd.DataFrame({"sex": ["f", "m", "f", "m"], "age": [40, 50, 60, 70]})
    >>> agent.update_many(past, ["low dose", "high dose"] * 2, [1.0, 0.0, 1.0, 0.0])
    >>> agent.choose({"age": 45, "sex": "f"})
    'low dose'
    >>> agent.update({"age": 45, "sex": "f"}, "low dose", reward=True)
    >>> agent
    Agent(Greedy(), 2 arms, 3 features, seed=7): 1 decision, 5 rewards
    """

    # ---------------------------------------------------------------- decisions and rewards

    def choose(self, context: Any, *, eligible: Iterable[Arm] | None = None) -> Any:
        """The arm for this context, among the ``eligible`` ones (all that are not dropped).

        Returns
        -------
        int or str
            The arm's number; its name where arms were given by name (``arms=``).
        """
        if eligible is not None:
            self._work.eligible_once[:] = self._mask(eligible)
        given = self._given(context)
        step = self.decisions + 1
        how = USUAL if eligible is None else ONCE
        arm: int = self._decide(self._given_work, step, given, how, self.seed)
        if arm < 0:
            array("context", context, self._shape)
        self.decisions, self._chosen, self._restricted = step, arm, eligible is not None
        return self.arm_names[arm] if self._tells_names else arm

    def choose_many(self, contexts: Any) -> Any:
        """Arms (n,) for several contexts: ``choose`` for one after the other, no rewards between.

        Numbers, or names where arms were given by name.
        """
        rows = self._rows("contexts", contexts)
        arms = np.zeros(len(rows), np.int64)
        run(self._loop(decide_many), self._work, self.decisions + 1, rows, self.seed, arms)
        self.decisions += len(rows)
        return np.array(self.arm_names)[arms] if self._tells_names else arms

    def update(self, context: Any, arm: Arm, reward: float, *, step: int | None = None) -> None:
        """Learn from the reward of an arm at this context.

        Parameters
        ----------
        context, arm
            As in ``choose``; the arm by number or name.
        reward
            A finite number; True and False are 1 and 0.
        step
            The decision's number, where rewards do not come in the order of the decisions. A
            decision has one reward: a second one is refused. 0 is for a row that was not decided
            here; it never counts as a first pull.
        """
        if not (type(arm) is int and 0 <= arm < len(self.arm_names)):
            arm = self._arm(arm)
        if not isinstance(reward, float):
            reward = amount("reward", reward)
        if self._link is not Identity:
            check_rewards("reward", self._link, reward)
        if step is not None:
            joins = self._checked_step(step)
        elif self._rewarded is None:
            joins = self.joined + 1 if self.joined < self.decisions else FOREIGN
        else:
            joins = next(self._rewarded.open_until(self.decisions), FOREIGN)
        given = self._given(context)
        if self.joined + self.foreign >= self.room:
            self._make_room(1)
        if self._watch is not None:
            self._watch.decided = self.decisions
        bad = self._learn(self._given_work, joins, given, arm, reward)
        if bad:
            if bad != FULL:
                array("context", context, self._shape)
                number("reward", reward)
            self._fold(arm)
        if joins == FOREIGN:
            self.foreign += 1
            if step is None and self.decisions == 0:
                self._count_history()
        else:
            self.joined += 1
            if joins != self.joined or self._rewarded is not None:
                self._note_reward(joins)

    def _note_reward(self, step: int) -> None:
        """A decision has its reward, before one that was made earlier."""
        if self._rewarded is None:
            self._rewarded = RewardedSteps(self.joined - 1)
        self._rewarded.add(step)

    def _checked_step(self, step: int) -> int:
        """A decision's number; refused if there is no such decision, or its reward has come."""
        step = whole_number("step", step, at_least=FOREIGN, at_most=self.decisions)
        known = self._rewarded
        if step != FOREIGN and (step <= self.joined if known is None else step in known):
            raise wrong("step", step, "a decision without a reward: its own has come already")
        return step

    def update_many(self, contexts: Any, arms: Any, rewards: ArrayLike) -> None:
        """Learn from several rewards, as ``update`` would one by one."""
        rows = self._rows("contexts", contexts)
        chosen = self._arms(arms, len(rows))
        values = amounts("rewards", rewards, (len(rows),))
        check_rewards("rewards", self._link, values)
        self._make_room(len(rows))
        steps = np.full(len(rows), FOREIGN, np.int64)
        known = self._rewarded
        if known is None:
            decided = max(0, min(self.decisions - self.joined, len(rows)))
            steps[:decided] = np.arange(self.joined + 1, self.joined + decided + 1)
        else:
            waiting = list(islice(known.open_until(self.decisions), len(rows)))
            decided = len(waiting)
            steps[:decided] = waiting
        if self._watch is not None:
            self._watch.decided = self.decisions
        loop = compiled(self._loop(learn_many), self._work, 0, steps, rows, chosen, values)
        done = 0
        while done < len(rows):
            done = loop(self._given_work, done, steps, rows, chosen, values)
            if self.noise.kept:
                self._fold(int(chosen[done - 1]))
        self.joined += decided
        self.foreign += len(rows) - decided
        if known is not None:
            for step in steps[:decided].tolist():
                known.add(step)
        if self.decisions == 0 and len(rows):
            self._count_history()

    def _given(self, context: Any) -> FloatArray:
        """A context as the compiled calls take it; they see to it that it is finite."""
        if type(context) is _ARRAY and context.dtype is _FLOAT64 and context.shape == self._shape:
            return context
        row = self._reader.row("context", context)
        self.feature_names = self._reader.names
        return row

    # ---------------------------------------------------------------- the last decision

    @property
    def forced(self) -> bool:
        """Whether the last ``choose`` had to take its arm: an initial pull or a forced sample."""
        return self._work.forced

    @property
    def mode(self) -> Mode:
        """How the last decision was made."""
        if self.explores:
            return "fallback"
        if self.forced:
            return "forced"
        raised = self._raised()
        if raised is not None and self._chosen is not None and raised[self._chosen]:
            return "explored"
        return "greedy" if self.policy.exploits or self.policy.watches else "policy"

    @property
    def explores(self) -> bool:
        """Whether Greedy-First explores all arms: its fallback decides, where it has one."""
        return self._watch is not None and self._watch.explores

    def _raised(self) -> BoolArray | None:
        """Whose scores the last ``choose`` raised, where arms are explored one by one."""
        if self.forced or not isinstance(self._watch, ArmWatch):
            return None
        return self._watch.raised

    @property
    def explored_arms(self) -> tuple[str, ...]:
        """The arms that the last ``choose`` explored, where that is done one by one.

        Their scores were raised above their expected rewards. Arms that were not eligible may be
        among them.
        """
        raised = self._raised()
        if raised is None or not raised.any():
            return ()
        return tuple(self.arm_names[arm] for arm in np.flatnonzero(raised & ~self.dropped))

    @property
    def raised_by(self) -> dict[str, float]:
        """By how much the last ``choose`` raised the score of each of ``explored_arms``.

        What is added to the arm's expected reward, or with a link to what the link takes: the
        benefit of the doubt, since the arm lacks people like this one.

        Examples
        --------
        >>> from greedyfirst import Agent, GreedyFirst
        >>> names = ["usual", "rare"]
        >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, arm_names=names, seed=1)
        >>> for number in range(40):
        ...     agent.update([1.0], "rare" if number < 4 else "usual", number % 2, step=0)
        >>> agent.choose([1.0]), sorted(agent.raised_by), agent.raised_by["rare"] > 0
        (1, ['rare'], True)
        """
        arms, watched = self.explored_arms, self._watch
        if not arms or not isinstance(watched, ArmWatch):
            return {}
        by = dict(zip(self.arm_names, watched.raised_by.tolist(), strict=True))
        return {arm: by[arm] for arm in arms}

    @property
    def propensity(self) -> float:
        """The exact probability with which the last ``choose`` took its arm, read right after it.

        1 for an arm that had to be taken or had the highest score alone; draws are integrated.
        """
        return float(self.propensities[self._chosen])

    @property
    def propensities(self) -> FloatArray:
        """The same for every arm that the last ``choose`` might have taken (n_arms,)."""
        if self._chosen is None:
            raise ValueError("propensity is that of the last choose(), and there was none")
        scores = self.state.scores
        eligible = self._work.eligible_once if self._restricted else self._eligible
        if self.forced:
            highest = np.arange(self.n_arms) == self._chosen
        elif scores.random_share > 0.0 or scores.spread.any():
            return selection_probabilities(scores, eligible)
        else:
            nearness = np.abs(scores.value - scores.value[self._chosen])
            highest = (nearness <= scores.rounding) & (eligible != 0.0)
        shared: FloatArray = highest / np.count_nonzero(highest)
        return shared

    def explain(self, context: Any) -> tuple[FloatArray, FloatArray]:
        """The expected rewards (n_arms,) and the contributions (n_arms, n_features) behind them.

        For n contexts: (n, n_arms) and (n, n_arms, n_features).
        """
        if not (type(context) is _ARRAY and context.ndim == 1) and is_table(context):
            return self._explain_rows(self._rows("context", context))
        x = np.ascontiguousarray(self._given(context))
        model = getattr(self.state, "model", None)
        if model is None:
            model = self._model("to explain a decision")  # which says what is wrong
        n_arms = len(self.arm_names)
        parts, predictors = np.empty((n_arms, len(self.feature_names))), np.empty(n_arms)
        estimate = np.ascontiguousarray(model.estimate)
        if not contribution_loop()(estimate, x, parts, predictors):
            array("context", context, self._shape)
        link = getattr(model, "link", None)
        return (predictors if link is None else means(link_of(link), predictors)), parts

    def expected_rewards(self, context: Any) -> FloatArray:
        """Each arm's expected reward by the estimates that decisions use (n_arms,)."""
        return self.explain(context)[0]

    def contributions(self, context: Any) -> FloatArray:
        """Each feature's part in each arm's linear predictor (n_arms, n_features).

        Coefficient times value; an arm's row adds up to its expected reward, or with a link to
        what the link takes.
        """
        return self.explain(context)[1]

    def __repr__(self) -> str:
        done = ((self.decisions, "decision"), (self.rewards, "reward"))
        counts = ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in done)
        return (
            f"Agent({self.policy!r}, {self.n_arms} arms, {self.n_features} features, "
            f"seed={self.seed}): {counts}"
        )
