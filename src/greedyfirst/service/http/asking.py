"""Requests to another service on the same log: sent, waited for and read while it is the owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import httpx

from greedyfirst.service.addresses import can_be_asked
from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.forwarding import HOP
from greedyfirst.service.log.ownership import Owner

_LOOK_EVERY = 0.5
_READS = ("GET", "HEAD")
_AGAIN = "it may have been recorded; send the same again"
_FAILED = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)
#: Nothing of the request was sent.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL)
_log = logging.getLogger("greedyfirst.service")
T = TypeVar("T")


class Asked(NamedTuple):
    """A request about a policy, for its owner."""

    policy: str
    owner: Owner
    method: str
    #: Path and query as they are sent: ASCII, and not changed in any other way.
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""


class GoneError(Exception):
    """The service that was asked does not own the policy any more."""


class Asking:
    """Asks other services; what is wrong with one is told in one line, until it answers again.

    Parameters
    ----------
    owner
        Who owns a policy, as of the last look; None for this service.
    """

    def __init__(self, owner: Callable[[str], Owner | None]) -> None:
        self._owner = owner
        #: Why services do not answer, by the addresses that were asked.
        self.silent: dict[str, str] = {}

    async def answer(self, client: httpx.AsyncClient, asked: Asked) -> httpx.Response:
        """The owner's answer, whose body is still to be read."""
        again = "try again" if asked.method in _READS else _AGAIN
        whose = f"the owner of policy {asked.policy}"
        try:
            answer = await self._while_owned(asked, self._sent(client, asked))
        except GoneError:
            raise UnavailableError(f"{whose} is gone; {again}") from None
        except _FAILED as error:
            self.tell(asked, _said(error))
            if isinstance(error, _NOT_SENT):
                raise UnavailableError(
                    f"{whose} cannot be reached at {asked.owner.address}, and nothing was sent; "
                    "see whether it listens there (serve --address), then try again"
                ) from None
            raise UnavailableError(f"{whose} does not answer; {again}") from None
        self.silent.pop(asked.owner.address, None)
        return answer

    async def _sent(self, client: httpx.AsyncClient, asked: Asked) -> httpx.Response:
        if not can_be_asked(asked.owner.address):  # another release may have taken it
            raise httpx.InvalidURL("that is no address")
        # Not the client's own request, which would have cookies of other callers' answers.
        request = httpx.Request(
            asked.method,
            asked.owner.address,
            headers=[*asked.headers, (HOP, b"1")],
            content=asked.body,
            extensions={"target": asked.target},  # a path in the URL would lose its dots
        )
        return await client.send(request, stream=True)

    async def parts(self, asked: Asked, answer: httpx.Response) -> AsyncIterator[bytes]:
        """The body of an answer; it ends early, with a line that says so, if the owner is gone."""
        raw = answer.aiter_raw()
        try:
            while (part := await self._while_owned(asked, anext(raw, None))) is not None:
                yield part
        except (GoneError, *_FAILED) as error:
            _log.warning(
                "the owner of policy %s was gone in the middle of an answer, which was cut off",
                asked.policy,
                extra={"event": "answer_cut_off", "fields": _fields(asked, _said(error))},
            )
            raise GoneError from None

    async def _while_owned(self, asked: Asked, awaited: Awaitable[T]) -> T:
        """What is awaited; GoneError once the policy has another owner."""
        waiting = asyncio.ensure_future(awaited)
        try:
            while not (await asyncio.wait({waiting}, timeout=_LOOK_EVERY))[0]:
                if self._owner(asked.policy) != asked.owner:
                    raise GoneError
            return waiting.result()
        finally:
            waiting.cancel()

    def tell(self, asked: Asked, reason: str) -> None:
        """Write a line about a service that does not answer, once per reason."""
        if self.silent.get(asked.owner.address) != reason:
            self.silent[asked.owner.address] = reason
            _log.warning(
                "the service that owns policy %s does not answer; see its --address",
                asked.policy,
                extra={"event": "owner_silent", "fields": _fields(asked, reason)},
            )


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _fields(asked: Asked, reason: str) -> dict[str, Any]:
    return {"address": asked.owner.address, "reason": reason}
