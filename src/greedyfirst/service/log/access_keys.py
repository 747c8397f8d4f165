"""The keys, as hashes in the log's file: read and changed also while a service uses it.

Only the service writes the log. So a change of a key is written to the table of keys and, in the
same transaction, to one of changes, which the service adds to the log.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from greedyfirst.service.log.entries import encode
from greedyfirst.service.log.events import KeyChanged
from greedyfirst.service.log.held_file import CLOSING
from greedyfirst.service.log.sqlite_file import check_ours, columns_of_keys, disk, make_tables
from greedyfirst.service.log.wal_state import check_wal
from greedyfirst.validation import wrong

_LONGEST_NAME = 200
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


def check_name(name: str) -> None:
    """Refuse names that would look strange in the audit list."""
    if not (name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME):
        raise wrong("name", name, f"1 to {_LONGEST_NAME} characters that can be printed")


def read_keys(connection: apsw.Connection) -> list[AccessKey]:
    """Those in an open log of any release, by name."""
    known = columns_of_keys(connection)
    columns = ", ".join(name if name in known else f"NULL AS {name}" for name in _FIELDS)
    found = []
    for row in connection.execute(f"SELECT {columns} FROM access_keys ORDER BY name"):
        fields: dict[str, Any] = dict(zip(_FIELDS.values(), row, strict=True))
        if fields["policies"] is not None:
            fields["policies"] = tuple(msgspec.json.decode(fields["policies"]))
        found.append(AccessKey(**fields))
    return found


def all_keys(path: Path) -> list[AccessKey]:
    """Those in the log ``path``, by name, removed ones too; for the process that serves it."""
    with _opened(path, apsw.SQLITE_OPEN_READONLY) as connection:
        return read_keys(connection)


def changes_after(path: Path, number: int) -> list[tuple[int, KeyChanged]]:
    """Number and event of the changes after that number."""
    with _opened(path, apsw.SQLITE_OPEN_READONLY) as connection:
        if not connection.execute(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'key_changes'"
        ).get:
            return []
        rows: Any = connection.execute(
            "SELECT number, body FROM key_changes WHERE number > ? ORDER BY number", (number,)
        )
        return [(row[0], msgspec.json.decode(row[1], type=KeyChanged)) for row in rows]


def add_key(path: Path, key: AccessKey, *, who: str = "") -> bool:
    """Add a key; False if there is one of that name that was not removed."""
    key = key._replace(made=time.time())
    with _changing(path) as connection:
        known = {held.name: held for held in read_keys(connection)}.get(key.name)
        if known is not None and known.removed is None:
            return False
        _write(connection, key)
        _note(connection, key.changed("added", who, None))
        return True


def rotate_key(
    path: Path,
    name: str,
    hashed: bytes,
    *,
    expires: float | None = None,
    overlap: float = 0.0,
    who: str = "",
) -> AccessKey:
    """Give a key a new secret; the one before is good for ``overlap`` seconds more."""
    now = time.time()
    with _changing(path) as connection:
        key = _live(connection, name)
        if expires is None and key.state(now) == "expired":
            raise ValueError(f"the key {name!r} has expired; say until when, by --expires")
        old_until = now + overlap if overlap else None
        key = key._replace(
            hashed=hashed,
            expires=key.expires if expires is None else expires,
            before=key.hashed if overlap else None,
            before_until=old_until,
        )
        _write(connection, key)
        _note(connection, key.changed("rotated", who, old_until))
        return key


def remove_key(path: Path, name: str, *, who: str = "") -> bool:
    """Take a key out of use for ever; False if there was none of that name."""
    with _changing(path) as connection:
        try:
            key = _live(connection, name)
        except ValueError:
            return False
        _write(connection, out_of_use(key, time.time()))
        _note(connection, key.changed("removed", who, None))
        return True


def out_of_use(key: AccessKey, now: float) -> AccessKey:
    """The key without its secret: also for a release that does not know of removed ones."""
    return key._replace(hashed=secrets.token_bytes(32), removed=now, before=None, before_until=None)


def mark_used(path: Path, used: Mapping[str, float]) -> None:
    """Note when keys were used last."""
    with _changing(path) as connection:
        for name, at in used.items():
            connection.execute("UPDATE access_keys SET last_used = ? WHERE name = ?", (at, name))


def write_keys(connection: apsw.Connection, keys: list[AccessKey]) -> None:
    """Write keys as they are, over those of the same names."""
    for key in keys:
        _write(connection, key)


def _live(connection: apsw.Connection, name: str) -> AccessKey:
    for key in read_keys(connection):
        if key.name == name and key.removed is None:
            return key
    raise ValueError(f"there is no key of the name {name!r}")


def _write(connection: apsw.Connection, key: AccessKey) -> None:
    values = key._asdict()
    if key.policies is not None:
        values["policies"] = msgspec.json.encode(key.policies).decode()
    marks = ", ".join("?" * len(_FIELDS))
    connection.execute(
        f"INSERT OR REPLACE INTO access_keys ({', '.join(_FIELDS)}) VALUES ({marks})",
        tuple(values[field] for field in _FIELDS.values()),
    )


def _note(connection: apsw.Connection, changed: KeyChanged) -> None:
    connection.execute("INSERT INTO key_changes (body) VALUES (?)", (encode(changed),))


@contextmanager
def _changing(path: Path) -> Iterator[apsw.Connection]:
    """A connection in a transaction, on tables of this release."""
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
