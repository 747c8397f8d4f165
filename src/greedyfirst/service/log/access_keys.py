"""The keys, as hashes beside the log: read and changed also while services use it.

Only services write the log. So a change of a key is written to the table of keys and, in the same
transaction, to one of changes, which a service adds to the log.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.events import KeyChanged
from greedyfirst.service.log.key_tables import AccessKey as AccessKey
from greedyfirst.service.log.key_tables import KeyTables, changing_keys, kept_keys, reading_keys
from greedyfirst.validation import wrong

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

_LONGEST_NAME = 200


def check_name(name: str) -> None:
    """Refuse names that would look strange in the audit list."""
    if not (name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME):
        raise wrong("name", name, f"1 to {_LONGEST_NAME} characters that can be printed")


def all_keys(place: Path | PostgresUrl) -> list[AccessKey]:
    """Those beside a log, by name, removed ones too; for the process that serves it."""
    with reading_keys(place) as tables:
        return tables.read()


def ever_had_keys(place: Path | PostgresUrl) -> bool:
    """Whether the log at a place shows that there were keys, also if they are gone."""
    with reading_keys(place) as tables:
        return tables.ever_had_any()


class KeyReader:
    """Reads the keys beside a log again and again; in a database on a connection that is kept."""

    def __init__(self, place: Path | PostgresUrl) -> None:
        self._place = place
        self._open = ExitStack()
        self._tables: KeyTables | None = None

    def look(self, seen: int) -> tuple[list[AccessKey], list[tuple[int, KeyChanged]]]:
        """The keys, and number and event of the changes after the number ``seen``."""
        if isinstance(self._place, Path):
            with reading_keys(self._place) as tables:
                return tables.read(), tables.changes_after(seen)
        try:
            if self._tables is None:
                self._tables = self._open.enter_context(kept_keys(self._place))
            return self._tables.read(), self._tables.changes_after(seen)
        except (LogFailedError, DamagedLogError):
            self.close()  # and connect again next time
            raise

    def close(self) -> None:
        """Leave the database."""
        self._tables = None
        self._open.close()


def add_key(place: Path | PostgresUrl, key: AccessKey, *, who: str = "") -> bool:
    """Add a key; False if there is one of that name that was not removed."""
    key = key._replace(made=time.time())
    with changing_keys(place) as tables:
        known = {held.name: held for held in tables.read()}.get(key.name)
        if known is not None and known.removed is None:
            return False
        tables.write(key)
        tables.note(key.changed("added", who, None))
        return True


def rotate_key(
    place: Path | PostgresUrl,
    name: str,
    hashed: bytes,
    *,
    expires: float | None = None,
    overlap: float = 0.0,
    who: str = "",
) -> AccessKey:
    """Give a key a new secret; the one before is good for ``overlap`` seconds more."""
    now = time.time()
    with changing_keys(place) as tables:
        key = _live(tables, name)
        if expires is None and key.state(now) == "expired":
            raise ValueError(f"the key {name!r} has expired; say until when, by --expires")
        old_until = now + overlap if overlap else None
        key = key._replace(
            hashed=hashed,
            expires=key.expires if expires is None else expires,
            before=key.hashed if overlap else None,
            before_until=old_until,
        )
        tables.write(key)
        tables.note(key.changed("rotated", who, old_until))
        return key


def remove_key(place: Path | PostgresUrl, name: str, *, who: str = "") -> bool:
    """Take a key out of use for ever; False if there was none of that name."""
    with changing_keys(place) as tables:
        try:
            key = _live(tables, name)
        except ValueError:
            return False
        tables.write(out_of_use(key, time.time()))
        tables.note(key.changed("removed", who, None))
        return True


def out_of_use(key: AccessKey, now: float) -> AccessKey:
    """The key without its secret: also for a release that does not know of removed ones."""
    return key._replace(hashed=secrets.token_bytes(32), removed=now, before=None, before_until=None)


def mark_used(place: Path | PostgresUrl, used: Mapping[str, float]) -> None:
    """Note when keys were used last."""
    with changing_keys(place) as tables:
        for name, at in used.items():
            tables.execute("UPDATE access_keys SET last_used = ? WHERE name = ?", (at, name))


def _live(tables: KeyTables, name: str) -> AccessKey:
    for key in tables.read():
        if key.name == name and key.removed is None:
            return key
    raise ValueError(f"there is no key of the name {name!r}")
