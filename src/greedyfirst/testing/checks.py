"""The common checks of policies: each raises an error with a sentence that says what is wrong."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from greedyfirst.agent import Agent
from greedyfirst.compiling.records import Record
from greedyfirst.policies.policy import Policy
from greedyfirst.testing.hidden_draws import draws_of
from greedyfirst.testing.trial_runs import (
    N_ARMS,
    N_FEATURES,
    SEED,
    draw_trial,
    new_agent,
    play_compiled,
    play_in_batches,
    play_late,
    play_one_by_one,
    suited,
)
from greedyfirst.testing.uncompiled import cannot_run, uncompiled_arms
from greedyfirst.validation import FloatArray

#: The chance with which a right policy fails one comparison of frequencies; seeds are fixed.
FALSE_ALARM = 1e-6
#: Draws of each comparison, and the rounds before it.
DRAWS, ROUNDS = 4000, (0, 45, 110)
#: Rounds before an agent is saved, and before an arm is dropped.
SAVED_AT, DROPPED_AT = 70, 100


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A policy, and what it is tried on."""

    policy: Policy
    n_arms: int = N_ARMS
    n_features: int = N_FEATURES

    def draw(self) -> tuple[FloatArray, FloatArray]:
        """Contexts, and rewards that suit the policy."""
        contexts, rewards = draw_trial(n_arms=self.n_arms, n_features=self.n_features)
        return contexts, suited(self.policy, rewards)

    def agent(self, seed: int = SEED) -> Agent:
        """A new agent."""
        return new_agent(self.policy, seed, n_arms=self.n_arms, n_features=self.n_features)

    def require(self, condition: Any, sentence: str) -> None:
        """Fail with the sentence unless the condition holds."""
        if not condition:
            raise AssertionError(f"policy {self.policy!r}: {sentence}")

    def require_same(self, found: list[int], expected: list[int], sentence: str) -> None:
        """Fail unless the arms are the same, naming the first step that has another."""
        pairs = enumerate(zip(found, expected, strict=True), start=1)
        other = next((f"step {step}, arm {a}, not {b}" for step, (a, b) in pairs if a != b), "")
        self.require(not other, f"{sentence} ({other})")


# ---------------------------------------------------------------- options


def options_are_refused_by_name(trial: Trial) -> None:
    """An option that makes no sense is a ValueError with its name."""
    for option in fields(trial.policy):
        try:
            replace(trial.policy, **{option.name: object()})
        except ValueError as error:
            told = option.name in str(error)
            trial.require(told, f"an error for {option.name} does not name it: {error}")
        except Exception as error:
            trial.require(False, f"nonsense as {option.name} is a {type(error).__name__}: {error}")
        else:
            trial.require(False, f"{option.name} takes any object: refuse it in __post_init__")


# ---------------------------------------------------------------- the same arms on every path


def simulate_takes_the_same_arms(trial: Trial) -> None:
    """The loop of ``simulate`` takes the arms that an agent takes."""
    online = play_one_by_one(trial.agent(), *trial.draw())
    played = play_compiled(trial.policy, *trial.draw())[0]
    trial.require_same(played, online, "simulate takes other arms than an agent")


def many_at_once_is_one_by_one(trial: Trial) -> None:
    """``choose_many`` and ``update_many`` do what ``choose`` and ``update`` do."""
    found = play_in_batches(trial.agent(), *trial.draw())
    late = play_late(trial.agent(), *trial.draw())
    trial.require_same(found, late, "choose_many takes other arms than choose")


def uncompiled_runs_take_the_same_arms(trial: Trial) -> None:
    """Python takes the arms that compiled code takes; an index out of range is an error there."""
    why = cannot_run(trial.policy)
    if why is not None:
        warnings.warn(f"not checked uncompiled: {why}", stacklevel=3)
        return
    sizes = {"n_arms": trial.n_arms, "n_features": trial.n_features}
    try:
        (arms,) = uncompiled_arms([trial.policy], **sizes)
    except AssertionError as error:
        trial.require(False, str(error))
    require_uncompiled(trial, arms)


def require_uncompiled(trial: Trial, arms: list[list[int]]) -> None:
    """Fail unless these arms, of :func:`uncompiled_arms`, are those of compiled runs."""
    ours = [play(trial.agent(), *trial.draw()) for play in (play_one_by_one, play_in_batches)]
    for found, expected in zip(arms, ours, strict=True):
        trial.require_same(found, expected, "uncompiled it takes other arms")


def a_loaded_agent_goes_on(trial: Trial) -> None:
    """A saved and loaded agent decides as one that was never saved."""
    contexts, rewards = trial.draw()
    agent = trial.agent()
    play_one_by_one(agent, contexts[:SAVED_AT], rewards[:SAVED_AT])
    beside = ", ".join(_beside(agent.state, trial.agent().state))
    trial.require(not beside, f"what it learns is not kept: {beside} is no field of the state")
    with tempfile.TemporaryDirectory() as directory:
        agent.save(Path(directory) / "agent")
        loaded = Agent.load(Path(directory) / "agent")
    trial.require(loaded.policy == agent.policy, f"loaded it is {loaded.policy!r}")
    lost = "a loaded agent goes on otherwise"
    for context, row in zip(contexts[SAVED_AT:], rewards[SAVED_AT:], strict=True):
        step = agent.decisions + 1
        try:
            same = np.array_equal(loaded.probabilities(context), agent.probabilities(context))
            arm = loaded.choose(context)
            loaded.update(context, arm, float(row[arm]))
        except Exception as error:
            trial.require(False, f"{lost} (step {step}: {error})")
        trial.require(same and agent.choose(context) == arm, f"{lost} (step {step})")
        agent.update(context, arm, float(row[arm]))


def _beside(state: Record, fresh: Record) -> Iterator[str]:
    """What a state has beside the fields that are saved: attributes, and records of nobody."""
    kept = {each.ctypes.data for _, each in state.arrays()}
    for path, each, new in _records(state, fresh, ""):
        yield from (path + name for name in vars(each) if name not in vars(new))
        arrays = ((name, value) for name, value in each.values.items() if hasattr(value, "ctypes"))
        yield from (path + name for name, value in arrays if value.ctypes.data not in kept)


def _records(state: Record, fresh: Record, path: str) -> Iterator[tuple[str, Record, Record]]:
    """A record and those inside it, shared ones too, beside those of a new state."""
    yield path, state, fresh
    for name, each in state.values.items():
        if isinstance(each, Record):
            yield from _records(each, fresh.values[name], f"{path}{name}.")


# ---------------------------------------------------------------- randomness


def the_seed_decides(trial: Trial) -> None:
    """The same seed takes the same arms; others take others if it was ever undecided."""
    contexts, rewards = trial.draw()
    agent, arms, undecided = trial.agent(), [], 0
    for context, row in zip(contexts, rewards, strict=True):
        chances = agent.probabilities(context)
        arms.append(agent.choose(context))
        impossible = f"step {len(arms)} takes arm {arms[-1]}, whose probability is 0"
        trial.require(chances[arms[-1]] > 0, impossible)
        undecided += bool(chances.max() < 0.9)
        agent.update(context, arms[-1], float(row[arms[-1]]))
    again = play_one_by_one(trial.agent(), contexts, rewards)
    trial.require_same(again, arms, "the same seed takes other arms")
    seeds = (SEED + 1, 2**63 - 1)
    others = [play_one_by_one(trial.agent(seed), contexts, rewards) for seed in seeds]
    if undecided:
        # The first undecided rounds alone differ with probability at least 1 - 0.9² per two seeds.
        trial.require(any(other != arms for other in others), "other seeds take the same arms")
    else:
        same = all(other == arms for other in others)
        trial.require(same, "other seeds take other arms, though every probability was near 1")


def probabilities_are_frequencies(trial: Trial) -> None:
    """Arms are taken as often as ``probabilities`` says, with all arms and with one dropped."""
    contexts, rewards = trial.draw()
    for steps in ROUNDS:
        agent = trial.agent()
        play_one_by_one(agent, contexts[:steps], rewards[:steps])
        _require_frequencies(trial, agent, contexts[steps + 1], DRAWS)
        agent.drop_arm(1)
        dropped = agent.probabilities(contexts[steps + 2])[1]
        trial.require(dropped == 0, f"a dropped arm has the probability {dropped:g}")
        _require_frequencies(trial, agent, contexts[steps + 2], DRAWS // 4)


def _require_frequencies(trial: Trial, agent: Agent, context: FloatArray, draws: int) -> None:
    """Binomial test per arm at ``FALSE_ALARM``: draws depend on (seed, step) only."""
    from scipy.stats import binomtest  # two seconds to import

    chances = agent.probabilities(context)
    proper = (chances >= 0).all() and abs(chances.sum() - 1) <= 1e-9
    trial.require(proper, f"probabilities are no distribution: {chances}")
    decisions, seed = agent.decisions, agent.seed
    counts = np.zeros(trial.n_arms, np.int64)
    for agent.seed in range(draws):
        agent.decisions = decisions
        counts[agent.choose(context)] += 1
    agent.decisions, agent.seed = decisions, seed
    for count, chance in zip(counts.tolist(), np.minimum(chances, 1.0).tolist(), strict=True):
        likely = binomtest(count, draws, chance).pvalue > FALSE_ALARM
        trial.require(likely, f"{draws} draws took arms {counts}, by probabilities {chances}")


def score_draws_nothing(trial: Trial) -> None:
    """What is random is in the scores, so that probabilities show it: ``score`` has no generator.

    Asked twice it answers the same, whatever it was asked in between.
    """
    names = draws_of(type(trial.policy).score)
    shown = "what is random must be in the scores, where probabilities show it"
    trial.require(not names, f"score uses {', '.join(names)}: {shown}")
    contexts, rewards = trial.draw()
    agent, asked = trial.agent(), []
    for step, (context, row) in enumerate(zip(contexts, rewards, strict=True), start=1):
        first = agent.probabilities(context)
        agent.probabilities(contexts[step - 10])
        same = np.array_equal(first, agent.probabilities(context))
        trial.require(same, f"score answers step {step} in two ways: {shown}")
        asked.append(agent.choose(context))
        agent.update(context, asked[-1], float(row[asked[-1]]))
    usual = play_one_by_one(trial.agent(), contexts, rewards)
    trial.require_same(asked, usual, "score changes what is decided later: leave that to update")


# ---------------------------------------------------------------- what changes the state


def score_changes_scratch_only(trial: Trial) -> None:
    """``score`` changes fields that are declared as scratch, and nothing else."""
    contexts, rewards = trial.draw()
    agent = trial.agent()
    for step, (context, row) in enumerate(zip(contexts, rewards, strict=True), start=1):
        before = {path: each.copy() for path, each in agent.state.arrays(scratch=False)}
        arm = agent.choose(context)
        for path, each in agent.state.arrays(scratch=False):
            same = np.array_equal(before[path], each, equal_nan=each.dtype.kind == "f")
            told = "leave that to update, or declare the field with scratch=True"
            trial.require(same, f"score changes {path} in step {step}: {told}")
        agent.update(context, arm, float(row[arm]))


def update_learns_the_arm_taken(trial: Trial) -> None:
    """A reward raises by 1 the pulls of its arm alone, in an array named ``pulls``.

    A policy may learn from some rewards only. Where no array has the pulls, the arm must make a
    difference to what is learned.
    """
    contexts, rewards = trial.draw()
    agent = trial.agent()
    pulls = _pulls(agent)
    rises: set[str] = set()
    slips: dict[str, str] = {}
    for step, (context, row) in enumerate(zip(contexts, rewards, strict=True), start=1):
        arm, before = agent.choose(context), pulls
        agent.update(context, arm, float(row[arm]))
        pulls = _pulls(agent)
        for path, change in ((path, pulls[path] - before[path]) for path in pulls):
            if (change == (np.arange(trial.n_arms) == arm)).all():
                rises.add(path)
            elif change.any():
                changed = f"update changed {path} by {change.tolist()}"
                slips.setdefault(path, f"step {step} took arm {arm}, but {changed}")
    if not rises - set(slips):
        trial.require(not slips, next(iter(slips.values()), ""))
        _require_that_arms_matter(trial)


def _pulls(agent: Agent) -> dict[str, Any]:
    """The arrays of the state that have a count for each arm, by their paths."""
    named = ((path, each) for path, each in agent.state.arrays() if each.shape == (agent.n_arms,))
    return {path: each.copy() for path, each in named if path.rpartition(".")[2] == "pulls"}


def _require_that_arms_matter(trial: Trial) -> None:
    contexts, rewards = trial.draw()
    states = []
    for arm in range(2):
        agent = trial.agent()
        agent.update(contexts[0], arm, float(rewards[0, 0]))
        states.append([each.copy() for _, each in agent.state.arrays(scratch=False)])
    fresh = [each for _, each in trial.agent().state.arrays(scratch=False)]
    learns = any(not np.array_equal(a, b) for a, b in zip(states[0], fresh, strict=True))
    differ = any(not np.array_equal(a, b) for a, b in zip(*states, strict=True))
    trial.require(differ or not learns, "update learns the same whichever arm was taken")


# ---------------------------------------------------------------- eligible arms


def only_eligible_arms_are_chosen(trial: Trial) -> None:
    """No arm is taken that was dropped or is not eligible in the call."""
    contexts, rewards = trial.draw()
    rng = np.random.default_rng(3)
    agent = trial.agent()
    for step, (context, row) in enumerate(zip(contexts, rewards, strict=True)):
        if step == DROPPED_AT:
            agent.drop_arm(0)
        eligible = rng.permutation(trial.n_arms)[: rng.integers(1, trial.n_arms + 1)].tolist()
        left = set(eligible) - set(np.flatnonzero(agent.dropped).tolist())
        if not left:
            continue
        arm = agent.choose(context, eligible=eligible)
        trial.require(arm in left, f"step {step + 1} took arm {arm}, of the eligible {left}")
        agent.update(context, arm, float(row[arm]))


# ---------------------------------------------------------------- all of them

#: The checks by name, all but the one that starts a process.
IN_PROCESS: dict[str, Callable[[Trial], None]] = {
    each.__name__: each
    for each in (
        options_are_refused_by_name,
        simulate_takes_the_same_arms,
        score_changes_scratch_only,
        score_draws_nothing,
        update_learns_the_arm_taken,
        many_at_once_is_one_by_one,
        a_loaded_agent_goes_on,
        the_seed_decides,
        probabilities_are_frequencies,
        only_eligible_arms_are_chosen,
    )
}
