"""Lets tests in every folder import what they share, from ``support``; and spreads them out.

Tests of a file run on one processor, since they share what they start. The common checks of
policies are spread by policy: each compiles its own kernels.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test the group in which it runs."""
    for item in items:
        group = item.path.as_posix()
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if item.path.name == "test_every_policy.py" and "name" in parameters:
            group += parameters["name"].partition("-")[0]
        item.add_marker(pytest.mark.xdist_group(group))
