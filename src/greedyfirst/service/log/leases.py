"""Who owns a policy: one service at a time, by a lease in the database that it renews.

A lease ends by the database's clock. Each time that another service takes it, its epoch rises by
one, in a transaction that locks the log's head as every append does. An append carries the epochs
of its policies: one whose lease was taken meanwhile adds nothing, however long it was under way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

import psycopg

from greedyfirst.service.errors import DamagedLogError, LogFailedError, LostLeaseError
from greedyfirst.service.log.entries import Head
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.log.postgres_database import (
    LONGEST_QUESTION,
    PostgresUrl,
    check_promise,
    connect,
    database,
    statements,
    warnings_of,
)
from greedyfirst.service.log.table_reader import IS_AUDITED

#: Seconds that a lease lasts; between two renewals; and by which its owner stops early.
LENGTH, _RENEW_EVERY, _EARLY = 5.0, 1.0, 1.0
_log = logging.getLogger("greedyfirst.service")


class Leases:
    """The leases of this service, renewed by a thread; and who has the others.

    Parameters
    ----------
    url
        The database.
    me
        This service.
    """

    def __init__(self, url: PostgresUrl, me: Owner) -> None:
        self._url, self.me = url, me
        #: Of each policy that this service owns: the epoch of its lease. It never changes here:
        #: after a lease was lost, the log is opened again.
        self.epochs: dict[str, int] = {}
        #: Who has the policies, and until when by this machine's clock; as of the last look.
        self._owners: dict[str, tuple[Owner, float]] = {}
        #: Why leases cannot be renewed, None while they can.
        self.problem: str | None = None
        #: Whether this process serves requests at the moment; leases are not renewed while it does
        #: not, so that another one takes them.
        self.serves: Callable[[], bool] = lambda: True
        #: What a person should know of the database's settings.
        self.warnings: list[str] = []
        #: The head as of the last look.
        self.head: Head | None = None
        self._until = time.monotonic()
        self._asking = threading.Lock()
        self._ended = threading.Event()
        self._given_back = False
        with database(url):
            self._connection = connect(url, longest=LONGEST_QUESTION)
            self._connection.execute(
                "INSERT INTO leases SELECT policy, '', '', 0, '-infinity' FROM entries "
                f"WHERE {IS_AUDITED} AND kind = 'created' "
                "ON CONFLICT DO NOTHING"
            )
        self.look()
        self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)
        self._thread.start()

    def owns(self, policy: str) -> bool:
        """Whether this service may answer for the policy now."""
        if self._given_back or self.problem is not None:
            return False
        return policy in self.epochs and time.monotonic() < self._until

    @property
    def policies(self) -> Collection[str]:
        """The policies that have, or had, an owner; as of the last look."""
        return self._owners.keys()

    def owner(self, policy: str) -> Owner | None:
        """Who has a policy, None if nobody has it any more; as of the last look."""
        owner, until = self._owners.get(policy, (None, 0.0))
        return owner if time.monotonic() < until else None

    def take(self, policy: str) -> bool:
        """Take the lease of a policy; False if another service has it."""
        with self._asking:
            if self._given_back:
                return False
            with database(self._url):
                found = self._connection.execute(
                    "CALL take_lease(%(policy)s, %(id)s, %(address)s, %(length)s, NULL)",
                    self._values(policy),
                ).fetchone()
            if found is None or found[0] is None:
                return False
            self.epochs[policy] = found[0]
            self._owners[policy] = self.me, self._until
            return True

    def _values(self, policy: str | None = None) -> dict[str, Any]:
        length = f"{LENGTH} seconds"
        return {"policy": policy, "id": self.me.id, "address": self.me.address, "length": length}

    def look(self) -> None:
        """Renew the leases, and see who has the others; LostLeaseError if one was taken."""
        now = time.monotonic()
        with self._asking, database(self._url):
            if self._given_back:
                return
            renewed = self._connection.execute(
                "UPDATE leases SET until = clock_timestamp() + %(length)s::interval "
                "FROM unnest(%(policies)s::text[], %(epochs)s::bigint[]) AS held (policy, epoch) "
                "WHERE leases.policy = held.policy AND leases.epoch = held.epoch "
                "RETURNING leases.policy",
                self._values() | {"policies": [*self.epochs], "epochs": [*self.epochs.values()]},
            ).fetchall()
            self._owners = _owners(self._rows(), now)
            found = self._connection.execute(
                "SELECT seq, seal, current_setting('fsync'), current_setting('full_page_writes') "
                "FROM head"
            ).fetchone()
            lost = self.epochs.keys() - {row[0] for row in renewed}
        if lost:
            raise LostLeaseError(f"policy {sorted(lost)[0]} has another owner now")
        self._until = now + LENGTH - _EARLY
        assert found is not None
        *head, fsync, full_page_writes = found
        self.head = Head(*head)
        check_promise(self._url, fsync)
        self.warnings = warnings_of(full_page_writes)

    def see(self) -> None:
        """See who has the leases now, and change none."""
        now = time.monotonic()
        with self._asking, database(self._url):
            self._owners = _owners(self._rows(), now)

    def _rows(self) -> list[tuple[Any, ...]]:
        return self._connection.execute(
            "SELECT policy, owner, address, "
            "extract(epoch FROM greatest(until, '1970-01-01') - clock_timestamp())::float8 "
            "FROM leases"
        ).fetchall()

    def _keep(self) -> None:
        """The thread: renew every second, until that fails."""
        while not self._ended.wait(_RENEW_EVERY):
            if not self.serves():
                continue
            try:
                self.look()
            except (LogFailedError, DamagedLogError) as error:
                self.problem = str(error)
                return

    def give_back(self) -> None:
        """Renew no more, and let others take the policies at once; whoever asks waits seconds."""
        self._ended.set()
        with self._asking:
            if self._given_back:
                return
            self._given_back = True
            held = [*self.epochs], [*self.epochs.values()]
            self.epochs.pop(SERVICE, None)  # of the service itself anyone may write to the end
        try:
            self._connection.execute(
                "UPDATE leases SET until = clock_timestamp() "
                "FROM unnest(%s::text[], %s::bigint[]) AS held (policy, epoch) "
                "WHERE leases.policy = held.policy AND leases.epoch = held.epoch",
                held,
            )
        except psycopg.Error as error:
            _log.warning("leases could not be given back, and end by themselves: %s", error)

    def close(self, *, release: bool) -> None:
        """Renew no more; with ``release`` others may take the policies at once."""
        self._ended.set()
        self._thread.join()
        if release:
            self.give_back()
        self._connection.close()


def _owners(rows: list[tuple[Any, ...]], now: float) -> dict[str, tuple[Owner, float]]:
    return {row[0]: (Owner(row[1], row[2]), now + row[3]) for row in rows}


def owner_at(url: PostgresUrl, address: str) -> str | None:
    """A policy of the service that others reach at this address, None if there is none."""
    with statements(url) as execute:
        found = execute(
            "SELECT max(policy) FROM leases WHERE address = ? AND until > clock_timestamp()",
            (address,),
        ).fetchone()
    policy: str | None = found[0]
    return policy
