"""A user's draws in any layout, and Ctrl-C: in processes of their own, which may die of it."""

import signal
import subprocess
import sys
import time

import pytest

from support.interrupts import hear_interrupts

OWN_PROBLEM = """
import numpy as np
from greedyfirst import FixedArm, Greedy, simulate

rng = np.random.default_rng(0)
contexts, rewards = rng.integers(-3, 4, size=(50, 2)), rng.integers(0, 5, size=(50, 3))
regrets = rewards.max(axis=1, keepdims=True) - rewards
tables = [table.astype(float) for table in (contexts, rewards, regrets)]

class Problem:
    n_arms, n_features = 3, 2
    def __init__(self, change):
        self.change = change
    def draw(self, rng, horizon):
        return self.change([table.copy() for table in tables])

def run(change):
    policies = {"Greedy": Greedy(warmup="pinv", initial_pulls=2), "fixed": FixedArm(arm=1)}
    return simulate(Problem(change), policies, n_instances=2, horizon=50, seed=0).mean

truth = run(lambda tables: tables)
for name, change in changes.items():
    print(name, end=": ", flush=True)
    try:
        same = (run(change) == truth).all()
    except ValueError:
        print("refused")
    except Exception as error:
        print(type(error).__name__, error)
    else:
        print("same" if same else "wrong numbers")
"""
LAYOUTS = {
    "Fortran order": "[np.asfortranarray(table) for table in tables]",
    "strided": "[np.repeat(table, 2, axis=1)[:, ::2] for table in tables]",
    "integers": "[table.astype(np.int64) for table in tables]",
    "single precision": "[table.astype(np.float32) for table in tables]",
    "read-only": "[table for table in tables if not table.setflags(write=False)]",
    "lists": "[table.tolist() for table in tables]",
}
MISTAKES = {
    "too few rows": "[table[:40] for table in tables]",
    "rewards too short": "[tables[0], tables[1][:3], tables[2]]",
    "arms missing": "[tables[0], tables[1][:, :1], tables[2][:, :1]]",
    "features missing": "[tables[0][:, :1], tables[1], tables[2]]",
    "no regrets": "tables[:2]",
    "not a number": "[tables[0], tables[1] * np.nan, tables[2]]",
}


def answers(changes):
    """What simulate says to each change of a good draw, all in one process."""
    table = ", ".join(f"{name!r}: lambda tables: {change}" for name, change in changes.items())
    done = subprocess.run(
        [sys.executable, "-c", f"import numpy as np\nchanges = {{{table}}}\n{OWN_PROBLEM}"],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_a_users_draw_may_have_any_layout():
    given = answers(LAYOUTS)
    assert list(given) == list(LAYOUTS)
    assert set(given.values()) <= {"same", "refused"}, given


def test_a_users_draw_of_the_wrong_shape_is_refused():
    assert answers(MISTAKES) == dict.fromkeys(MISTAKES, "refused")


LONG_RUN = """
import sys
from greedyfirst import simulate
from greedyfirst.experiments import EXPERIMENTS

experiment = EXPERIMENTS["fig2a"]

class Loud:
    n_arms, n_features = experiment.problem.n_arms, experiment.problem.n_features
    def draw(self, rng, horizon):
        sys.stdout.write("drawing\\n")
        sys.stdout.flush()
        return experiment.problem.draw(rng, horizon)

try:
    simulate(Loud(), experiment.policies, n_instances=10**6, horizon=10_000, seed=0,
        n_jobs={n_jobs})
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_a_long_run(n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", LONG_RUN.format(n_jobs=n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        for _ in range(20):
            assert process.stdout.readline() == "drawing\n"
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        try:
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert time.monotonic() - start < 5
    assert out.endswith("stopped\n")
    assert err == ""
    assert process.returncode == 0
