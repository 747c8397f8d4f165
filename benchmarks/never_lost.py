"""How often a policy gives up an arm that is the best for some, in 50 000 rounds.

    python benchmarks/never_lost.py [--instances 300] [--horizon 50000] [--only TEXT] [--jobs 2]
                                    [--policy TEXT]

In each run of a problem an arm counts that is the best for at least 5 % of the second half's
rounds. It is *lost* if it gets less than 1 % of these rounds. Prints the runs in which an arm is
lost, of the field's hard problems (``problems_of_the_field.py``), and ends with 1 if GreedyFirst()
loses one.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from greedyfirst import simulate
from greedyfirst.validation import whole_number
from hindsight import SEED, policies
from problems_of_the_field import hard

FREQUENT, LOST = 0.05, 0.01
PLAYED = (
    "GreedyFirst()",
    "Greedy()",
    'LinUCB(regularization="auto")',
    'LinUCB(alpha=1.0, regularization="auto")',
    'ThompsonSampling(prior_covariance="auto")',
)


class Losses:
    """Counts the runs in which an arm is lost, by policy."""

    def __init__(self, problem: object, horizon: int, n_policies: int) -> None:
        self.problem, self.horizon = problem, horizon
        self.runs = np.zeros(n_policies, dtype=int)

    def add(self, instance: int, arms: np.ndarray) -> None:
        source = np.random.SeedSequence(SEED, spawn_key=(instance,))
        draw = self.problem.draw(np.random.default_rng(source), self.horizon)
        half = self.horizon // 2
        best = draw.regrets[half:] == 0.0
        for policy, chosen in enumerate(arms[:, half:]):
            for arm in np.flatnonzero(best.mean(axis=0) >= FREQUENT):
                given = (chosen == arm)[best[:, arm] & (best.sum(axis=1) == 1)]
                if len(given) and given.mean() < LOST:
                    self.runs[policy] += 1
                    break


def main() -> None:
    """Play everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--horizon", type=int, default=50_000)
    parser.add_argument("--only", default="", help="problems whose names contain this")
    parser.add_argument("--policy", default="", help="policies whose names contain this")
    parser.add_argument("--jobs", type=int, default=-1, help="threads; -1 is one per processor")
    arguments = parser.parse_args()
    whole_number("--instances", arguments.instances, at_least=1)
    whole_number("--horizon", arguments.horizon, at_least=2)
    field = {name: policies()[name] for name in PLAYED if arguments.policy in name}
    print(f"runs of {arguments.instances} in which an arm is lost: {', '.join(field)}")
    ours = 0
    for name, problem, _ in hard():
        if arguments.only not in name:
            continue
        losses = Losses(problem, arguments.horizon, len(field))
        simulate(
            problem,
            field,
            n_instances=arguments.instances,
            horizon=arguments.horizon,
            seed=SEED,
            n_jobs=arguments.jobs,
            progress=False,
            collect=losses.add,
        )
        print(f"{name}: {', '.join(map(str, losses.runs))}", flush=True)
        ours += int(losses.runs[0])
    sys.exit(int(ours > 0))


if __name__ == "__main__":
    main()
