"""The server's open connections: how many there may be, and which are closed when they are many.

The server accepts so many and no more, so idle ones could keep everybody else out. It closes a
connection that has been idle for a while by itself; when they are many, those that have been idle
for longest are closed earlier, here.
"""

from __future__ import annotations

import logging
import os
import resource
import socket
import stat
import struct
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

Peer = tuple[str, int]

#: Files that the service has open beside connections: the log's, the server's, those of exports.
_OTHER_FILES = 256
#: Shares of the most connections: above the first, idle ones are closed down to the second.
_MANY, _FEWER = 0.75, 0.5
#: Seconds without a byte after which a connection may be closed when they are many.
_IDLE = 1.0
_PAUSE = 0.25
_OPEN_FILES = Path("/proc/self/fd")
#: Of Linux's struct tcp_info: milliseconds since the last data was sent, and received.
_SENT, _RECEIVED, _INFO_BYTES = 44, 52, 56
_log = logging.getLogger("greedyfirst.service")


def allowed(wanted: int) -> int:
    """How many connections there may be, up to ``wanted``; asks for more open files if need be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft < needed:
            fewer = max(soft - _OTHER_FILES, 1)
            _log.warning(
                "only %d files may be open: %d connections instead of %d",
                *(soft, fewer, wanted),
                extra={"event": "few_open_files"},
            )
            return fewer
    return wanted


class _Connection(NamedTuple):
    idle: float  # seconds
    file: int
    peer: Peer


class Connections:
    """Watches the connections to a port in a thread of its own, where the system shows them.

    Parameters
    ----------
    port
        Where the server listens.
    most
        How many it accepts.
    busy
        The peers whose requests are under way: they are never closed.
    """

    def __init__(self, port: int, most: int, busy: Callable[[], Collection[Peer | None]]) -> None:
        self._port, self._most, self._busy = port, most, busy
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="connections", daemon=True)
        self.closed = 0

    def __enter__(self) -> Connections:
        if _OPEN_FILES.exists() and hasattr(socket, "TCP_INFO"):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_PAUSE):
            if len(os.listdir(_OPEN_FILES)) > _MANY * self._most:
                self.close_idle()

    def close_idle(self) -> None:
        """If connections are many, close those that have been idle for longest."""
        found = sorted(self._found(), reverse=True)
        if len(found) <= _MANY * self._most:
            return
        busy = set(self._busy())
        surplus = [each for each in found if each.idle >= _IDLE and each.peer not in busy]
        for each in surplus[: len(found) - int(_FEWER * self._most)]:
            self.closed += _shut(each)
        _log.warning(
            "%d connections: %d idle ones were closed",
            *(len(found), self.closed),
            extra={"event": "idle_connections_closed", "fields": {"connections": len(found)}},
        )

    def _found(self) -> Iterator[_Connection]:
        for name in os.listdir(_OPEN_FILES):
            found = _looked_at(int(name), self._port)
            if found is not None:
                yield found


def open_connections(port: int) -> int | None:
    """How many connections to this port the process has, None where the system does not tell."""
    if not _OPEN_FILES.exists() or not hasattr(socket, "TCP_INFO"):
        return None
    found = (_looked_at(int(name), port) for name in os.listdir(_OPEN_FILES))
    return sum(each is not None for each in found)


def _looked_at(file: int, port: int) -> _Connection | None:
    """The connection to our port with this number; it may have been closed meanwhile."""
    try:
        if not stat.S_ISSOCK(os.fstat(file).st_mode):
            return None
        # Not a copy of the number: closing a copy would touch locks if it had become a file's.
        borrowed = socket.socket(fileno=file)
    except OSError:
        return None
    try:
        if borrowed.type != socket.SOCK_STREAM or borrowed.getsockname()[1] != port:
            return None
        peer = borrowed.getpeername()[:2]
        told = borrowed.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except (OSError, IndexError, TypeError):
        return None
    finally:
        borrowed.detach()
    (sent,), (received,) = (struct.unpack_from("=I", told, place) for place in (_SENT, _RECEIVED))
    return _Connection(min(sent, received) / 1000.0, file, peer)


def _shut(connection: _Connection) -> bool:
    """End a connection if it is still the same; the server then closes it."""
    try:
        borrowed = socket.socket(fileno=connection.file)
    except OSError:
        return False
    try:
        if borrowed.getpeername()[:2] != connection.peer:
            return False
        borrowed.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False
    finally:
        borrowed.detach()
    return True
