"""Other services on the same log: their answers to requests about the policies that they own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import httpx
import msgspec
from litestar import Request

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import COOKIE, caller_of, session_in
from greedyfirst.service.http.asking import Asked, Asking, GoneError
from greedyfirst.service.http.messages import PolicyView
from greedyfirst.service.http.peer_connections import (
    PeerTransport,
    Proof,
    StrangerError,
    who_is_at,
)
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.service import DecisionService

#: What the other service takes from a request; who the caller is, and the rest.
_CREDENTIALS = {b"authorization", b"cookie"}
_ASKED = {b"content-type", b"accept", b"idempotency-key", b"x-forwarded-proto"}
#: What is taken from its answer; all else this service says by itself, as of answers of its own.
_ANSWERED = {
    b"content-type",
    b"content-length",
    b"content-disposition",
    b"cache-control",
    b"retry-after",
    b"location",
    b"x-log-head",
}
#: A page of this service.
_LOCAL = re.compile(rb"/(?![/\\])[\x21-\x7e]*")
#: Seconds between two looks at the own address, how often somebody else is found there before that
#: is believed, and how often nobody before people are warned.
_LOOK_EVERY, _STRANGERS, _NOBODY = 0.5, 4, 20
_MOST_CONNECTIONS = 200
#: What a request's target does not have.
_NOT_ASCII = re.compile(rb"[^\x21-\x7e]")


class Peers:
    """Hands requests to the services that own their policies.

    Parameters
    ----------
    service
        This service.
    secret
        What lies in the log, by which services on it prove that they are.
    """

    def __init__(self, service: DecisionService, secret: bytes) -> None:
        self._service = service
        self._asking = Asking(self.owner)
        self._proof = Proof(secret)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=2.0),
            transport=PeerTransport(self._proof, most=_MOST_CONNECTIONS),
        )
        #: Why the own address is not this service's, None while it may be.
        self.wrong_address: str | None = None
        self._is_reached = True

    def proved(self, question: str) -> str | None:
        """The answer to whoever asks whether this is a service on the log, and proves to be one."""
        leases = self._service.running.leases
        return None if leases is None else self._proof.answer(question, leases.me.id)

    async def find_itself(self, end: Callable[[], None]) -> None:
        """Look who is at the own address, until it is this service; ``end`` if it is another."""
        strangers = nobody = 0
        while (leases := self._service.running.leases) is None or strangers < _STRANGERS:
            try:
                if leases is not None and leases.me.id == await who_is_at(
                    leases.me.address, self._proof
                ):
                    self._is_reached = True
                    return
                strangers += leases is not None
            except StrangerError:
                strangers += 1
            except httpx.ConnectError:
                nobody += 1
                self._is_reached = nobody < _NOBODY
            await asyncio.sleep(_LOOK_EVERY)
        self.wrong_address = (
            f"address {leases.me.address} is not this service: somebody else answers there; give "
            "the one at which the other services reach it (serve --address)"
        )
        end()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def warnings(self) -> list[str]:
        """What a person should look at; no names in it."""
        leases = self._service.running.leases
        if leases is None:
            return []
        found = ["this service does not reach itself at its --address; see whether the others do"][
            self._is_reached :
        ]
        owners = (leases.owner(policy) for policy in list(leases.policies))
        silent = self._asking.silent.keys() & {each.address for each in owners if each is not None}
        return (
            found
            + [
                f"{len(silent)} of the other services did not answer the last request at its "
                "--address; the lines of this service say which"
            ][: len(silent)]
        )

    def owner(self, policy: str) -> Owner | None:
        """The other service that owns a policy, as of the last look; None if there is none."""
        leases = self._service.running.leases
        known = None if leases is None else leases.owner(policy)
        return None if leases is None or known is None or known.id == leases.me.id else known

    async def hand_on(self, policy: str, owner: Owner, scope: Any, body: bytes, send: Any) -> None:
        """Answer with what the owner answers; UnavailableError if it does not."""
        scope["path_template"] = "handed on"  # for the access log
        asked = Asked(policy, owner, scope["method"], _target(scope), _headers(scope), body)
        answer = await self._answer(asked)
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": answer.status_code,
                    "headers": _taken(answer.headers.raw),
                }
            )
            async for part in self._asking.parts(asked, answer):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except GoneError:  # without the body's end the server closes the connection
            pass
        finally:
            await answer.aclose()

    async def _answer(self, asked: Asked) -> httpx.Response:
        leases = self._service.running.leases
        if leases is not None and asked.owner.address == leases.me.address:
            self._asking.tell(asked, "this service has the same address")
            raise UnavailableError(
                f"the owner of policy {asked.policy} has the address of this service, "
                f"{asked.owner.address}, and nothing was sent; start each with an --address of "
                "its own"
            )
        return await self._asking.answer(self._client, asked)

    async def views(
        self, request: Request[Any, Any, Any]
    ) -> tuple[list[PolicyView], dict[str, UnavailableError]]:
        """The policies that other services own, and why some of them could not be asked about.

        They are those that the caller's key is good for. One without an owner is taken, so that it
        is no other service's.
        """
        leases, caller = self._service.running.leases, caller_of(request)
        found: list[PolicyView] = []
        silent: dict[str, UnavailableError] = {}
        if leases is None or caller is None:
            return found, silent
        headers = [each for each in _headers(request.scope) if each[0] in _CREDENTIALS]
        for policy in list(leases.policies):
            if policy == SERVICE or not caller.sees(policy) or self._service.running.owns(policy):
                continue
            try:
                view = await self._view(policy, headers)
            except UnavailableError as error:
                silent[policy] = error
            else:
                found += [] if view is None else [view]
        return found, silent

    async def _view(self, policy: str, headers: Any) -> PolicyView | None:
        """A policy as its owner shows it; None if it is this service's, or is not there yet."""
        owner = self.owner(policy)
        if owner is None:
            await self._service.running.own(policy)
            return None
        asked = Asked(policy, owner, "GET", f"/v1/policies/{policy}".encode(), headers)
        answer = await self._answer(asked)
        with suppress(GoneError):  # it may end in the middle of its answer
            content = b"".join([part async for part in self._asking.parts(asked, answer)])
            if answer.status_code == 404:
                return None
            if answer.status_code == 200:
                return msgspec.json.decode(content, type=PolicyView)
        raise UnavailableError(f"the owner of policy {policy} does not answer; try again")

    def policy_of(self, service: str) -> str | None:
        """A policy of the service with this id, by which it is reached; None for this service."""
        leases = self._service.running.leases
        if leases is None or service == leases.me.id:
            return None
        for policy in list(leases.policies):
            owner = leases.owner(policy)
            if owner is not None and owner.id == service:
                return policy
        raise UnavailableError(
            "the service that this is about has ended, or owns no policy by which others reach it; "
            "look again, or open the dashboard at its own address"
        )


def _target(scope: Any) -> bytes:
    """Path and query of a request, as they came but for what only some clients send."""
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string") or b""
    target = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return _NOT_ASCII.sub(lambda found: b"%%%02X" % found[0][0], target)


def _headers(scope: Any) -> list[tuple[bytes, bytes]]:
    """What the other service needs of a request's headers; of cookies, the session.

    It is told who the client is, as a proxy would.
    """
    given = [each for each in scope["headers"] if each[0] in _CREDENTIALS | _ASKED]
    session = session_in(dict(given))
    headers = [each for each in given if each[0] != b"cookie"]
    if session is not None:
        headers.append((b"cookie", f"{COOKIE}={session}".encode("latin-1", "replace")))
    client = str((scope.get("client") or ("",))[0])
    return [*headers, (b"x-forwarded-for", client.encode())]


def _taken(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What is taken of an answer's headers."""
    given = [(name.lower(), value) for name, value in headers]
    return [
        (name, value)
        for name, value in given
        if name in _ANSWERED and (name != b"location" or _LOCAL.fullmatch(value))
    ]
