"""The log in a PostgreSQL database, which several services write: each the policies it owns.

Entries have one order and one chain of seals, given by the row ``head``: an append locks it, so
that numbers are in the order of commits.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from greedyfirst.service.errors import LogFailedError, LostLeaseError
from greedyfirst.service.log.entries import Entry, Head
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.log.leases import Leases
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.log.postgres_connection import limit
from greedyfirst.service.log.postgres_database import (
    LONGEST_QUESTION,
    PostgresUrl,
    connect,
    database,
    identity_of,
    prepare,
)
from greedyfirst.service.log.postgres_reader import PostgresReader
from greedyfirst.service.log.table_reader import sealed_snapshot

_CHECKED_AT_START = 1000
#: Seconds that a write may take, and a page of a long read.
_LONGEST_WRITE, _LONGEST_READ = 10.0, 30.0
_ADDED = (
    "%b::text[], %b::bigint[], "  # the leases
    "%b::float8[], %b::text[], %b::text[], %b::bigint[], %b::text[], %b::bytea[], NULL, NULL"
)
_APPEND = f"CALL append_entries({_ADDED})"
_ERASE = f"CALL erase_entries(%b::bigint[], %b::bytea[], {_ADDED})"


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

    remote = True

    def __init__(
        self, url: PostgresUrl, *, address: str = "", same_as: PostgresLog | None = None
    ) -> None:
        self._address = address
        self._connections: list[psycopg.Connection[Any]] = []
        #: The writer serves one thread at a time; so does the head.
        self._writing, self._moving = threading.Lock(), threading.Lock()
        try:
            with database(url):
                for longest in (LONGEST_QUESTION, _LONGEST_READ, None):
                    self._connections.append(connect(url, longest=longest))
                reader, beside, self._writer = self._connections
                super().__init__(url, reader, beside)
                prepare(self._writer, url)  # which may wait for another service that does so
                limit(self._writer, _LONGEST_WRITE)
                self.identity = identity_of(self._writer)
                self._expect(same_as)
                self._head = self.checked_tail(_CHECKED_AT_START)
                self.check_storage()
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

    # ---------------------------------------------------------------- writing

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
        return self._write(_APPEND, (), entries) - len(entries) + 1

    def erase(self, bodies: Sequence[tuple[int, bytes]], erased: Entry) -> int:
        """Replace bodies; their old versions go when PostgreSQL vacuums the table."""
        numbers, contents = map(list, zip(*bodies, strict=True))
        return self._write(_ERASE, (numbers, contents), [erased])

    def _write(self, call: str, values: tuple[Any, ...], entries: Sequence[Entry]) -> int:
        """Call a procedure that adds entries at the log's end; the last one's number."""
        epochs = self._epochs([entry.policy for entry in entries])
        _, *columns = map(list, zip(*entries, strict=True))  # the log numbers them itself
        leases = [*epochs], [*epochs.values()]
        with database(self.url), self._writing:
            found = self._writer.execute(call, (*values, *leases, *columns), binary=True)
            row = found.fetchone()
        assert row is not None
        head = Head(*row)
        self._move(head)
        return head.seq

    def _move(self, head: Head) -> None:
        """The head is at least this."""
        with self._moving:
            if head.seq > self._head.seq:
                self._head = head

    def save_snapshot(self, policy: str, seq: int, content: bytes) -> None:
        """Keep a snapshot behind its seal, and drop old ones; not if the policy was taken."""
        epoch = self._epochs([policy])[policy]
        with database(self.url), self._writing:
            sealed = sealed_snapshot(policy, seq, content)
            self._writer.execute("CALL save_snapshot(%s, %s, %s, %b)", (policy, epoch, seq, sealed))

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
