"""Keys are read every second by a thread of their own: a removed one ends whatever else runs."""

from __future__ import annotations

import logging
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from greedyfirst.service.errors import DamagedLogError, LogFailedError
from greedyfirst.service.http.access import Access
from greedyfirst.service.log.access_keys import KeyReader, mark_used
from greedyfirst.service.log.events import KeyChanged

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

_READ_EVERY = 1.0
#: Seconds between two notes of when a key was used.
_USED_EVERY = 60.0
_log = logging.getLogger("greedyfirst.service")


class KeyWatch:
    """Keeps keys fresh, notes when they were used, and finds changes for the log.

    Parameters
    ----------
    access
        The keys in force.
    place
        Where the log is; None if the keys are from elsewhere.
    """

    def __init__(self, access: Access, place: Path | PostgresUrl | None = None) -> None:
        self._access, self._place = access, place
        self._reader = None if place is None else KeyReader(place)
        #: Number and event of changes that are not in the log yet, for the event loop.
        self.changes: deque[tuple[int, KeyChanged]] = deque()
        self._seen = 0
        self._written: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keys", daemon=True)

    def start(self) -> None:
        """Begin; from now on keys that were not read for long let nobody in."""
        self._access.is_watched = True
        self._thread.start()

    def stop(self) -> None:
        """End, and note what is left."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        self.look()
        while not self._ended.wait(_READ_EVERY):
            self.look()
        self._note_used(0.0)
        if self._reader is not None:
            self._reader.close()

    def look(self) -> None:
        """Read the keys, and what has changed."""
        if self._reader is None:
            self._access.refresh()
            return
        try:
            keys, changes = self._reader.look(self._seen)
        except (LogFailedError, DamagedLogError) as error:
            self._access.not_read(error)
            return
        self._access.take(keys)
        for change in changes:
            self.changes.append(change)
            self._seen = change[0]
        self._note_used(_USED_EVERY)

    def _note_used(self, pause: float) -> None:
        used = {
            name: at
            for name, at in self._access.used.copy().items()
            if at - self._written.get(name, 0.0) > pause
        }
        if not used or self._place is None:
            return
        try:
            mark_used(self._place, used)
        except (LogFailedError, DamagedLogError) as error:
            _log.error("the use of keys cannot be noted: %s", error)
        self._written |= used
