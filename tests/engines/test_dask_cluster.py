"""A real cluster of two worker processes: the same bits as threads, whatever dies."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster

from greedyfirst import FixedArm, Greedy, GreedyFirst, ThompsonSampling, Uniform, simulate
from greedyfirst.engines import dask_cluster
from greedyfirst.experiments.conservatism import simulate_greedy
from greedyfirst.experiments.figure1 import problem as example1
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    TableProblem,
)
from support.interrupts import hear_interrupts

PROBLEM = LinearProblem(
    contexts=ClippedGaussian(n_features=3, covariance=0.5, bound=1.0),
    arms=GaussianParameters(n_arms=2, mean=np.zeros(3)),
    noise=GaussianNoise(sigma=0.5),
)
POLICIES = {"Greedy-First": GreedyFirst(), "Thompson": ThompsonSampling()}
SETTINGS = {"n_instances": 21, "horizon": 253, "seed": 4}
ARRAYS = ("mean", "half_width", "final", "switched_at", "pulls", "culprit", "weakest", "alarmed_at")


@pytest.fixture(scope="session")
def client():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def reference():
    return simulate(PROBLEM, POLICIES, **SETTINGS)


def assert_same(result, reference):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(result, name), getattr(reference, name), name)


def tasks_on(client):
    """Names of our tasks that the scheduler knows."""
    return client.run_on_scheduler(
        lambda dask_scheduler: [key for key in dask_scheduler.tasks if "greedyfirst" in str(key)]
    )


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ------------------------------------------------------------------------------- the same bits


@pytest.mark.parametrize("chunk_size", [None, 4, 50])
def test_the_same_bits_as_threads(client, reference, chunk_size):
    result = simulate(PROBLEM, POLICIES, **SETTINGS, engine=client, chunk_size=chunk_size)
    assert_same(result, reference)
    until(lambda: not tasks_on(client))


def test_arms_curves_and_progress(client, capsys):
    def gathered(**spread):
        found = []
        simulate(
            PROBLEM,
            POLICIES,
            **SETTINGS,
            **spread,
            progress=True,
            collect=lambda instance, arms: found.append((instance, arms.tolist())),
            collect_curves=lambda instance, curves: found.append((instance, curves.tolist())),
        )
        return found

    assert gathered(engine=client) == gathered(n_jobs=1)
    assert capsys.readouterr().err.count("21/21") == 2


def test_simulated_shares(client):
    settings = {"initial_pulls": 5, "h": 0.3, "x_max": 1.0, "horizon": 60, "n_runs": 30, "seed": 1}
    on_threads = simulate_greedy(example1(0.1), **settings)
    assert simulate_greedy(example1(0.1), **settings, engine=client) == on_threads
    assert 0 < on_threads.inside.count < 30  # the comparison says something


def test_blocks_on_disk_serve_both_engines(client, reference, tmp_path):
    first = simulate(PROBLEM, POLICIES, **SETTINGS, engine=client, resume=tmp_path)
    blocks = sorted(tmp_path.rglob("*.gf"))
    assert len(blocks) == 21
    blocks[3].unlink()
    again = simulate(PROBLEM, POLICIES, **SETTINGS, n_jobs=2, resume=tmp_path)
    for result in (first, again):
        assert_same(result, reference)


# ------------------------------------------------------------------------------- what dies


def own_problem(log):
    """A problem of a user, which notes each draw in a file, and is no module's."""

    class Noted:
        n_arms, n_features = PROBLEM.n_arms, PROBLEM.n_features

        def draw(self, rng, horizon):
            with open(log, "a") as file:
                file.write(".")
            return PROBLEM.draw(rng, horizon)

    return Noted()


def test_a_dead_worker_costs_its_block(client, tmp_path):
    """Half-way, one of two workers is killed; 60 instances in blocks of 3."""
    settings = {**SETTINGS, "n_instances": 60}
    killed = []

    def kill_one(instance, curves):
        if instance == 30:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    log = tmp_path / "draws"
    result = simulate(
        own_problem(log),
        POLICIES,
        **settings,
        engine=client,
        chunk_size=3,
        collect_curves=kill_one,
    )
    assert_same(result, simulate(PROBLEM, POLICIES, **settings))
    # Its own block, and those that were ready but had not been fetched yet: of the few that the
    # scheduler knows of.
    assert killed
    known = 2 * dask_cluster.BLOCKS_PER_THREAD + dask_cluster.BLOCKS_BESIDES
    assert 60 <= len(log.read_text()) < 60 + 3 * known
    client.wait_for_workers(2, timeout=60)


@pytest.mark.nightly
def test_a_block_that_kills_every_worker_is_given_up(client):
    class Deadly:
        n_arms, n_features = 2, 3

        def draw(self, rng, horizon):
            os.kill(os.getpid(), signal.SIGKILL)

    def allow(deaths):
        def change(dask_scheduler):
            dask_scheduler.allowed_failures = deaths

        client.run_on_scheduler(change)

    allow(0)  # 3 unless told otherwise: each death takes a worker's start
    try:
        with pytest.raises(ConnectionError, match=r"the same block was on 1 workers? that died"):
            simulate(
                Deadly(), {"f": FixedArm(arm=0)}, n_instances=1, horizon=9, seed=0, engine=client
            )
    finally:
        allow(3)
    client.wait_for_workers(2, timeout=60)


def test_a_users_exception_reaches_the_user(client):
    class Broken:
        n_arms, n_features = 2, 3

        def draw(self, rng, horizon):
            raise LookupError("no such patient")

    with pytest.raises(LookupError, match="no such patient"):
        simulate(Broken(), POLICIES, **SETTINGS, engine=client)
    until(lambda: not tasks_on(client))


def test_an_error_at_home_cancels_the_work(client):
    def fail(instance, curves):
        raise LookupError("full")

    with pytest.raises(LookupError, match="full"):
        simulate(PROBLEM, POLICIES, **SETTINGS, engine=client, collect_curves=fail)
    until(lambda: not tasks_on(client))


def test_control_c_cancels_the_work(client, tmp_path):
    words = ["figure", "fig2a", "--instances", "100000", "--cluster", client.scheduler.address]
    with subprocess.Popen(
        [sys.executable, "-m", "greedyfirst", *words, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        until(lambda: len(tasks_on(client)) > 5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted\n")
    until(lambda: not tasks_on(client))


# ------------------------------------------------------------------------------- what travels

SCRIPT = """
import sys
from dataclasses import dataclass
import numpy as np
from distributed import Client
from greedyfirst import Greedy, simulate
from greedyfirst.problems import FromFunction, GaussianNoise, LinearProblem

SHIFT = 0.25

def shifted(rng, size):
    return rng.uniform(size=(size, 2)) - SHIFT

class Own:
    n_arms, n_features = 2, 2
    problem = LinearProblem(
        contexts=FromFunction(n_features=2, draw=shifted),
        arms=[[1.0, 0.0], [0.0, 1.0]], noise=GaussianNoise(sigma=0.1),
    )
    def draw(self, rng, horizon):
        return self.problem.draw(rng, horizon)

@dataclass(frozen=True, kw_only=True)
class OwnPolicy(Greedy):
    pass

if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        settings = {"n_instances": 5, "horizon": 50, "seed": 1}
        here, there = (
            simulate(Own(), {"Greedy": Greedy()}, **settings, engine=engine)
            for engine in (None, client)
        )
        print(np.array_equal(here.mean, there.mean), here.mean[0, -1] > 0)
        try:
            simulate(Own(), {"own": OwnPolicy()}, **settings, engine=client)
        except ValueError as error:
            print(error)
"""


def test_what_a_script_defines(client, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = [sys.executable, str(script), client.scheduler.address]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    compared, refused = done.stdout.splitlines()
    assert compared == "True True"
    assert "OwnPolicy must be defined in a module that the workers can import" in refused


MODULE = """
from dataclasses import dataclass
from greedyfirst import FixedArm

@dataclass(frozen=True, kw_only=True)
class Other(FixedArm):
    pass

class Constant:
    n_arms, n_features = 2, 1
    def draw(self, rng, horizon):
        import numpy as np
        rewards = np.zeros((horizon, 2))
        rewards[:, 0] = LEAD
        return np.ones((horizon, 1)), rewards, LEAD - rewards

LEAD = 1.0
"""


def test_a_module_that_was_sent_and_an_older_one(client, tmp_path, monkeypatch):
    """Workers run the code that this program has, or refuse."""
    module = tmp_path / "own_module.py"
    module.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    import own_module

    def run():
        policies = {"other": own_module.Other(arm=1)}
        return simulate(
            own_module.Constant(), policies, n_instances=3, horizon=10, seed=0, engine=client
        )

    try:
        with pytest.raises(ValueError, match=r"not have the same own_module\.\w+ as this program"):
            run()
        client.upload_file(str(module))
        np.testing.assert_array_equal(run().final, 10.0)
        monkeypatch.setattr(own_module, "LEAD", 2.0)
        with pytest.raises(ValueError, match=r"not have the same own_module\.Constant"):
            run()
    finally:
        del sys.modules["own_module"]


def test_what_cannot_be_pickled(client):
    class Locked:
        n_arms, n_features = 2, 3

        def __init__(self):
            self.lock = threading.Lock()

        def draw(self, rng, horizon):
            return PROBLEM.draw(rng, horizon)

    with pytest.raises(ValueError, match=r"must be picklable: .*lock"):
        simulate(Locked(), POLICIES, **SETTINGS, engine=client)


@pytest.mark.nightly
def test_large_tables_travel(client):
    """16 MB, of which Dask would warn."""
    rng = np.random.default_rng(0)
    problem = TableProblem(
        contexts=rng.normal(size=(100_000, 18)), rewards=rng.normal(size=(100_000, 2)), shuffle=True
    )
    settings = {"n_instances": 3, "horizon": 50, "seed": 1}
    policies = {"Greedy": Greedy()}
    result = simulate(problem, policies, **settings, engine=client)
    assert_same(result, simulate(problem, policies, **settings))


# ------------------------------------------------------------------------------- kernels


def kernel_counts(client):
    """Of each worker: kernels' entries found on the disk, and compiled."""

    def count():
        import gc

        from greedyfirst.compiling.kernels import Entry

        entries = [each for each in gc.get_objects() if isinstance(each, Entry)]
        stats = [each.dispatcher.stats for each in entries if "dispatcher" in vars(each)]
        return tuple(
            sum(sum(getattr(each, kind).values()) for each in stats)
            for kind in ("cache_hits", "cache_misses")
        )

    return client.run(count)


@pytest.mark.nightly
def test_kernels_are_compiled_once_per_host(tmp_path, monkeypatch):
    """Two fresh workers and an empty cache; both play, one compiles."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    with dask_cluster.local_workers(2) as client:
        client.wait_for_workers(2, timeout=60)
        policies = {"uniform": Uniform()}
        problem = own_problem(tmp_path / "draws")
        simulate(problem, policies, n_instances=40, horizon=20_000, seed=1, engine=client)
        counts = sorted(kernel_counts(client).values())
    assert counts[0][0] == 0 < counts[0][1]
    assert counts[1] == (counts[0][1], 0)


# ------------------------------------------------------------------------------- bad input


def test_not_a_client():
    for engine in ("tcp://127.0.0.1:8786", 2, Client):
        with pytest.raises(ValueError, match=r"^engine must be None .* got"):
            simulate(PROBLEM, POLICIES, **SETTINGS, engine=engine)


def test_a_closed_client(client):
    with Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(ValueError, match="engine must be a client that is connected"):
        simulate(PROBLEM, POLICIES, **SETTINGS, engine=closed)


def test_threads_and_a_client(client):
    with pytest.raises(ValueError, match="n_jobs must be left out where an engine is given"):
        simulate(PROBLEM, POLICIES, **SETTINGS, engine=client, n_jobs=2)


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(dask_cluster, "WORKERS_WITHIN", 0.5)
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=0, processes=True, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.raises(ConnectionError, match=r"has had no workers for 0\.5 s"),
    ):
        simulate(PROBLEM, POLICIES, **SETTINGS, engine=client)
