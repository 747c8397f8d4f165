"""Dask's own programs, `dask scheduler` and `dask worker`, and commands that use them."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import greedyfirst
from greedyfirst.cli import main
from support.dask_programs import scheduler_program, worker_program
from support.interrupts import hear_interrupts

FIGURE = ["figure", "fig2a", "--instances", "3"]


def start(*words, **options):
    command = [sys.executable, "-m", "greedyfirst", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def refusal(*words):
    """The one sentence with which a command ends."""
    process = start(*words)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert said.startswith("greedyfirst: ")
    assert said.count("\n") == 1
    return said


@pytest.fixture(scope="module")
def scheduler():
    with scheduler_program() as (process, address):
        yield process, address


def test_a_figure_by_address(scheduler, tmp_path):
    _, address = scheduler
    with worker_program(address):
        outputs = {"threads": ["--jobs", "1"], "cluster": ["--cluster", address]}
        for name, options in outputs.items():
            process = start(*FIGURE, "--out", str(tmp_path / name), *options)
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said
    tables = [(tmp_path / name / "fig2a.csv").read_bytes() for name in outputs]
    assert tables[0] == tables[1] != b""


def test_a_worker_with_another_version_is_refused(scheduler, tmp_path):
    _, address = scheduler
    package = tmp_path / "greedyfirst"
    shutil.copytree(Path(greedyfirst.__file__).parent, package, ignore=_without_caches)
    (package / "version.py").write_text('__version__ = "0.0.9"\n')
    with worker_program(address, PYTHONPATH=str(tmp_path)):
        said = refusal(*FIGURE, "--cluster", address, "--out", str(tmp_path / "out"))
        assert "has greedyfirst 0.0.9" in said
        assert "install the same versions and restart it" in said


@pytest.mark.nightly
def test_a_worker_without_this_package_is_refused(scheduler, tmp_path):
    _, address = scheduler
    (tmp_path / "greedyfirst").mkdir()
    (tmp_path / "greedyfirst" / "__init__.py").write_text("")
    with worker_program(address, PYTHONPATH=str(tmp_path)):
        said = refusal(*FIGURE, "--cluster", address, "--out", str(tmp_path / "out"))
        assert "a worker has no greedyfirst, or an older one than this program" in said


def test_a_lost_scheduler_is_said_and_blocks_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    kept = tmp_path / "kept"
    many = ["figure", "fig2a", "--instances", "100000", "--out", str(tmp_path)]
    with ExitStack() as stack:
        process, address = stack.enter_context(scheduler_program())
        stack.enter_context(worker_program(address))
        command = start(*many, "--cluster", address, "--resume", str(kept))
        while not list(kept.rglob("*.gf")):
            assert command.poll() is None, command.stderr.read()
        process.kill()
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert said.startswith(f"greedyfirst: the Dask scheduler at {address} was lost")
    assert said.count("\n") == 1
    assert list(kept.rglob("*.gf"))


def test_control_c_ends_a_command_and_its_workers(tmp_path):
    """A terminal sends it to all processes of a command."""
    kept = tmp_path / "kept"
    many = ["figure", "fig2a", "--instances", "100000", "--out", str(tmp_path / "out")]
    command = start(
        *many,
        *("--workers", "2", "--resume", str(kept)),
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    while not list(kept.rglob("*.gf")):
        assert command.poll() is None, command.stderr.read()
    while command.poll() is None:  # Python loses one that comes while it collects garbage
        os.killpg(command.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            command.wait(timeout=10)
    said = command.communicate()[1]
    assert (command.returncode, said) == (130, "interrupted\n")


# ------------------------------------------------------------------------------- bad input


REPLAY = ["replay", "wine", "--permutations", "2"]


@pytest.mark.parametrize(
    "command", [FIGURE, pytest.param(REPLAY, marks=pytest.mark.nightly)], ids=lambda words: words[0]
)
def test_an_unreachable_cluster(command, tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    said = refusal(*command, "--cluster", "tcp://127.0.0.1:1", "--out", str(tmp_path / "out"))
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in said
    assert not (tmp_path / "out").exists()


LEARN = ["learn", "log.csv", "--arm", "arm", "--reward", "reward", "--out", "agent.gf"]
ARMS = ["--sigma", "0.1", "--pulls", "2"]
BAD = {
    "workers": ([*FIGURE, "--workers", "0"], "--workers must be a whole number at least 1, got 0"),
    "both": (
        [*FIGURE, "--workers", "2", "--cluster", "tcp://127.0.0.1:1"],
        "--workers must be left out where --cluster is given, got 2",
    ),
    "jobs": (
        [*FIGURE, "--workers", "2", "--jobs", "2"],
        "--jobs must be left out where --cluster or --workers is given, got 2",
    ),
    "address": (
        [*FIGURE, "--cluster", "no scheduler"],
        "--cluster must be the address of a scheduler",
    ),
    "scheme": (
        [*FIGURE, "--cluster", "http://127.0.0.1:1"],
        "--cluster must be the address of a scheduler",
    ),
    "no certificates": (
        [*FIGURE, "--cluster", "tls://127.0.0.1:1"],
        "--cluster must be tcp://…, or certificates in Dask's settings for TLS, got 'tls://127",
    ),
    "resume": ([*FIGURE, "--resume", __file__], "(it is a file), got '"),
    "learn": (
        [*LEARN, "--workers", "2", "--jobs", "2"],
        "--jobs must be left out where --cluster or --workers is given, got 2",
    ),
    "bounds": (
        ["bounds", "arms.csv", *ARMS, "--workers", "2"],
        "--cluster, --workers and --resume must be given with --simulate",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms.csv").write_text("1,0\n0,1\n")
    words, expected = BAD[name]
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("greedyfirst: ")
    assert expected in said
    assert said.count("\n") == 1
    assert not list(tmp_path.glob("figures/*"))


def _without_caches(folder, names):
    return [name for name in names if name == "__pycache__"]
