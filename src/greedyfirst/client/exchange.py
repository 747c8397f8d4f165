"""HTTP exchanges over kept connections, tried again until there is an answer."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from greedyfirst.client.errors import BY_STATUS, ServiceError, UnavailableError
from greedyfirst.validation import number, whole_number, wrong

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_TRY_AGAIN = (408, 429, 503)
_PATIENCE = 300.0


class Exchange:
    """Requests to one service; may be used by several threads at once.

    Parameters are those of :class:`~greedyfirst.client.Client`.
    """

    def __init__(self, url: str, key: str | None, timeout: float, retries: int) -> None:
        expected = "an address like http://127.0.0.1:8000"
        if not isinstance(url, str):
            raise wrong("url", url, expected)
        try:
            place = urlsplit(url)
            self._host, self._port = place.hostname or "", place.port
        except ValueError:
            raise wrong("url", url, expected) from None
        if place.scheme not in ("http", "https") or not self._host:
            raise wrong("url", url, expected)
        if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable()):
            raise ValueError("key must be the text that greedyfirst keys add has shown")
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._secure = place.scheme == "https"
        self._root = place.path.rstrip("/")
        self._timeout = number("timeout", timeout, above=0)
        self._retries = whole_number("retries", retries, at_least=0)
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        retries: int | None = None,
        patient: bool = False,
    ) -> tuple[int, bytes]:
        """Status and body of the answer, after at most ``retries`` more tries with the same bytes.

        ``patient`` where the service may have much to do: a try then takes up to five minutes.
        """
        retries = self._retries if retries is None else retries
        timeout = max(self._timeout, _PATIENCE) if patient else self._timeout
        every = {**self._headers, **headers}
        if content is not None:
            every["Content-Type"] = "application/json"
        pause, once = _FIRST_PAUSE, retries == 0
        while True:
            status, body, wait = self._try(timeout, once, method, self._root + path, content, every)
            if status is not None and status < 300:
                return status, body
            if retries == 0 or status not in (None, *_TRY_AGAIN):
                raise _error(status, body)
            retries -= 1
            time.sleep(max(wait, pause * random.uniform(0.5, 1.0)))
            pause = min(2.0 * pause, _LONGEST_PAUSE)

    def _try(
        self,
        timeout: float,
        once: bool,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int | None, bytes, float]:
        """Status, body, and the seconds to wait before the next try; None if no answer came.

        A kept connection may be closed by now, or close before it answers: the two look the same.
        What is to be sent ``once`` gets a new one.
        """
        while True:
            connection, kept = self._connection(timeout, new=once)
            try:
                connection.request(method, path, content, headers)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if kept and isinstance(error, ConnectionError):
                    continue  # it was closed while it lay idle: no try is lost
                reason = str(error) or type(error).__name__
                return None, f"no answer from {self._host} ({reason})".encode(), 0.0
            if once:
                connection.close()
            else:
                with self._lock:
                    self._idle.append(connection)
            wait = answer.getheader("Retry-After", "")
            return answer.status, body, min(float(wait), _LONGEST_PAUSE) if wait.isdigit() else 0.0

    def _connection(self, timeout: float, *, new: bool) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it has been used before."""
        with self._lock:
            connection = self._idle.pop() if self._idle and not new else None
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(timeout)
            return connection, True
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=timeout), False

    def close(self) -> None:
        """Close the connections; a later request opens one again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _error(status: int | None, body: bytes) -> ServiceError:
    """The error of a refusal, with the service's own sentence."""
    text = body.decode(errors="replace")
    if status is None:
        return UnavailableError(None, text)
    try:
        answer: Any = json.loads(text)
        sentence = str(answer["detail"])
    except (ValueError, KeyError, TypeError):
        sentence = text[:200] or "the answer has no body"
    return BY_STATUS.get(status, ServiceError)(status, sentence)
