"""Run with ``NUMBA_DISABLE_JIT=1``: the files that a call walks through, printed as JSON.

A file counts when a function of it runs; those of ``compiling/`` do not, since in compiled code
reading a field is a load and finding a kernel is done when types are inferred.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numba
import numpy as np

import greedyfirst
from greedyfirst import Agent, Greedy, GreedyFirst, simulate

HOME = Path(greedyfirst.__file__).parent
FLOOR = "compiling/"


def note(frame, files):
    """Add the file of a frame's function to ``files``, if it is one of the package's that count."""
    path = Path(frame.f_code.co_filename)
    if path.is_relative_to(HOME):
        name = path.relative_to(HOME).as_posix()
        if not name.startswith(FLOOR) and name not in files:
            files.append(name)


def walk(call):
    """The package's files whose functions run, in the order of their first frames."""
    files = []

    def profile(frame, event, _):
        if event == "call":
            note(frame, files)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files


class Given:
    """A problem of arrays."""

    n_arms, n_features = 2, 3

    def draw(self, rng, horizon):
        tables = rng.normal(size=(horizon, 3)), rng.normal(size=(horizon, 2))
        return *tables, tables[1].max(axis=1, keepdims=True) - tables[1]


def first_rounds(policy, rounds=40):
    """Decisions and rewards from the first round on, while Gram matrices are singular too."""
    agent, rng = Agent(policy, n_arms=2, n_features=3, seed=1), np.random.default_rng(0)

    def play():
        for _ in range(rounds):
            context = rng.normal(size=3)
            agent.update(context, agent.choose(context), float(rng.normal()))

    return agent, play


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    found = {}
    context, settings = np.ones(3), {"n_instances": 2, "horizon": 30, "seed": 1}
    for name, policy in {"Greedy": Greedy(), "GreedyFirst": GreedyFirst()}.items():
        agent, play = first_rounds(policy)
        found[f"rounds, {name}"] = walk(play)
        found[f"choose, {name}"] = walk(partial(agent.choose, context))
        found[f"update, {name}"] = walk(partial(agent.update, context, 0, 1.0))
    policies = {"Greedy": Greedy()}
    full = walk(lambda: simulate(Given(), policies, **settings))
    found["simulate, Greedy"] = [file for file in full if file not in found["rounds, Greedy"]]
    print(json.dumps(found))
