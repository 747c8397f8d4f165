"""The log's head, kept elsewhere: the one way to find out that the log was written anew or cut.

The chain of seals has no secret in it: whoever can write the file can seal other entries as well,
or leave out the last ones. A head that was noted before, out of their reach, does not fit then. An
anchor file has one a line: the time, the head and, if there is a key, an HMAC-SHA256 of the two.
"""

from __future__ import annotations

import hmac
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.entries import GENESIS, Head
from greedyfirst.service.log.events import SERVICE, Restored
from greedyfirst.service.log.log import ReadableLog

_SHORTEST_KEY = 16


class Anchor(NamedTuple):
    """A head, and when it was the log's."""

    at: datetime
    head: Head


class AnchorFile:
    """A file of anchors, which is only added to.

    Parameters
    ----------
    path
        The file; made for its owner alone if it is not there.
    key
        The secret that signs each line; None for none.
    """

    def __init__(self, path: Path, key: bytes | None = None) -> None:
        self.path, self._key = path, key

    @classmethod
    def with_key_in(cls, path: Path, key: Path | None) -> AnchorFile:
        """The key is the content of a file, without blanks around it."""
        if key is None:
            return cls(path)
        secret = key.read_bytes().strip()
        if len(secret) < _SHORTEST_KEY:
            raise ValueError(f"{key} must have a secret of at least {_SHORTEST_KEY} bytes")
        return cls(path, secret)

    def add(self, head: Head, at: float) -> None:
        """Note a head; it is on disk when this returns."""
        time = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        line = f"{time} {head}"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{line}{self._signature(line)}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _signature(self, line: str) -> str:
        if self._key is None:
            return ""
        return " " + hmac.new(self._key, line.encode(), "sha256").hexdigest()

    def read(self) -> list[Anchor]:
        """All anchors; an error names the first line that is wrong, or not signed by the key."""
        found = []
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            words = line.split(" ")
            signed = " ".join(words[:2])
            try:
                anchor = Anchor(datetime.fromisoformat(words[0]), Head.parse(words[1]))
            except (ValueError, IndexError):
                raise DamagedLogError(f"{self.path}, line {number}, is no anchor") from None
            if self._key is not None and not hmac.compare_digest(
                line, signed + self._signature(signed)
            ):
                raise DamagedLogError(f"{self.path}, line {number}, was not signed by this key")
            found.append(anchor)
        return found

    def check(self, log: ReadableLog) -> tuple[int, int]:
        """Refuse a log that does not have every head, each at its place.

        How many there are, and how many of them lie in what was lost when a backup was put back.
        """
        restored = _restorations(log)
        anchors, lost = self.read(), 0
        for at, head in anchors:
            if any(head.seq > entries and at.timestamp() <= then for entries, then in restored):
                lost += 1
            else:
                check_head(log, head)
        return len(anchors), lost


def _restorations(log: ReadableLog) -> list[tuple[int, float]]:
    """Of each backup that was put back: its last entry, and when that was done."""
    found = []
    for entry in log.audit(SERVICE, limit=10**6):
        if entry.kind == "restored":
            event = entry.event
            assert isinstance(event, Restored)
            done = entry.at if event.machine_time is None else event.machine_time
            found.append((event.entries, done))
    return found


def check_head(log: ReadableLog, head: Head) -> None:
    """Refuse a log that does not have this head, or goes on from another one."""
    last = log.last()[0]
    if head.seq > last:
        raise DamagedLogError(
            f"the log ends at entry {last}, but had entry {head.seq}: its end was cut, or an older "
            "copy of it was put back"
        )
    kept = log.head_at(head.seq)
    seal = GENESIS if kept is None else kept.seal
    if not seal.startswith(head.seal):
        raise DamagedLogError(
            f"entry {head.seq} of the log is not the one that it had: it was changed"
        )
