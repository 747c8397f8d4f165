"""The log in a PostgreSQL database, which several services write: each the policies it owns.

Entries have one order and one chain of seals, given by the row ``head``: an append locks it, so
that numbers are in the order of commits.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from greedyfirst.service.errors import DamagedLogError, LogFailedError, LostLeaseError
from greedyfirst.service.log.entries import Entry, Head, seal
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.log.leases import Leases
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.log.postgres_database import (
    PostgresUrl,
    connect,
    database,
    identity_of,
    prepare,
)
from greedyfirst.service.log.postgres_reader import PostgresReader
from greedyfirst.service.log.table_reader import sealed_snapshot

_SNAPSHOTS_KEPT = 4
_CHECKED_AT_START = 1000
_TYPES = ("bigint", "float8", "text", "text", "bigint", "text", "bytea", "bytea")
INSERT = (
    "INSERT INTO entries SELECT * FROM unnest("
    + ", ".join(f"%b::{kind}[]" for kind in _TYPES)
    + ")"
)


class PostgresLog(PostgresReader):
    """A :class:`~greedyfirst.service.log.log.Log` in a database, whose tables it makes if need be.

    Parameters
    ----------
    url
        The database.
    address
        Where other services reach this one.
    same_as
        A log that was open before: this must be that log, and have all that it acknowledged.
    """

    def __init__(
        self, url: PostgresUrl, *, address: str = "", same_as: PostgresLog | None = None
    ) -> None:
        self._address = address
        self._connections: list[psycopg.Connection[Any]] = []
        #: The writer serves one thread at a time; so does the head.
        self._writing, self._moving = threading.Lock(), threading.Lock()
        try:
            with database(url):
                for _ in range(3):
                    self._connections.append(connect(url))
                reader, beside, self._writer = self._connections
                super().__init__(url, reader, beside)
                prepare(self._writer, url)
                self.identity = identity_of(self._writer)
                self._expect(same_as)
                self._head = self.checked_tail(_CHECKED_AT_START)
                self._check_head()
            before = None if same_as is None else same_as.leases.me
            self.leases: Leases = Leases(url, before or Owner(secrets.token_hex(8), address))
        except BaseException:
            self._release()
            raise

    def _expect(self, before: PostgresLog | None) -> None:
        """Refuse another log than the one that was open before."""
        if before is None:
            return
        known = before.head()
        if self.identity != before.identity:
            raise LogFailedError(f"{self.url} has another log now; put back the one that was there")
        if self.head_at(known.seq) != known:
            raise LogFailedError(
                f"{self.url} lacks entries that were acknowledged, up to number {known.seq}; "
                "connect to the server that has them"
            )

    def _check_head(self) -> None:
        """Refuse a log that ends before its head."""
        ((seq, kept),) = self.rows("SELECT seq, seal FROM head")
        if self.head_at(seq) != Head(seq, kept):
            raise DamagedLogError(f"{self.url} has lost its last entries; put back a copy of it")

    # ---------------------------------------------------------------- writing

    @contextmanager
    def _appending(self, policies: Sequence[str]) -> Iterator[Head]:
        """A transaction that has the log's end to itself, and the leases of these policies."""
        epochs = self._epochs(policies)
        with (
            database(self.url),
            self._writing,
            self._writer.pipeline() as pipeline,
            self._writer.transaction(),
        ):
            found = self._writer.execute("SELECT seq, seal FROM head FOR UPDATE", binary=True)
            self._writer.execute("SELECT check_leases(%b, %b)", ([*epochs], [*epochs.values()]))
            pipeline.sync()  # else PostgreSQL would not notice that the service stands still
            row = found.fetchone()
            assert row is not None
            yield Head(*row)

    def _epochs(self, policies: Sequence[str]) -> dict[str, int]:
        """The epochs of the leases of these policies; anyone may write of the service itself."""
        owned = {policy: self.leases.epochs.get(policy) for policy in {*policies} - {SERVICE}}
        epochs = {policy: epoch for policy, epoch in owned.items() if epoch is not None}
        for policy in owned.keys() - epochs.keys():
            raise LostLeaseError(f"policy {policy} is not this service's")
        if SERVICE in policies and SERVICE in self.leases.epochs:
            epochs[SERVICE] = self.leases.epochs[SERVICE]
        return epochs

    def append(self, entries: Sequence[Entry]) -> int:
        """Add entries in one transaction; the number of the first."""
        with self._appending([entry.policy for entry in entries]) as head:
            first = head.seq + 1
            head = self._add(head, entries)
        self._move(head)
        return first

    def _add(self, head: Head, entries: Sequence[Entry]) -> Head:
        """Insert entries after the head; the new head."""
        rows: list[tuple[Any, ...]] = []
        number, last = head
        for number, entry in enumerate(entries, head.seq + 1):
            entry = entry._replace(seq=number)
            last = seal(last, entry)
            rows.append((*entry, last))
        self._writer.execute(INSERT, [*map(list, zip(*rows, strict=True))])
        self._writer.execute("UPDATE head SET seq = %b, seal = %b", (number, last))
        return Head(number, last)

    def _move(self, head: Head) -> None:
        """The head is at least this."""
        with self._moving:
            if head.seq > self._head.seq:
                self._head = head

    def erase(self, seq: int, body: bytes, erased: Entry) -> int:
        """Replace a body; its old version goes when PostgreSQL vacuums the table."""
        execute = self._writer.execute
        with self._appending([erased.policy]) as head:
            execute("SELECT set_config('greedyfirst.erasing', 'yes', true)")
            execute("UPDATE entries SET body = %b WHERE seq = %b", (body, seq))
            execute("SELECT set_config('greedyfirst.erasing', 'no', true)")
            execute("DELETE FROM snapshots WHERE policy = %s", (erased.policy,))
            head = self._add(head, [erased])
        self._move(head)
        return head.seq

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        """Keep a snapshot behind its seal, and drop old ones; not if the policy was taken."""
        execute = self._writer.execute
        with database(self.url), self._writing, self._writer.transaction():
            owned = execute(
                "SELECT FROM leases WHERE policy = %s AND epoch = %s FOR SHARE",
                (policy, self.leases.epochs.get(policy)),
            ).fetchone()
            if owned is None:
                raise LostLeaseError(f"policy {policy} has another owner now")
            execute(
                "INSERT INTO snapshots VALUES (%s, %s, %b) "
                "ON CONFLICT (policy, seq) DO UPDATE SET content = excluded.content",
                (policy, seq, sealed_snapshot(policy, seq, content)),
            )
            execute(
                "DELETE FROM snapshots WHERE policy = %s AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE policy = %s ORDER BY seq DESC LIMIT %s)",
                (policy, policy, _SNAPSHOTS_KEPT),
            )

    # ---------------------------------------------------------------- while it is open

    def head(self) -> Head:
        """The end of what this service knows to be on disk: a second old where others write."""
        if self.leases.head is not None:
            self._move(self.leases.head)
        return self._head

    def wal_bytes(self) -> None:
        """PostgreSQL looks after its own."""

    def check_place(self) -> None:
        """Refuse to go on without a connection, or without the leases."""
        if any(each.closed for each in self._connections):
            raise LogFailedError(f"{self.url}: the connection was closed")
        if self.leases.problem is not None:
            raise LogFailedError(self.leases.problem)

    def reopened(self) -> PostgresLog:
        """Open the same log again, after a failure; this one is closed first."""
        self.leases.close(release=False)
        self._release()
        return PostgresLog(self.url, address=self._address, same_as=self)

    def close(self) -> None:
        """Give the policies back and leave the database."""
        self.leases.close(release=True)
        self._release()

    def _release(self) -> None:
        for each in self._connections:
            with suppress(psycopg.Error):
                each.close()
