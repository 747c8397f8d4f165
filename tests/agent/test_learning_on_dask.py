"""Logs that are learned on a real cluster of two workers: the same bits as on threads."""

import os
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from greedyfirst import Agent, GLMGreedy, Greedy, GreedyFirst, OLSBandit, ThompsonSampling
from greedyfirst.cli import main
from greedyfirst.engines.dask_cluster import cluster_at, local_workers
from support.dask_programs import scheduler_program, worker_program

N_ARMS, N_FEATURES, ROWS = 3, 4, 60_000
NAMES = [f"x{i}" for i in range(N_FEATURES)]
POLICIES = {
    "learned ridge": Greedy(),
    "arm by arm": GreedyFirst(),
    "switches": GreedyFirst(fallback=OLSBandit(h=0.5), t0=20_000, lambda0=0.9),
    "likelihood": GLMGreedy(link="logistic", memory=500),
    "row by row": ThompsonSampling(),
}


@pytest.fixture(scope="module")
def client():
    with local_workers(2) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Ten row groups; arm 2 only where the second feature is high; rewards are 0 or 1."""
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    rng = np.random.default_rng(0)
    x = np.c_[np.ones(ROWS), rng.normal(size=(ROWS, N_FEATURES - 1))]
    x[: ROWS // 2, 3] = 0.0
    arms = np.where(x[:, 1] > 0.6, 2, rng.integers(0, 2, ROWS))
    effects = rng.normal(size=(N_ARMS, N_FEATURES))
    chances = 1.0 / (1.0 + np.exp(-(x * effects[arms]).sum(axis=1)))
    rewards = (rng.random(ROWS) < chances).astype(float)
    columns = dict(zip(NAMES, x.T, strict=True))
    pq.write_table(
        pa.table({**columns, "arm": arms, "reward": rewards}), path, row_group_size=ROWS // 10
    )
    return path


def new_agent(policy):
    return Agent(policy, n_arms=N_ARMS, n_features=N_FEATURES, seed=5)


def learned(policy, path, **options):
    agent = new_agent(policy)
    assert agent.learn_from(path, **options) == pq.read_metadata(path).num_rows
    return agent


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_same_bits_as_threads(policy, client, log):
    found, truth = learned(policy, log, engine=client), learned(policy, log, n_jobs=2)
    np.testing.assert_array_equal(found.buffer, truth.buffer)
    np.testing.assert_array_equal(found.alarmed_at, truth.alarmed_at)


def test_the_command_writes_the_same_agent(client, log, tmp_path, monkeypatch):
    monkeypatch.chdir(log.parent)  # a relative path, that workers with another folder find
    words = ["learn", log.name, "--arm", "arm", "--reward", "reward"]
    words += ["--drop", "x0", "--standardise", "--out"]
    outputs = {"threads": ["--jobs", "1"], "cluster": ["--cluster", client.scheduler.address]}
    for name, options in outputs.items():
        monkeypatch.setattr(
            sys, "argv", ["greedyfirst", *words, str(tmp_path / f"{name}.gf"), *options]
        )
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    threads, cluster = (Agent.load(tmp_path / f"{name}.gf") for name in outputs)
    np.testing.assert_array_equal(threads.buffer, cluster.buffer)
    assert threads.schema == cluster.schema


def test_a_dead_worker_costs_its_shards(client, log, monkeypatch):
    killed = []

    def kill(self, rows):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr("greedyfirst.agent.learning_from_logs._Shown.advance", kill)
    found = learned(POLICIES["arm by arm"], log, engine=client)
    monkeypatch.undo()
    assert killed
    truth = learned(POLICIES["arm by arm"], log)
    np.testing.assert_array_equal(found.buffer, truth.buffer)


def test_a_lost_scheduler_changes_nothing(log, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    with (
        scheduler_program() as (process, address),
        worker_program(address),
        cluster_at(address) as client,
    ):
        monkeypatch.setattr(
            "greedyfirst.agent.learning_from_logs._Shown.advance", lambda *_: process.kill()
        )
        agent = new_agent(Greedy())
        before = agent.buffer.copy()
        with pytest.raises(ConnectionError, match=r"was lost.*nothing was changed; run it again"):
            agent.learn_from(log, engine=client)
        np.testing.assert_array_equal(agent.buffer, before)
        assert agent.foreign == 0


def test_an_interruption_ends_the_work(client, log, monkeypatch):
    def interrupt(self, rows):
        raise KeyboardInterrupt

    monkeypatch.setattr("greedyfirst.agent.learning_from_logs._Shown.advance", interrupt)
    agent = new_agent(Greedy())
    with pytest.raises(KeyboardInterrupt):
        agent.learn_from(log, engine=client)
    assert agent.foreign == 0

    def known():
        return client.run_on_scheduler(
            lambda dask_scheduler: [key for key in dask_scheduler.tasks if "greedyfirst" in key]
        )

    deadline = time.monotonic() + 60
    while known():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ------------------------------------------------------------------------------- bad input


def test_a_refused_row_is_named_and_changes_nothing(client, log, tmp_path):
    table = pq.read_table(log)
    arms = table["arm"].to_numpy().copy()
    arms[45_000] = 7
    place = table.column_names.index("arm")
    path = tmp_path / "log.parquet"
    pq.write_table(table.set_column(place, "arm", pa.array(arms)), path, row_group_size=6000)
    agent = new_agent(Greedy())
    with pytest.raises(ValueError, match=r"row group 7.* none of the arms .* \(7\)"):
        agent.learn_from(path, engine=client)
    assert agent.foreign == 0


def other_machine(client, monkeypatch, change):
    """As if the workers saw other files: ``change`` is made when the log has been opened."""
    from greedyfirst.agent import learning_from_logs

    open_calls = learning_from_logs.calls_on

    def changed(**options):
        change()
        return open_calls(**options)

    monkeypatch.setattr(learning_from_logs, "calls_on", changed)


def test_a_file_that_is_gone_or_another_one(client, log, tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    for change, expected in (
        (path.unlink, r"has no .*log\.parquet; the log must be where all that read it see it"),
        (lambda: path.write_bytes(b"other"), r"log\.parquet has 5 bytes on .*, and had \d+ when"),
    ):
        shutil.copy(log, path)
        with monkeypatch.context() as patch:
            other_machine(client, patch, change)
            agent = new_agent(Greedy())
            with pytest.raises(ValueError, match=expected):
                agent.learn_from(path, engine=client)
            assert agent.foreign == 0


def test_text_travels_to_workers_of_this_machine_and_no_other(client, log, tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    pq.read_table(log).slice(0, 5000).to_pandas().to_csv(path, index=False)
    agent = new_agent(Greedy())
    assert agent.learn_from(path, engine=client) == 5000
    from greedyfirst.tables.log_files import Shard

    elsewhere = Shard(
        path="/nowhere/0.arrow",
        kind="record batch",
        number=0,
        rows=1,
        source="log.csv",
        is_copy=True,
        bytes=9,
    )
    with pytest.raises(ValueError, match=r"a temporary copy of log\.csv; .* write the log as Parq"):
        elsewhere.check_file()


def test_threads_and_a_client(client, log):
    with pytest.raises(ValueError, match="n_jobs must be left out where an engine is given"):
        new_agent(Greedy()).learn_from(log, engine=client, n_jobs=2)
    with pytest.raises(ValueError, match=r"^engine must be None for threads, or a dask"):
        new_agent(Greedy()).learn_from(log, engine=threading)
