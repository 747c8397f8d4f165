"""The tables of keys and of their changes, in an SQLite file or in a PostgreSQL database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import apsw
import msgspec

from greedyfirst.service.log.entries import encode
from greedyfirst.service.log.events import SERVICE, KeyChanged
from greedyfirst.service.log.held_file import CLOSING
from greedyfirst.service.log.sqlite_file import check_ours, columns_of, disk, make_tables
from greedyfirst.service.log.wal_state import check_wal

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

_FIELDS = {
    "name": "name",
    "role": "role",
    "hash": "hashed",
    "policies": "policies",
    "made": "made",
    "expires": "expires",
    "last_used": "last_used",
    "removed": "removed",
    "hash_before": "before",
    "before_until": "before_until",
}
KeyState = Literal["in use", "expired", "removed"]
#: Runs a statement with ``?`` for each value; the rows that it gives.
Execute = Callable[[str, tuple[Any, ...]], Any]


class AccessKey(NamedTuple):
    """A key that somebody has, or had: one that was removed stays known. Times are since 1970."""

    name: str
    role: str
    hashed: bytes
    #: The policies that it is good for; None for all of them.
    policies: tuple[str, ...] | None = None
    #: None for keys of release 0.1.
    made: float | None = None
    expires: float | None = None
    last_used: float | None = None
    removed: float | None = None
    #: The secret before the last rotation, and until when it is good too.
    before: bytes | None = None
    before_until: float | None = None

    def state(self, now: float) -> KeyState:
        """Whether it can be used."""
        if self.removed is not None:
            return "removed"
        return "expired" if self.expires is not None and self.expires <= now else "in use"

    def changed(
        self, change: Literal["added", "rotated", "removed"], who: str, old_until: float | None
    ) -> KeyChanged:
        """The event of a change of it."""
        return KeyChanged(
            name=self.name,
            change=change,
            role=self.role,
            policies=self.policies,
            expires=self.expires,
            old_until=old_until,
            at=time.time(),
            who=who,
        )


class KeyTables:
    """The tables in an open database; ``execute`` runs a statement in it.

    ``columns`` of keys and the table of ``changes`` may be missing in a file of an older release.
    """

    def __init__(
        self,
        execute: Execute,
        *,
        columns: frozenset[str] = frozenset(_FIELDS),
        changes: bool = True,
    ) -> None:
        self.execute, self._columns, self._changes = execute, columns, changes

    @classmethod
    def in_file(cls, execute: Execute) -> KeyTables:
        """Those of an SQLite file of any release."""
        return cls(
            execute,
            columns=frozenset(columns_of(execute, "access_keys")),
            changes=bool(columns_of(execute, "key_changes")),
        )

    def read(self) -> list[AccessKey]:
        """The keys, by name."""
        columns = ", ".join(
            name if name in self._columns else f"NULL AS {name}" for name in _FIELDS
        )
        found = []
        for row in self.execute(f"SELECT {columns} FROM access_keys ORDER BY name", ()):
            fields: dict[str, Any] = dict(zip(_FIELDS.values(), row, strict=True))
            if fields["policies"] is not None:
                fields["policies"] = tuple(msgspec.json.decode(fields["policies"]))
            found.append(AccessKey(**fields))
        return found

    def ever_had_any(self) -> bool:
        """Whether there ever was a key, by the log and what is noted for it; rows may be gone."""
        asked = "SELECT 1 FROM entries WHERE policy = ? AND kind = 'key_changed' LIMIT 1"
        return bool([*self.execute(asked, (SERVICE,))] or self.noted_changes())

    def write(self, key: AccessKey) -> None:
        """Write a key, over one of the same name."""
        values = key._asdict()
        if key.policies is not None:
            values["policies"] = msgspec.json.encode(key.policies).decode()
        marks = ", ".join("?" * len(_FIELDS))
        others = ", ".join(f"{name} = excluded.{name}" for name in _FIELDS if name != "name")
        self.execute(
            f"INSERT INTO access_keys ({', '.join(_FIELDS)}) VALUES ({marks}) "
            f"ON CONFLICT (name) DO UPDATE SET {others}",
            tuple(values[field] for field in _FIELDS.values()),
        )

    def note(self, changed: KeyChanged) -> None:
        """Note a change, for the log."""
        self.execute("INSERT INTO key_changes (body) VALUES (?)", (encode(changed),))

    def changes_after(self, number: int) -> list[tuple[int, KeyChanged]]:
        """Number and event of the changes after that number; none in a log of release 0.1."""
        return [
            (number, msgspec.json.decode(body, type=KeyChanged))
            for number, body in self.noted_changes(number)
        ]

    def noted_changes(self, after: int = 0) -> list[tuple[int, bytes]]:
        """Number and body of the changes after that number, as they were noted."""
        if not self._changes:
            return []
        rows = self.execute(
            "SELECT number, body FROM key_changes WHERE number > ? ORDER BY number", (after,)
        )
        return [(row[0], row[1]) for row in rows]


@contextmanager
def reading_keys(place: Path | PostgresUrl) -> Iterator[KeyTables]:
    """The tables, for the process that serves the log."""
    if isinstance(place, Path):
        with _opened(place, apsw.SQLITE_OPEN_READONLY) as connection:
            yield KeyTables.in_file(connection.execute)
        return
    from greedyfirst.service.log.postgres_database import statements

    with statements(place) as execute:
        yield KeyTables(execute)


@contextmanager
def kept_keys(url: PostgresUrl) -> Iterator[KeyTables]:
    """The tables in a database, on one connection for as long as they are read."""
    from greedyfirst.service.log.postgres_database import asked_again

    with asked_again(url) as execute:
        yield KeyTables(execute)


@contextmanager
def changing_keys(place: Path | PostgresUrl) -> Iterator[KeyTables]:
    """The tables of this release, in a transaction that nobody else changes them in."""
    if isinstance(place, Path):
        with _changing(place) as connection:
            yield KeyTables.in_file(connection.execute)
        return
    from greedyfirst.service.log.postgres_database import statements

    with statements(place) as execute:
        # Changes are then numbered in the order of their commits.
        execute("LOCK TABLE access_keys IN SHARE ROW EXCLUSIVE MODE", ())
        yield KeyTables(execute)


@contextmanager
def _changing(path: Path) -> Iterator[apsw.Connection]:
    check_wal(path)
    with _opened(path, apsw.SQLITE_OPEN_READWRITE) as connection:
        connection.pragma("synchronous", "FULL")
        connection.wal_autocheckpoint(0)  # that is the service's
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            make_tables(connection)
            yield connection
        connection.execute("COMMIT")


@contextmanager
def _opened(path: Path, how: int) -> Iterator[apsw.Connection]:
    with disk(path), CLOSING, closing(apsw.Connection(str(path), flags=how)) as connection:
        connection.set_busy_timeout(5000)
        check_ours(connection, path)
        yield connection
