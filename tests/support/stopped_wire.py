"""A connection that comes to a standstill in the middle of a message."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class StoppedWire:
    """A port of the loopback behind which PostgreSQL is, until the wire is stopped in a message."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.stop_before_end: int | None = None
        self.stopped = threading.Event()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, server = (
                    self._listening.accept()[0],
                    socket.create_connection(("127.0.0.1", self._target)),
                )
                self._ends += [client, server]
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def stall(self) -> None:
        """Let nothing through any more, in either direction, and close nothing."""
        self.stopped.set()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while sent := client.recv(1 << 20):
                if self.stopped.is_set():
                    return
                if self.stop_before_end is not None:
                    server.sendall(sent[: len(sent) - self.stop_before_end])
                    self.stopped.set()
                    return
                server.sendall(sent)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while said := server.recv(1 << 20):
                if self.stopped.is_set():
                    return
                client.sendall(said)

    def __enter__(self) -> StoppedWire:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listening, *self._ends):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
