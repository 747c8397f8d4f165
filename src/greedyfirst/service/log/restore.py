"""A backup in the place of a log."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import apsw

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.access_keys import out_of_use
from greedyfirst.service.log.backup import copy, new_file
from greedyfirst.service.log.entries import Entry, Head, seal
from greedyfirst.service.log.events import SERVICE, Restored
from greedyfirst.service.log.held_file import HeldFile
from greedyfirst.service.log.key_tables import AccessKey, KeyTables
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.sqlite_file import disk
from greedyfirst.service.log.sqlite_reader import SqliteReader

#: What SQLite may have beside a database.
_BESIDE = ("-wal", "-shm", "-journal")
_TAG_LENGTH = 6


class Restoration(NamedTuple):
    """What :func:`restore` did."""

    #: The end of the backup, and of the log that has it now.
    backup: Head
    head: Head
    #: Where the replaced log is now.
    replaced: Path | None
    #: Entries that the replaced log had after the backup's; None if that cannot be said.
    lost: int | None
    #: Names of the keys that are in use.
    keys: list[str]


class _Replaced(NamedTuple):
    """What can be read of the log that is to be replaced."""

    head: Head
    keys: list[AccessKey]


def restore(
    backup: Path, path: Path, *, who: str, why: str, keep_keys: bool = False
) -> Restoration:
    """Put a backup in the place of a log; what was there is kept aside.

    The log gets a new identity, and decisions get other ids than those that were lost. No key is in
    use afterwards, since nobody knows which ones were removed after the backup was made. With
    ``keep_keys`` those of the backup are, but for those that the replaced log shows to have been
    removed or changed.
    """
    path = path.resolve()
    if path.exists() and backup.samefile(path):
        raise ValueError(f"{backup} is the log itself; give a copy of it")
    replaced = _look_at(path)
    with HeldFile(path, make=False) if path.exists() else nullcontext():
        with reading(backup) as source:
            source.check()
            with new_file(path) as temporary:
                copy(source, temporary)
                done = _renew(temporary, source.head(), replaced, keep_keys, who, why)
                aside = _aside(path)
                if path.exists():  # a second name: there is a log at its own name all the time
                    os.link(path, aside)
        for ending in _BESIDE:
            with suppress(FileNotFoundError):
                os.rename(f"{path}{ending}", f"{aside}{ending}")
    return done._replace(replaced=aside if aside.exists() else None)


def _look_at(path: Path) -> _Replaced | None:
    """What the replaced log tells; None if it is not there or cannot be read."""
    if not path.exists():
        return None
    try:
        with reading(path) as log:
            return _Replaced(log.head(), log.access_keys())
    except (DamagedLogError, LogFailedError):
        return None


def _renew(
    path: Path, backup: Head, replaced: _Replaced | None, keep_keys: bool, who: str, why: str
) -> Restoration:
    """Write what the restoration changes into the new file."""
    identity = secrets.token_hex(16)
    with disk(path), closing(apsw.Connection(str(path))) as connection, connection:
        reader = SqliteReader(path, connection)
        kept = _keys_afterwards(reader.access_keys(), replaced, keep_keys)
        tables = KeyTables.in_file(connection.execute)
        for key in kept:
            tables.write(key)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (identity,))
        names = [key.name for key in kept if key.removed is None]
        restored = Restored(
            tag=identity[:_TAG_LENGTH],
            entries=backup.seq,
            seal=backup.seal.hex(),
            keys=tuple(names),
            who=who,
            why=why,
            machine_time=time.time(),
        )
        head, at = backup, reader.last()[1]
        for policy in [SERVICE, *(entry.policy for entry in reader.policies())]:
            entry = Entry.of(restored, seq=head.seq + 1, at=at, policy=policy, key=None)
            head = Head(entry.seq, seal(head.seal, entry))
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*entry, head.seal)
            )
    lost = None if replaced is None else max(0, replaced.head.seq - backup.seq)
    return Restoration(backup, head, None, lost, names)


def _keys_afterwards(
    keys: list[AccessKey], replaced: _Replaced | None, keep_keys: bool
) -> list[AccessKey]:
    """The backup's keys; those that must not be used any more without their secrets."""
    now = time.time()
    live = None
    if replaced is not None:
        live = {key.hashed for key in replaced.keys if key.removed is None}
    return [
        key
        if key.removed is not None or (keep_keys and (live is None or key.hashed in live))
        else out_of_use(key, now)
        for key in keys
    ]


def _aside(path: Path) -> Path:
    """A name that is free, also with what SQLite may have beside it."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for number in count():
        aside = path.with_name(f"{path.name}.replaced-{stamp}{f'-{number}' if number else ''}")
        if not any(Path(f"{aside}{ending}").exists() for ending in ("", *_BESIDE)):
            break
    return aside
