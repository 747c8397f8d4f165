"""The kernels' disk cache: keyed by the source, pruned, used, and not needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from greedyfirst.compilation import CACHE_DIRECTORY

import greedyfirst

PACKAGE = Path(greedyfirst.__file__).parent
WHERE = "from greedyfirst.compilation import CACHE_DIRECTORY; print(CACHE_DIRECTORY)"
WORK = """
from greedyfirst import Agent, Greedy
from greedyfirst.agent.online import decide, learn
from greedyfirst.policies.policy import compiled_for

agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=0)
agent.update([1.0, 2.0], 1, 3.0)
print(agent.choose([1.0, 2.0]), agent.expected_rewards([1.0, 2.0]).round(9).tolist())
"""
HITS = """
for function in (decide, learn):
    stats = compiled_for(function, Greedy).stats
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run(code, *, package=None, without=(), **environment):
    env = {name: value for name, value in os.environ.items() if name not in without}
    if package is not None:
        env["PYTHONPATH"] = str(package)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env | {name: str(value) for name, value in environment.items()},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip().splitlines()


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that may be edited; what follows from PYTHONPATH goes first."""
    home = tmp_path / "source"
    shutil.copytree(PACKAGE, home / "greedyfirst", ignore=shutil.ignore_patterns("__pycache__"))
    return home


def test_this_process_has_a_cache_of_its_source():
    assert Path(CACHE_DIRECTORY).is_dir()
    assert Path(CACHE_DIRECTORY).parts[-3:-1] == ("greedyfirst", "kernels")


def test_any_edit_starts_another_cache(copied, tmp_path):
    cache = tmp_path / "cache"
    (first,) = run(WHERE, package=copied, NUMBA_CACHE_DIR=cache)
    (again,) = run(WHERE, package=copied, NUMBA_CACHE_DIR=cache)
    assert first == again
    assert Path(first).parent == cache / "greedyfirst" / "kernels"
    linalg = copied / "greedyfirst" / "linalg.py"
    linalg.write_text(linalg.read_text() + "\n# an edit\n")
    (edited,) = run(WHERE, package=copied, NUMBA_CACHE_DIR=cache)
    (copied / "greedyfirst" / "models" / "new.py").write_text("")
    (added,) = run(WHERE, package=copied, NUMBA_CACHE_DIR=cache)
    assert len({first, edited, added}) == 3


def test_the_same_source_elsewhere_has_the_same_key(copied, tmp_path):
    (there,) = run(WHERE, package=copied, NUMBA_CACHE_DIR=tmp_path)
    (here,) = run(WHERE, NUMBA_CACHE_DIR=tmp_path)
    assert there == here


def test_old_caches_are_removed(tmp_path):
    kernels = tmp_path / "greedyfirst" / "kernels"
    for age in range(6):
        old = kernels / f"{age:016x}"
        old.mkdir(parents=True)
        (old / "kernel.nbc").write_text("")
        os.utime(old, (1_700_000_000 - age, 1_700_000_000 - age))
    (mine,) = run(WHERE, NUMBA_CACHE_DIR=tmp_path)
    left = {path.name for path in kernels.iterdir()}
    assert left == {Path(mine).name, f"{0:016x}", f"{1:016x}"}


def test_other_things_beside_the_caches_are_left(tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "greedyfirst" / "notes").mkdir(parents=True)
    run(WHERE, NUMBA_CACHE_DIR=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"others", "greedyfirst"}
    assert (tmp_path / "greedyfirst" / "notes").is_dir()


def test_the_next_process_loads_the_kernels():
    run(WORK)
    _, *counts = run(WORK + HITS)
    assert counts == ["1 0", "1 0"]


def test_a_home_that_cannot_be_written(copied, tmp_path):
    """Below a regular file nothing can be made, not even by root."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    said = run(
        WORK,
        package=copied,
        without=("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"),
        HOME=blocked / "home",
    )
    assert said == ["1 [0.0, 3.0]"]
    assert [path.name for path in tmp_path.iterdir() if path != copied] == ["file"]


def test_an_edit_is_noticed_without_a_writable_home(copied, tmp_path):
    """No stale machine code, wherever numba keeps it when the home is closed."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    options = {
        "package": copied,
        "without": ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"),
        "HOME": blocked / "home",
    }
    assert run(WORK, **options) == ["1 [0.0, 3.0]"]
    selection = copied / "greedyfirst" / "policies" / "selection.py"
    text = selection.read_text()
    assert text.count("draw > highest") == 1
    selection.write_text(text.replace("draw > highest", "draw < highest"))
    assert run(WORK, **options) == ["0 [0.0, 3.0]"]


@pytest.mark.skipif(sys.platform == "win32", reason="homes of POSIX")
def test_a_user_without_a_home():
    """As in containers that run under a number of their own: no HOME, no entry in passwd."""
    code = """
import pwd
def getpwuid(uid):
    raise KeyError(uid)
pwd.getpwuid = getpwuid
import greedyfirst
print("imported")
"""
    assert run(code, without=("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")) == ["imported"]


def test_without_compilation_the_answers_are_the_same():
    assert run(WORK, NUMBA_DISABLE_JIT=1) == run(WORK)
