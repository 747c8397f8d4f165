"""How many files one meets who follows a call through the code, as ARCHITECTURE.md says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ARCHITECTURE = HERE.parent / "ARCHITECTURE.md"
MOST = {"choose, Greedy": 6, "update, Greedy": 8, "simulate, Greedy": 8}


@pytest.fixture(scope="module")
def walks():
    """The walks, from a process in which nothing is compiled."""
    run = subprocess.run(
        [sys.executable, str(HERE / "support" / "walks.py")],
        env=dict(os.environ, NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", MOST)
def test_walks_are_short(walks, name):
    assert len(walks[name]) <= MOST[name], walks[name]


@pytest.mark.parametrize(
    "name", [*MOST, "choose, GreedyFirst", "update, GreedyFirst"], ids=lambda name: name
)
def test_walks_are_those_that_are_written_down(walks, name):
    call, policy = name.split(", ")
    (line,) = re.findall(rf"^\| `{call}`, `{policy}` \| (.*) \|$", ARCHITECTURE.read_text(), re.M)
    assert re.findall(r"`([\w/.]+)`", line) == walks[name]
