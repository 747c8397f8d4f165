"""One thread's policies, ready to play: states are set back to their first decision by a copy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from greedyfirst.compiling.calls import argument, compiled, run
from greedyfirst.engines.engine import Arrays, Work
from greedyfirst.links.link import check_rewards
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import refuse
from greedyfirst.problems.problem import Problem
from greedyfirst.simulation.episode import due_at, play
from greedyfirst.validation import FloatArray, array, wrong


@dataclass(frozen=True, kw_only=True, eq=False)
class Instances:
    """The task of a simulation: its items are instances, each played by every policy.

    An item's result, with the policies as the first axis of each array:

    ``curves`` (n_points,)
        the regret summed up to each step of ``grid``: some 50 numbers, whatever the horizon;
    ``final``, ``switched_at``, ``eigenvalues``, ``culprit``, ``alarmed_at``, ``seconds`` ()
        the regret of all rounds, and what :class:`SimulationResult` says of the others;
    ``pulls`` (n_arms,), ``weakest`` (n_features,)
        likewise;
    ``arms`` (horizon,) or (0,)
        the arm of each round, if ``keeps_arms``.
    """

    problem: Problem
    policies: tuple[Policy, ...]
    seed: int
    horizon: int
    grid: NDArray[np.int64]
    keeps_arms: bool

    def prepare(self) -> Work:
        """A bench of one thread."""
        return Bench(self).run


class Place(NamedTuple):
    """A policy ready to play."""

    loop: Any
    options: Any
    state: Any
    buffer: np.ndarray
    fresh: np.ndarray  # the buffer before the first decision
    in_python: bool

    def arguments(self, options: Any) -> tuple[Any, Any]:
        """Options and state as the loop takes them."""
        if self.in_python:
            return options, self.state
        return argument(options), argument(self.state)


class Bench:
    """One thread's states: a policy is set back to its first decision by copying its buffer."""

    def __init__(self, task: Instances) -> None:
        self.task = task
        self.problem, self.policies, self.horizon = task.problem, task.policies, task.horizon
        n_arms, n_features = self.problem.n_arms, self.problem.n_features
        self.eligible = np.ones(n_arms)
        self.places: list[Place] = []
        for policy in self._informed(0):
            options = policy.options(n_arms, n_features)
            buffer, state = new_state(options, n_arms, n_features, self.horizon)
            tables = np.zeros((0, n_arms))
            loop = compiled(
                loop_for(play, policy, options, state),
                options,
                state,
                0,
                np.zeros((0, n_features)),
                tables,
                tables,
                self.eligible,
                np.zeros(0, np.int64),
                np.zeros(0),
                np.zeros(n_arms),
                np.zeros(0, np.int16),
            )
            in_python = not policy.is_compiled()
            self.places.append(Place(loop, options, state, buffer, buffer.copy(), in_python))

    def _source(self, instance: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.task.seed, spawn_key=(instance,))

    def _informed(self, instance: int) -> tuple[Policy, ...]:
        """The policies, with what they ask to know of this instance."""
        if not any(policy.needs_truth() for policy in self.policies):
            return self.policies
        tell = getattr(self.problem, "draw_parameters", None)
        if not callable(tell):
            expected = "one with draw_parameters(rng), for policies that must know the truth"
            raise wrong("problem", self.problem, expected)
        shape = (self.problem.n_arms, self.problem.n_features)
        truth = tell(np.random.default_rng(self._source(instance)))
        known = array("parameters of problem.draw_parameters()", truth, shape)
        return tuple(
            policy.informed(known) if policy.needs_truth() else policy for policy in self.policies
        )

    def run(self, instance: int) -> Arrays:
        """Play one instance with every policy."""
        source = self._source(instance)
        draw = self._checked(self.problem.draw(np.random.default_rng(source), self.horizon))
        decision_seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
        result = self._empty_result()
        told = self._informed(instance)
        for number, (policy, place) in enumerate(zip(told, self.places, strict=True)):
            options = place.options
            if policy is not self.policies[number]:
                options = policy.options(self.problem.n_arms, self.problem.n_features)
            place.buffer[:] = place.fresh
            start = time.perf_counter()
            result["final"][number] = place.loop(
                *place.arguments(options),
                decision_seed,
                *draw,
                self.eligible,
                self.task.grid,
                result["curves"][number],
                result["pulls"][number],
                result["arms"][number],
            )
            result["seconds"][number] = time.perf_counter() - start
            played = int(result["pulls"][number].sum())
            if played < self.horizon:
                self._refuse(policy, place, played + 1, draw[0][played])
            watch = policy.watch(place.state)
            if watch is not None:
                result["switched_at"][number] = watch.switched_at
                result["eigenvalues"][number] = watch.eigenvalue_computations
                result["culprit"][number] = watch.culprit
                if watch.culprit >= 0:
                    result["weakest"][number] = watch.weakest[watch.culprit]
                    result["alarmed_at"][number] = watch.tripped_at[watch.culprit]
        return result

    def _refuse(self, policy: Policy, place: Place, step: int, context: FloatArray) -> NoReturn:
        """Say why the policy's decision at this step cannot be made: score it again."""
        again = loop_for(due_at, policy, place.options, place.state)
        due = run(again, place.options, place.state, step, context, self.eligible)
        refuse(policy, due, place.state.scores, self.eligible, step)

    def _empty_result(self) -> dict[str, NDArray[Any]]:
        n = len(self.places)
        return {
            "curves": np.zeros((n, len(self.task.grid))),
            "final": np.zeros(n),
            "switched_at": np.zeros(n, np.int64),
            "eigenvalues": np.zeros(n, np.int64),
            "pulls": np.zeros((n, self.problem.n_arms)),
            "culprit": np.full(n, -1),
            "weakest": np.zeros((n, self.problem.n_features)),
            "alarmed_at": np.zeros(n, np.int64),
            "seconds": np.zeros(n),
            "arms": np.zeros((n, self.horizon if self.task.keeps_arms else 0), np.int16),
        }

    def _checked(self, draw: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The tables of a draw, as the kernels need them: they read without looking."""
        try:
            contexts, rewards, regrets = draw
        except (TypeError, ValueError):
            raise wrong("problem.draw()", draw, "contexts, rewards and regrets") from None
        long, wide = (self.horizon, self.problem.n_features), (self.horizon, self.problem.n_arms)
        rewards = array("rewards of problem.draw()", rewards, wide)
        for link in {policy.reward_link() for policy in self.policies}:
            check_rewards("rewards of problem.draw()", link, rewards)
        return (
            array("contexts of problem.draw()", contexts, long),
            rewards,
            array("regrets of problem.draw()", regrets, wide),
        )
