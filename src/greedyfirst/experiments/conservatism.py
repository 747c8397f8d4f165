"""How conservative Theorems 2 and 4 are: their bounds beside the shares of simulated runs.

**Success of the Greedy Bandit** is the event that Theorem 2's proof bounds: from round Km on, every
arm's estimate stays within h/(2x_max) of the truth. A run sees rounds Km … T only, so the share
that stays inside is an upper estimate of the event for all time, and falls with T; estimates that
have stayed inside for some hundreds of rounds hardly ever leave.

The event is sufficient for what one wants, not necessary. The **mild** measure counts runs in
which, over the second half, no decision costs h or more: every run of the event is among them, and
runs that have dropped an arm are not.

**Greedy-First stays greedy** when its test never fails up to T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from scipy import stats

from greedyfirst.compiling.calls import argument, compiled
from greedyfirst.engines.engine import Arrays, Spread, Work, blocks_of, engine_for, run_in_order
from greedyfirst.policies import Greedy, GreedyFirst
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import score, update
from greedyfirst.policies.selection import chosen_arm
from greedyfirst.problems import LinearProblem
from greedyfirst.simulation import simulate
from greedyfirst.simulation.simulate import block_size
from greedyfirst.theory.bounds.assumption_errors import POSITIVE, required_by
from greedyfirst.validation import FloatArray, number, whole_number

# What `follow` notes of a run: the first round with an estimate outside the ball, and the last
# decision that cost h or more; 0 for never.
LEFT, ERRED = range(2)


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of independent runs."""

    count: int
    n_runs: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.n_runs

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The Clopper-Pearson interval of the probability behind it."""
        found = stats.binomtest(self.count, self.n_runs).proportion_ci(confidence)
        return float(found.low), float(found.high)

    @property
    def half_width(self) -> float:
        """Half the length of the 95 % interval."""
        low, high = self.interval()
        return (high - low) / 2

    def below(self, bound: float) -> float:
        """The chance of a share this low if the probability were ``bound``: a p-value."""
        return float(stats.binom.cdf(self.count, self.n_runs, bound))


@dataclass(frozen=True, kw_only=True)
class GreedyShares:
    """How often the Greedy Bandit succeeded."""

    #: Runs whose estimates stayed within h/(2x_max) from round Km to T: Theorem 2's event.
    inside: Share
    #: Runs without a decision that cost h or more in the second half.
    mild: Share
    horizon: int


def follow(
    policy: Any,
    state: Any,
    seed: int,
    contexts: FloatArray,
    rewards: FloatArray,
    regrets: FloatArray,
    eligible: FloatArray,
    truth: FloatArray,
    limits: FloatArray,
    noted: FloatArray,
) -> None:
    """Play one instance and note LEFT and ERRED; ``limits`` has Km, the squared radius and h."""
    n_arms = truth.shape[0]
    for t in range(contexts.shape[0]):
        step = t + 1
        context = contexts[t]
        due = score(policy, state, step, context, eligible)
        arm = chosen_arm(due, state.scores, eligible, seed, step)
        if arm < 0:  # estimates that are no numbers
            noted[LEFT] = noted[ERRED] = contexts.shape[0]
            return
        if regrets[t, arm] >= limits[2]:
            noted[ERRED] = step
        update(policy, state, step, context, arm, rewards[t, arm])
        if step < limits[0] or noted[LEFT] > 0.0:
            continue
        for other in range(n_arms):
            distance = 0.0
            for i in range(truth.shape[1]):
                error = state.model.estimate[other, i] - truth[other, i]
                distance += error * error
            if distance >= limits[1]:
                noted[LEFT] = step


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyRuns:
    """The task of `simulate_greedy`: its items are runs, of which ``noted`` is kept."""

    problem: LinearProblem
    initial_pulls: int
    limits: FloatArray  # Km, the squared radius and h
    horizon: int
    seed: int

    def prepare(self) -> Work:
        """A state of one thread."""
        K, d = self.problem.n_arms, self.problem.n_features
        policy = Greedy(warmup="none", initial_pulls=self.initial_pulls)
        options = policy.options(K, d)
        buffer, state = new_state(options, K, d, self.horizon)
        fresh, eligible, empty = buffer.copy(), np.ones(K), np.zeros((0, K))
        tables = (np.zeros((0, d)), empty, empty)
        others = (eligible, np.zeros((K, d)), self.limits, np.zeros(2))
        follows = loop_for(follow, policy, options, state)
        loop = compiled(follows, options, state, 0, *tables, *others)

        def work(run: int) -> Arrays:
            source = np.random.SeedSequence(self.seed, spawn_key=(run,))
            truth = self.problem.draw_parameters(np.random.default_rng(source))
            draw = self.problem.draw(np.random.default_rng(source), self.horizon)
            ties = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
            buffer[:], noted = fresh, np.zeros(2)
            records = argument(options), argument(state)
            loop(*records, ties, *draw, eligible, truth, self.limits, noted)
            return {"noted": noted}

        return work


def simulate_greedy(
    problem: LinearProblem,
    *,
    initial_pulls: int,
    h: float,
    x_max: float,
    horizon: int,
    n_runs: int,
    seed: int,
    **spread: Unpack[Spread],
) -> GreedyShares:
    """Run the Greedy Bandit and count successes, by both measures.

    Parameters
    ----------
    problem
        Arms, contexts and noise.
    initial_pulls
        m, pulls of each arm before the first greedy choice.
    h, x_max
        The lead of Assumption 4 and the bound of ‖x‖: the ball's radius is h/(2x_max).
    horizon, n_runs, seed
        T, above Km; runs; run i depends on (seed, i) only.
    **spread
        ``n_jobs``, ``engine`` and ``resume``, as in :func:`greedyfirst.simulate`.
    """
    K, d = problem.n_arms, problem.n_features
    initial_pulls = whole_number("initial_pulls", initial_pulls, at_least=d)
    with required_by(POSITIVE):
        h = number("h", h, above=0)
    radius = h / (2 * number("x_max", x_max, above=0))
    horizon = whole_number("horizon", horizon, at_least=K * initial_pulls + 1)
    n_runs = whole_number("n_runs", n_runs, at_least=1)
    task = GreedyRuns(
        problem=problem,
        initial_pulls=initial_pulls,
        limits=np.array([K * initial_pulls, radius**2, h]),
        horizon=horizon,
        seed=seed,
    )
    blocks = blocks_of(n_runs, block_size(n_runs, horizon))
    inside = mild = 0
    for noted in run_in_order(engine_for(**spread), task, blocks):
        inside += int(np.count_nonzero(noted["noted"][:, LEFT] == 0))
        mild += int(np.count_nonzero(noted["noted"][:, ERRED] <= horizon // 2))
    return GreedyShares(
        inside=Share(count=inside, n_runs=n_runs),
        mild=Share(count=mild, n_runs=n_runs),
        horizon=horizon,
    )


def simulate_greedy_first(
    problem: LinearProblem,
    *,
    initial_pulls: int,
    lambda0: float,
    t0: int,
    horizon: int,
    n_runs: int,
    seed: int,
    **spread: Unpack[Spread],
) -> Share:
    """The share of Greedy-First's runs that never switch up to ``horizon``."""
    policy = GreedyFirst(initial_pulls=initial_pulls, lambda0=lambda0, t0=t0, span="full")
    result = simulate(
        problem,
        {"Greedy-First": policy},
        n_instances=n_runs,
        horizon=whole_number("horizon", horizon, at_least=t0 + 1),
        seed=seed,
        progress=False,
        **spread,
    )
    return Share(count=n_runs - result.switches["Greedy-First"], n_runs=n_runs)
