"""One decision at a time: a policy, its state, and a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.agent import stored_state
from greedyfirst.agent.intervals import Intervals, intervals
from greedyfirst.agent.loops import (
    GIVEN,
    ONCE,
    ONLY_SCORE,
    USUAL,
    Workspace,
    contribution_loop,
    decide,
    decide_many,
    learn,
    learn_many,
)
from greedyfirst.compiling.calls import argument, compiled, run
from greedyfirst.compiling.kernels import Function
from greedyfirst.compiling.records import allocate
from greedyfirst.files import data_file
from greedyfirst.links import Identity
from greedyfirst.links.link import check_rewards, link_of, means
from greedyfirst.models.linear_part import admit
from greedyfirst.policies import initial_pulls as first_pulls
from greedyfirst.policies.description import describe, from_description
from greedyfirst.policies.greedy_first import ANSWERS, DiversityReport, phases, report, watch
from greedyfirst.policies.greedy_first.arm_by_arm import ArmWatch
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import FOREIGN, Policy
from greedyfirst.policies.selection import selection_probabilities
from greedyfirst.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    array,
    choice,
    names,
    number,
    whole_number,
    wrong,
)

if TYPE_CHECKING:
    from greedyfirst.tables.schema import Schema

#: How a decision was made: "explored" took an arm that is explored because it starves, "forced" is
#: an initial pull or a forced sample, "fallback" comes while Greedy-First explores all arms,
#: "policy" is any decision of a policy that explores by its own rules.
Mode = Literal["greedy", "explored", "forced", "fallback", "policy"]

FIRST_ROOM = 1024
_FLOAT64 = np.dtype(np.float64)


class Agent:
    """A policy at work, one decision at a time.

    Parameters
    ----------
    policy
        Any policy of :mod:`greedyfirst.policies`.
    n_arms, n_features
        The size of the problem.
    seed
        All randomness: draws depend on (seed, decision's number) only. ``None`` takes a fresh one,
        kept in ``agent.seed``.
    arm_names, feature_names
        For reports; ``arm_names`` may also be used wherever an arm is asked for.

    Notes
    -----
    Rewards are taken to arrive in the order of the decisions. Where they do not, pass ``step``, the
    decision's number (``agent.decisions`` right after ``choose``). Rows that were never decided
    here (history) can be given to ``update`` as well, with ``step=0`` while decisions wait for
    their rewards.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        n_arms: int,
        n_features: int,
        seed: int | None = None,
        arm_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise wrong("policy", policy, "a policy, for example Greedy()")
        n_arms = whole_number("n_arms", n_arms, at_least=1)
        n_features = whole_number("n_features", n_features, at_least=1)
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self.policy = policy
        self.seed = whole_number("seed", seed, at_least=0, at_most=2**63 - 1)
        arms = [f"arm {i}" for i in range(n_arms)] if arm_names is None else arm_names
        features = [f"x{i}" for i in range(n_features)] if feature_names is None else feature_names
        self.arm_names = names("arm_names", arms, n_arms)
        self.feature_names = names("feature_names", features, n_features)
        #: Decisions made, rewards of them joined, and rows taken in that were not decided here.
        self.decisions = self.joined = self.foreign = 0
        #: Rewards that the state has room for, if it keeps them one by one: doubled when full.
        self.room = FIRST_ROOM
        #: The arm of the last ``choose``, and whether only some arms were eligible for it.
        self._chosen: int | None = None
        self._restricted = False
        self._link = policy.reward_link()
        self._dropped = np.zeros(n_arms, bool)
        self._allocate()

    def _allocate(self) -> None:
        """Make the state for the current arms, and the compiled calls that work on it."""
        n_arms, n_features = len(self.arm_names), len(self.feature_names)
        policy, seed = self.policy, self.seed
        self.options = policy.options(n_arms, n_features)
        self.buffer, self.state = new_state(self.options, n_arms, n_features, self.room)
        self._watch = policy.watch(self.state)
        parts = {"policy": self.options, "state": self.state}
        sizes = {"n_arms": n_arms, "d": n_features}
        _, work = allocate(lambda memory: Workspace(memory, **parts, **sizes))
        work.eligible[:] = work.eligible_once[:] = 1.0
        self._work, self._eligible = work, work.eligible
        self._given_work = argument(work) if policy.is_compiled() else work
        self._shape = (n_features,)
        self._decide = compiled(self._loop(decide), work, 1, GIVEN, 0, seed)
        self._learn = compiled(self._loop(learn), work, 1, GIVEN, 0, 0.0)

    def _loop(self, function: Function) -> Function:
        return loop_for(function, self.policy, self.options, self.state)

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
    def forced(self) -> bool:
        """Whether the last ``choose`` had to take its arm: an initial pull or a forced sample."""
        return self._work.forced

    @property
    def alarms(self) -> int:
        """Alarms of Greedy-First so far, and answers to them."""
        return 0 if self._watch is None else self._watch.alarms

    @property
    def explores(self) -> bool:
        """Whether Greedy-First explores all arms: its fallback decides, where it has one."""
        return self._watch is not None and self._watch.explores

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
    def alarmed_at(self) -> IntArray:
        """The number of rewards at which each arm raised the alarm that stands, else 0 (n_arms,).

        Where arms are explored one by one, the alarm of an arm that has been fed stands no more.
        """
        watched = self._watch
        return np.zeros(self.n_arms, np.int64) if watched is None else watched.tripped_at.copy()

    @property
    def pulls(self) -> IntArray:
        """How many rewards each arm has learned from (n_arms,)."""
        return np.asarray(self._model("to count its samples").pulls)

    # ---------------------------------------------------------------- decisions and rewards

    def choose(self, context: ArrayLike, *, eligible: Sequence[int | str] | None = None) -> int:
        """The arm for this context, among the ``eligible`` ones (all that are not dropped)."""
        given = self._given(context)
        if eligible is not None:
            self._work.eligible_once[:] = self._mask(eligible)
        step = self.decisions + 1
        how = USUAL if eligible is None else ONCE
        arm: int = self._decide(self._given_work, step, given, how, self.seed)
        if arm < 0:
            array("context", context, self._shape)
        self.decisions, self._chosen, self._restricted = step, arm, eligible is not None
        return arm

    def choose_many(self, contexts: ArrayLike) -> IntArray:
        """Arms for several contexts: those of ``choose``, one by one, without rewards between."""
        rows = array("contexts", contexts, (None, self.n_features))
        arms = np.zeros(len(rows), np.int64)
        run(self._loop(decide_many), self._work, self.decisions + 1, rows, self.seed, arms)
        self.decisions += len(rows)
        return arms

    def update(
        self, context: ArrayLike, arm: int | str, reward: float, *, step: int | None = None
    ) -> None:
        """Learn from the reward of an arm at this context."""
        given = self._given(context)
        if not (type(arm) is int and 0 <= arm < len(self.arm_names)):
            arm = self._arm(arm)
        if not isinstance(reward, float):
            reward = number("reward", reward)
        if self._link is not Identity:
            check_rewards("reward", self._link, reward)
        if step is None:
            step = self.joined + 1 if self.joined < self.decisions else FOREIGN
        else:
            whole_number("step", step, at_least=FOREIGN, at_most=self.decisions)
        if self.joined + self.foreign >= self.room:
            self._make_room(1)
        if self._watch is not None:
            self._watch.decided = self.decisions
        bad = self._learn(self._given_work, step, given, arm, reward)
        if bad:
            array("context", context, self._shape)
            number("reward", reward)
        if step == FOREIGN:
            self.foreign += 1
        else:
            self.joined += 1

    def update_many(self, contexts: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from several rewards, as ``update`` would one by one."""
        rows = array("contexts", contexts, (None, self.n_features))
        try:
            chosen = np.asarray(arms)
        except ValueError:
            raise wrong("arms", arms, f"{len(rows)} arms") from None
        if chosen.dtype.kind == "U" and chosen.ndim == 1:
            chosen = np.array([self._arm(str(name), "arms") for name in chosen], np.int64)
        if chosen.dtype.kind not in "iu" or chosen.shape != (len(rows),):
            raise wrong("arms", arms, f"{len(rows)} whole numbers, or names of arms")
        outside = (chosen < 0) | (chosen >= self.n_arms)
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            raise wrong(f"arms[{first}]", chosen[first], f"one of the arms 0 to {self.n_arms - 1}")
        values = array("rewards", rewards, (len(rows),))
        check_rewards("rewards", self._link, values)
        self._make_room(len(rows))
        decided = max(0, min(self.decisions - self.joined, len(rows)))
        steps = np.full(len(rows), FOREIGN, np.int64)
        steps[:decided] = np.arange(self.joined + 1, self.joined + decided + 1)
        if self._watch is not None:
            self._watch.decided = self.decisions
        arm_numbers = chosen.astype(np.int64)
        run(self._loop(learn_many), self._work, steps, rows, arm_numbers, values)
        self.joined += decided
        self.foreign += len(rows) - decided

    def learn_from(
        self,
        dataset: Any,
        *,
        arm: str = "arm",
        reward: str = "reward",
        schema: Schema | None = None,
        rewarded_only: bool = False,
        n_jobs: int = 1,
        progress: bool | None = None,
    ) -> int:
        """Learn a log of any size, as ``update`` with ``step=0`` would row by row; how many rows.

        Memory is bounded, and sums are made on threads: :mod:`greedyfirst.agent.learning_from_logs`
        says how. If a row is refused the agent is as it was.

        Parameters
        ----------
        dataset
            Parquet, Arrow, CSV or TSV: a file, a folder, several of these, or a
            ``pyarrow.dataset`` of files. Rows are learned in the files' order, a folder's by name.
        arm, reward
            The columns of the arm that was taken, by name or number, and of its reward.
        schema
            How other columns become contexts; None takes the columns named as the features.
        rewarded_only
            Leave out rows without a reward, which are refused otherwise.
        n_jobs
            Threads; -1 is one per processor. The result is the same, bit for bit, for any number.
        progress
            Whether to show a progress bar; None shows it on a terminal.
        """
        from greedyfirst.agent import learning_from_logs  # slow to import, and seldom needed

        learned = learning_from_logs.learn_from(
            self,
            dataset,
            arm=arm,
            reward=reward,
            schema=schema,
            rewarded_only=rewarded_only,
            n_jobs=n_jobs,
            progress=progress,
        )
        self._make_room(learned.rows)
        stored_state.fill(self.state, dict(learned.state.arrays()))
        self.foreign += learned.rows
        return learned.rows

    def _make_room(self, more: int) -> None:
        """See that the state can keep this many more rewards."""
        if self.rewards + more <= self.room:
            return
        while self.rewards + more > self.room:
            self.room *= 2
        self._move()

    def _move(self) -> None:
        """Go on with the same state in other memory, for the policy, arms and room as they are."""
        before, eligible = self.state, self._eligible
        self._allocate()
        stored_state.fill(self.state, dict(before.arrays()))
        self._eligible[: len(eligible)] = eligible

    def _given(self, context: ArrayLike) -> FloatArray:
        """A context as the compiled calls take it; they see to it that it is finite."""
        if (
            type(context) is np.ndarray
            and context.dtype is _FLOAT64
            and context.shape == self._shape
        ):
            return context
        return array("context", context, self._shape)

    def _arm(self, arm: int | str, argument: str = "arm") -> int:
        """An arm's number, from its number or name."""
        if isinstance(arm, str):
            if arm not in self.arm_names:
                raise wrong(argument, arm, f"one of {', '.join(self.arm_names)}")
            return self.arm_names.index(arm)
        try:
            return whole_number(argument, arm, at_least=0, at_most=self.n_arms - 1)
        except ValueError:
            raise wrong(argument, arm, f"one of the arms 0 to {self.n_arms - 1}") from None

    def _mask(self, eligible: Sequence[int | str]) -> FloatArray:
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

    # ---------------------------------------------------------------- what it knows

    def expected_rewards(self, context: ArrayLike) -> FloatArray:
        """Each arm's expected reward by the estimates that decisions use (n_arms,)."""
        return self.explain(context)[0]

    def _model(self, purpose: str) -> Any:
        """What the policy has learned, if it keeps a model."""
        model = getattr(self.state, "model", None)
        if model is None:
            raise wrong("policy", self.policy, f"one that keeps a model, {purpose}")
        return model

    def contributions(self, context: ArrayLike) -> FloatArray:
        """Each feature's part in each arm's linear predictor (n_arms, n_features).

        Coefficient times value; an arm's row adds up to its expected reward, or with a link to
        what the link takes.
        """
        return self.explain(context)[1]

    def explain(self, context: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The expected rewards and the contributions that add up to them."""
        x = np.ascontiguousarray(self._given(context))
        model = self._model("to explain a decision")
        parts, predictors = np.empty((self.n_arms, self.n_features)), np.empty(self.n_arms)
        estimate = np.ascontiguousarray(model.estimate)
        if not contribution_loop()(estimate, x, parts, predictors):
            array("context", context, self._shape)
        link = getattr(model, "link", None)
        return (predictors if link is None else means(link_of(link), predictors)), parts

    def standard_errors(self, context: ArrayLike) -> FloatArray | None:
        """The standard error of each arm's expected reward, by the model's covariance (n_arms,).

        How unsure an estimate is for this context, by the model; not a confidence interval, since
        the policy itself chose which arm was tried where. NaN for an arm whose model does not say;
        None where no model does: least squares, and ridge regression before it knows the noise.
        """
        x = array("context", context, self._shape)
        model = self._model("to explain a decision")
        link = getattr(model, "link", None)
        spread = getattr(model, "covariance" if link is None else "inverse", None)
        if spread is None:
            return None
        errors = np.sqrt(np.maximum(np.einsum("i,kij,j->k", x, np.asarray(spread), x), 0.0))
        if link is None:
            # Ridge regression that learns its prior keeps covariances over the noise's variance.
            variance = getattr(model, "noise_variance", 1.0)
            return errors * math.sqrt(variance) if variance > 0.0 else None
        formula = link_of(link).slope
        slopes = [formula(float(z)) for z in np.asarray(model.estimate) @ x]
        return np.where(self.pulls > 0, errors * slopes, np.nan)

    def probabilities(self, context: ArrayLike) -> FloatArray:
        """The exact probability with which the next decision here would take each arm."""
        x = array("context", context, (self.n_features,))
        due = self._decide(self._given_work, self.decisions + 1, x, ONLY_SCORE, self.seed)
        if due >= 0:
            return np.array(np.arange(self.n_arms) == due, dtype=np.float64)
        return selection_probabilities(self.state.scores, self._eligible)

    def intervals(
        self, contexts: ArrayLike, *, sigma: float | None = None, level: float = 0.95
    ) -> Intervals:
        """Intervals of each arm's expected reward in these contexts (n, n_features).

        They hold for all arms, contexts and times together, on data that the agent itself has
        chosen: :mod:`greedyfirst.agent.intervals`. Unit contexts give those of coefficients.

        Parameters
        ----------
        contexts
            One row each.
        sigma
            The scale of the noise, sub-Gaussian: its standard deviation if it is normal, half the
            range of bounded rewards. If it is left out it is estimated, and the level approximate.
        level
            With which probability all of them hold.
        """
        rows = array("contexts", contexts, (None, self.n_features))
        return intervals(self, rows, sigma=sigma, level=level)

    @property
    def propensity(self) -> float:
        """The exact probability with which the last ``choose`` took its arm, read right after it.

        1 for an arm that had to be taken or had the highest score alone; draws are integrated.
        """
        if self._chosen is None:
            raise ValueError("propensity is that of the last choose(), and there was none")
        if self.forced:
            return 1.0
        scores = self.state.scores
        eligible = self._work.eligible_once if self._restricted else self._eligible
        if scores.random_share > 0.0 or scores.spread.any():
            return float(selection_probabilities(scores, eligible)[self._chosen])
        highest = scores.value[self._chosen]
        return 1.0 / int(((scores.value == highest) & (eligible != 0.0)).sum())

    def diversity(self) -> DiversityReport:
        """Each arm's pulls, smallest eigenvalue, threshold and weakest direction."""
        return report.report(self)

    # ---------------------------------------------------------------- the decision-maker

    def drop_arm(self, arm: int | str) -> None:
        """Never choose this arm again; Greedy-First goes on greedily without it."""
        if self._watch is None:
            self._forgo(self._arm(arm), arm)
        else:
            self.answer("drop", arm)

    def retire_arm(self, arm: int | str) -> None:
        """Never choose this arm again, and change nothing else: whoever decides goes on."""
        retired = self._arm(arm)
        self._forgo(retired, arm)
        if self._watch is not None:
            watch.leave_out(self._watch, retired, dropped=True)

    def reinstate_arm(self, arm: int | str) -> None:
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

    def keep_greedy(self, arm: int | str) -> None:
        """Go on greedily in spite of this arm's alarm, and do not test it any more."""
        self._watched("keep_greedy")
        self.answer("hold", arm)

    def explore(self) -> None:
        """Explore all arms from now on: the fallback decides, where there is one."""
        self._watched("explore")
        self.answer("explore", 0)

    def answer(self, answer: str, arm: int | str) -> None:
        """Answer an alarm about this arm, by the answer's name.

        "explore_arm" explores it while it starves (without a fallback), "explore" all arms; "drop"
        and "hold" go on greedily, without it or with it.
        """
        self._watched("answer")
        chosen, number = ANSWERS[choice("answer", answer, self.policy.answers())], self._arm(arm)
        if chosen.drops_arm:
            self._forgo(number, arm)
        chosen.apply(self, number)

    def watch_again(self, arm: int | str, *, anew: bool = True) -> None:
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
        self.policy = self.policy.answering(on_alarm)
        self._move()
        if self._watch is not None:
            phases.explore_starving(self._watch, getattr(self.options, "explores_arms", False))

    def _forgo(self, number: int, arm: int | str) -> None:
        already = self.dropped
        if already.sum() + 1 >= self.n_arms and not already[number]:
            raise wrong("arm", arm, "an arm other than the last one that is left")
        self._dropped[number] = True
        self._eligible[number] = 0.0

    def _watched(self, answer: str) -> watch.Watch:
        if self._watch is None:
            raise wrong("policy", self.policy, f"GreedyFirst for {answer}(): others raise no alarm")
        return self._watch

    def add_arm(self, name: str | None = None, *, initial_pulls: int | None = None) -> int:
        """Add an arm at run time; returns its number.

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
        self.policy.options(self.n_arms + 1, self.n_features)  # refuses what has no more arms
        self.arm_names = arm_names
        self._dropped = np.append(self._dropped, False)
        self._move()
        admit(self.state, self.n_arms - 1)
        if self._watch is not None:
            phases.admit(self, pulls)
        elif hasattr(self.state, "initial"):
            arm, own = self.n_arms - 1, self.options.initial_pulls
            first_pulls.admit(self.state.initial, arm, self.decisions, pulls, own)
        return self.n_arms - 1

    def _first_pulls(self) -> int:
        """Pulls that the policy gives each arm before its first own choice."""
        options = self.options if self._watch is None else self.options.greedy
        return int(getattr(options, "initial_pulls", 0))

    # ---------------------------------------------------------------- files

    def _header(self) -> dict[str, Any]:
        return {
            "policy": describe(self.policy),
            "seed": self.seed,
            "arm_names": self.arm_names,
            "feature_names": self.feature_names,
            "decisions": self.decisions,
            "joined": self.joined,
            "foreign": self.foreign,
            "dropped": self._dropped.tolist(),
            "room": self.room,
            "fields": self.state.places(self.buffer),
        }

    def save(self, path: str | Path) -> None:
        """Write everything to one file of plain data."""
        data_file.write(path, "agent", self._header(), {stored_state.BUFFER: self.buffer})

    def to_bytes(self) -> bytes:
        """What :meth:`save` writes to a file, but quickly made: it is not compressed."""
        return self.copied()()

    def copied(self) -> Callable[[], bytes]:
        """Copy everything now: what is returned makes bytes of the copy, later, on any thread."""
        state = {stored_state.BUFFER: self.buffer.copy()}
        return partial(data_file.pack, "agent", self._header(), state, compressed=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The agent that was saved: it goes on where that one stopped."""
        return cls._restored(*data_file.read(path, "agent"), str(path))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The agent whose :meth:`to_bytes` this is."""
        where = "content"
        return cls._restored(*data_file.unpack(content, "agent", where), where)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Any], path: str) -> Self:
        try:
            agent = cls(
                from_description(header["policy"]),
                n_arms=len(header["arm_names"]),
                n_features=len(header["feature_names"]),
                seed=header["seed"],
                arm_names=header["arm_names"],
                feature_names=header["feature_names"],
            )
            agent.decisions, agent.joined = header["decisions"], header["joined"]
            agent.foreign = header["foreign"]
            room = whole_number("room", header["room"], at_least=FIRST_ROOM)
            if room > agent.room:
                agent.room = room
                agent._allocate()
            agent._dropped[:] = header["dropped"]
            stored_state.restore(agent.state, agent.buffer, header, arrays)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a complete agent file: {error}") from error
        agent._eligible[agent._dropped] = 0.0
        return agent

    def __reduce__(self) -> Any:
        """A copy is another agent with the same state."""
        return Agent.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return (
            f"Agent({self.policy!r}, n_arms={self.n_arms}, n_features={self.n_features}, "
            f"seed={self.seed}): {self.decisions} decisions, {self.rewards} rewards"
        )
