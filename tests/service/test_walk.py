"""The walk of one decision through the service: few files, in one direction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.uncompiled import uncompiled

HERE = Path(__file__).parent
#: Where the walk is written down.
TABLE = HERE.parents[1] / "ARCHITECTURE.md"
MOST_FILES = 18


@pytest.fixture(scope="module")
def walks() -> dict[str, list[str]]:
    """The files of a decision without and with a key, from a process that compiles nothing."""
    found: dict[str, list[str]] = uncompiled(HERE / "post_walk.py")
    return found


def test_a_decision_walks_through_the_files_of_the_table(walks: dict[str, list[str]]) -> None:
    table = re.findall(r"^\| `([\w/]+\.py)` \|", TABLE.read_text(), re.MULTILINE)
    assert walks["plain"] == table
    assert len(table) <= MOST_FILES


def test_an_idempotency_key_leads_to_no_other_file(walks: dict[str, list[str]]) -> None:
    assert {*walks["keyed"]} == {*walks["plain"]}
