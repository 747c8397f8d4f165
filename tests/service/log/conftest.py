"""A log to read or to copy, and a place for a copy, each in a file and in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import DatabaseStore, FileStore, Place, Store

from greedyfirst.service.log.postgres_database import PostgresUrl
from support.postgres_server import PostgresServer


@pytest.fixture(params=["file", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "file":
        return FileStore(tmp_path)
    return DatabaseStore(request.getfixturevalue("postgres"))


@pytest.fixture
def fresh_url(postgres: PostgresServer) -> PostgresUrl:
    """A database of its own, which no store has."""
    return PostgresUrl.parse(postgres.url(postgres.new_database()))


@pytest.fixture(params=["file", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where nothing is."""
    if request.param == "file":
        return tmp_path / "copy.db"
    url: PostgresUrl = request.getfixturevalue("fresh_url")
    return url
