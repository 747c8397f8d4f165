"""Connections to other services on the same log: nothing is sent before both have proved that.

Who opens a connection asks, on it and first of all, for a proof, and gives one itself. Both follow
from a secret that lies in the log, a number that is good for once, and nothing else: a web server
that happens to be at an address learns nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore
import httpx

#: Where a service proves what it is, and the header that asks for it.
PATH, HEADER = "/peer", "greedyfirst-peer"
_MOST_BYTES, _LONGEST = 4000, 2.0
_NUMBER = re.compile(r"[0-9a-f]{32}", re.ASCII)
_ANSWER = re.compile(rb"HTTP/1\.1 200 .*\r\n\r\n([0-9a-f]{1,64}) ([0-9a-f]{64})", re.DOTALL)


class StrangerError(httpx.ConnectError):
    """Somebody else is there, and got nothing."""


class Proof:
    """What a service on the log can say, and nobody else."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hmac.digest(secret, b"peers", hashlib.sha256)

    def _said(self, *words: str) -> str:
        return hmac.new(self._secret, "\0".join(words).encode(), hashlib.sha256).hexdigest()

    def question(self, number: str) -> str:
        """What is asked with this number."""
        return f"{number} {self._said('question', number)}"

    def answer(self, question: str, service: str) -> str | None:
        """What the service of this id answers; None to whoever is none on this log."""
        number = question.partition(" ")[0]
        known = _NUMBER.fullmatch(number) is not None
        if not known or not hmac.compare_digest(question.encode(), self.question(number).encode()):
            return None
        return f"{service} {self._said('answer', number, service)}"

    def service(self, number: str, answer: bytes) -> str | None:
        """The id of the service that answered so; None if it is none on this log."""
        found = _ANSWER.match(answer)
        if found is None:
            return None
        service, proof = (word.decode() for word in found.groups())
        same = hmac.compare_digest(proof, self._said("answer", number, service))
        return service if same else None


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that proves itself before the first byte of a request is sent."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, host: str, proof: Proof) -> None:
        self._stream, self._host, self._proof = stream, host, proof
        #: The id of the service there; None until that is proved.
        self.service: str | None = None

    async def prove(self) -> str:
        """Ask, and be asked; httpx.ConnectError if there is no service on this log."""
        number = secrets.token_hex(16)
        asked = (
            f"GET {PATH} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"{HEADER}: {self._proof.question(number)}\r\n\r\n"
        )
        await self._stream.write(asked.encode(), _LONGEST)
        answer, part = b"", b"?"
        try:
            async with asyncio.timeout(_LONGEST):
                while part and len(answer) < _MOST_BYTES and not _ANSWER.match(answer):
                    part = await self._stream.read(_MOST_BYTES, _LONGEST)
                    answer += part
        except (TimeoutError, httpcore.TimeoutException):
            if not answer:
                raise
        service = self._proof.service(number, answer)
        if service is None:
            raise StrangerError("what answers there is no service on this log")
        self.service = service
        return service

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send, once the other end is known."""
        if self.service is None:
            try:
                await self.prove()
            except (TimeoutError, httpcore.TimeoutException, httpcore.NetworkError) as error:
                said = str(error) or "nobody answers there"
                raise httpx.ConnectError(said) from None
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Receive."""
        return await self._stream.read(max_bytes, timeout)

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """The same connection with TLS, which proves itself then."""
        safe = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(safe, self._host, self._proof)

    def get_extra_info(self, info: str) -> Any:
        """What is known of it."""
        return self._stream.get_extra_info(info)


class _Connecting(httpcore.AsyncNetworkBackend):
    """Opens such connections."""

    def __init__(self, proof: Proof) -> None:
        self._proof, self._plain = proof, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection."""
        stream = await self._plain.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(stream, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", self._proof)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._plain.sleep(seconds)


class _Parts(httpx.AsyncByteStream):
    """An answer's body, as it comes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        except httpcore.NetworkError as error:
            raise httpx.ReadError(str(error)) from error
        except httpcore.ProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class PeerTransport(httpx.AsyncBaseTransport):
    """Sends requests over connections to services that have proved what they are."""

    def __init__(self, proof: Proof, *, most: int) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=most, keepalive_expiry=20.0, network_backend=_Connecting(proof)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Its answer, whose body is still to be read."""
        url = request.url
        asked = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            answer = await self._pool.handle_async_request(asked)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout) as error:
            raise httpx.ConnectError(str(error) or "nobody answers there") from error
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise httpx.ReadError(str(error)) from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Parts(answer.stream),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


async def who_is_at(address: str, proof: Proof) -> str:
    """The id of the service at an address; StrangerError if it is none on this log.

    httpx.ConnectError if nobody is there.
    """
    url = httpx.URL(address)
    secure = url.scheme == "https"
    port = url.port or (443 if secure else 80)
    try:
        stream = await _Connecting(proof).connect_tcp(url.host, port, _LONGEST)
        if secure:
            context = httpx.create_ssl_context()
            stream = await stream.start_tls(context, url.host, _LONGEST)
        assert isinstance(stream, _Stream)
        try:
            return await stream.prove()
        finally:
            await stream.aclose()
    except (TimeoutError, httpcore.TimeoutException, httpcore.NetworkError) as error:
        raise httpx.ConnectError(str(error) or "nobody answers there") from None
