"""All deployments of a log that is being opened, with a word now and then on how far it is."""

from __future__ import annotations

import logging
import time

from greedyfirst.service.log.log import Log
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.restoring import restore
from greedyfirst.service.state.snapshots import save

#: Entries after which a snapshot is written: one that is killed meanwhile goes on from there.
SNAPSHOT_EVERY = 50_000
#: Fewer entries than these are read again faster than a snapshot is worth.
_WORTH_A_SNAPSHOT = 1000
_SECONDS_BETWEEN_WORDS = 5.0
_log = logging.getLogger("greedyfirst.service")


def restore_all(log: Log) -> dict[str, tuple[Deployment, int]]:
    """Every deployment by name, with the number of its last entry."""
    return {entry.policy: restore_one(log, entry.policy) for entry in log.policies()}


def restore_one(log: Log, policy: str) -> tuple[Deployment, int]:
    """A deployment and the number of its last entry; a long one leaves snapshots behind."""
    reading = _Reading(log, policy, log.last()[0])
    deployment, done = restore(log, policy, applied=reading.applied)
    reading.end(deployment, done)
    return deployment, done


class _Reading:
    """How far the reading of one deployment's entries is."""

    def __init__(self, log: Log, policy: str, last: int) -> None:
        self._log, self._policy, self._last = log, policy, last
        self._since_snapshot = 0
        self._told = time.monotonic()

    def applied(self, deployment: Deployment, seq: int) -> None:
        """An entry more."""
        self._since_snapshot += 1
        if self._since_snapshot >= SNAPSHOT_EVERY and not deployment.lacking:
            self._save(deployment, seq)
        if time.monotonic() - self._told > _SECONDS_BETWEEN_WORDS:
            self._told = time.monotonic()
            sentence = "making policy %s from the log: at entry %d of %d"
            _log.warning(sentence, self._policy, seq, self._last)

    def end(self, deployment: Deployment, seq: int) -> None:
        """No more entries."""
        if self._since_snapshot >= _WORTH_A_SNAPSHOT:
            self._save(deployment, seq)

    def _save(self, deployment: Deployment, seq: int) -> None:
        self._log.save_snapshot(self._policy, seq, save(deployment)())
        self._since_snapshot = 0
