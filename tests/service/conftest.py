"""A service on a file of its own, with a clock that tests set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

sys.path.insert(0, str(Path(__file__).parent))

from failing_disk import FailingDisk
from served import Clock, Start, create, running

from greedyfirst.service.log.postgres_database import PostgresUrl
from support import postgres_server
from support.postgres_server import PostgresServer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests of this process; skipped where it is not installed."""
    reason = postgres_server.missing()
    if reason is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def url(postgres: PostgresServer) -> PostgresUrl:
    """A database without a log."""
    return PostgresUrl.parse(postgres.emptied())


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    layer = FailingDisk()
    yield layer
    layer.unregister()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 64 MB; skipped where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="greedyfirst-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        shutil.rmtree(folder)
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture
def start(path: Path, clock: Clock) -> Start:
    """Starts the service; again on the same file each time it is called."""
    return lambda **options: running(path, clock, **options)


@pytest.fixture
def client(start: Start) -> Iterator[TestClient[Any]]:
    """A client of a service with the policy "dose"."""
    with start() as client:
        create(client)
        yield client
