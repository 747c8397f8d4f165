"""Lets tests in every folder import what they share, from ``support``; and spreads them out.

Tests of a file run on one processor, since they share what they start. The common checks of
policies are spread by policy: each compiles its own kernels. Those of the docs are spread by page.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent))

SPREAD = ("test_every_policy.py", "tests/test_docs.py")
#: The most seconds that a nightly test may take.
NIGHTLY_SECONDS = 4 * 3600


class Spreading(LoadScopeScheduling):
    """Sends all tests of a file, of a policy's common checks, or of a page, to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        if not file.endswith(SPREAD):
            return file
        return f"{file} {test.partition('[')[2].partition('-')[0].rstrip(']')}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give nightly tests their time."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.timeout(NIGHTLY_SECONDS))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spreading:
    """How tests are spread over the workers."""
    return Spreading(config, log)
