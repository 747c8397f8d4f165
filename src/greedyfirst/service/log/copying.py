"""A log copied to another place, in a file or in PostgreSQL, with its numbers and seals.

Nothing is added to the copy, so both have the same head. The source is read at one moment and not
changed; the copy is checked as a whole before anybody else can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.log.entries import Entry, Head
from greedyfirst.service.log.file_copy import new_log_file
from greedyfirst.service.log.key_tables import KeyTables
from greedyfirst.service.log.places import in_use, reading_one_moment
from greedyfirst.service.log.table_reader import Advance, TableReader, silently

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

#: Is told what begins, and of how many entries; what it gives is told how far that is.
Begin = Callable[[str, int], Advance]


class NewLog(Protocol):
    """A log that is being filled."""

    @property
    def reader(self) -> TableReader:
        """What has been added."""

    def execute(self, sql: str, values: tuple[Any, ...]) -> object:
        """Run a statement with ``?`` for each value."""

    def add_entries(self, entries: Iterable[tuple[Entry, bytes]]) -> None:
        """Add entries with their seals."""

    def add_key_changes(self, changes: list[tuple[int, bytes]]) -> None:
        """Add changes of keys with their numbers; the next one gets a higher number."""


class Copied(NamedTuple):
    """What :func:`copy_log` did."""

    head: Head
    #: Policy and entry of snapshots that were changed, and are not in the copy.
    left_out: list[tuple[str, int]]
    #: Whether a service used the log meanwhile: what it records from then on is not in the copy.
    in_use: bool


def copy_log(
    source: Path | PostgresUrl,
    target: Path | PostgresUrl,
    *,
    begin: Begin | None = None,
) -> Copied:
    """Copy a log to a place where there is none.

    A service may use the log meanwhile. The copy has an identity of its own. It is at ``target``
    checked, on disk and as a whole, or not at all.

    Parameters
    ----------
    source, target
        Each a file or a database.
    begin
        Is told what begins, of how many entries, and through what it returns how far that is.
    """
    _refuse_same_file(source, target)
    before = _state_of(source)
    used = in_use(source)
    with (
        reading_one_moment(source) as log,
        _new_log(target, log) as copy,
        _undisturbed(source, None if used else before),
    ):
        log.check_storage()
        begin = begin or _unseen
        left_out = _fill(copy, log, begin)
        head = _checked(copy, log, begin)
        if not isinstance(source, Path):  # of a file, _undisturbed knows
            used = used or in_use(source)
    return Copied(head, left_out, used)


def _unseen(doing: str, total: int) -> Advance:
    """Nobody asks what is done."""
    return silently


def _refuse_same_file(source: Path | PostgresUrl, target: Path | PostgresUrl) -> None:
    files = [each for each in (source, target) if isinstance(each, Path) and each.exists()]
    if len(files) == 2 and files[0].samefile(files[1]):
        raise ValueError(f"{target} is the log itself; take another name for the copy")


def _new_log(target: Path | PostgresUrl, source: TableReader) -> AbstractContextManager[NewLog]:
    """An empty log, which is there for others once all is well."""
    if isinstance(target, Path):
        return new_log_file(target)
    from greedyfirst.service.log.postgres_copy import new_postgres_log

    return new_postgres_log(target, source)


def _state_of(place: Path | PostgresUrl) -> tuple[object, ...]:
    """What changes with a file or the ``-wal`` beside it; of a database nothing."""
    if not isinstance(place, Path):
        return ()
    files = (place.resolve(), Path(f"{place.resolve()}-wal"))
    found = (each.stat() if each.exists() else None for each in files)
    return tuple(each and (each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


@contextmanager
def _undisturbed(place: Path | PostgresUrl, before: tuple[object, ...] | None) -> Iterator[None]:
    """Refuse a file that is not as it was ``before``: where no service has it, it has no lock."""
    try:
        yield
    except (DamagedLogError, LogFailedError):
        _refuse_other(place, before)  # what was found wrong may come of that
        raise
    _refuse_other(place, before)


def _refuse_other(place: Path | PostgresUrl, before: tuple[object, ...] | None) -> None:
    if before is not None and _state_of(place) != before:
        raise LogFailedError(f"{place} was changed while it was copied; copy it again")


def _fill(copy: NewLog, log: TableReader, begin: Begin) -> list[tuple[str, int]]:
    """Copy all there is; the snapshots that are left out, since they were changed."""
    copy.add_entries(log.sealed(advance=begin("copying", log.last()[0])))
    left_out = []
    for policy, seq, kept in log.kept_snapshots():
        if kept is None:
            left_out.append((policy, seq))
        else:
            copy.execute("INSERT INTO snapshots VALUES (?, ?, ?)", (policy, seq, kept))
    keys = KeyTables(copy.execute)
    for key in log.key_tables.read():
        keys.write(key)
    copy.add_key_changes(log.key_tables.noted_changes())
    return left_out


def _checked(copy: NewLog, log: TableReader, begin: Begin) -> Head:
    """The head of the copy, once every seal has been checked."""
    head = log.head()
    try:
        copy.reader.check(begin("checking", 2 * head.seq))  # which reads each entry twice
    except DamagedLogError:
        log.check()  # says so of the source, if it is damaged there
        raise
    if copy.reader.head() != head:
        raise LogFailedError(f"{copy.reader.name} lacks entries of {log.name}; copy it again")
    return head
