"""How many files one meets who follows a call through the code, as ARCHITECTURE.md says."""

import re
from pathlib import Path

import pytest

from support.uncompiled import uncompiled

HERE = Path(__file__).parent
ARCHITECTURE = HERE.parent / "ARCHITECTURE.md"
# Both go through models/centring.py, which keeps a feature's zero out of the estimates.
MOST = {"choose, Greedy": 8, "update, Greedy": 9, "simulate, Greedy": 11}


@pytest.fixture(scope="module")
def walks():
    """The walks, from a process in which nothing is compiled."""
    return uncompiled(HERE / "support" / "walks.py")


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
