"""Other services on the same log: their answers to requests about the policies that they own."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import httpx
import msgspec
from litestar import Request

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import caller_of
from greedyfirst.service.http.asking import Asked, Asking, GoneError
from greedyfirst.service.http.messages import PolicyView
from greedyfirst.service.log.events import SERVICE
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.service import DecisionService

#: Of one connection, not of the request or answer.
_OF_CONNECTION = {
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
#: What this service has looked at, and the other one has another of.
_OF_THIS_SERVICE = {b"host", b"origin", b"x-forwarded-for"}
#: What a caller is known by.
_CREDENTIALS = {b"authorization", b"cookie"}
_MOST_CONNECTIONS = 200
#: What a request's target does not have.
_NOT_ASCII = re.compile(rb"[^\x21-\x7e]")


class Peers:
    """Hands requests to the services that own their policies."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service
        self._asking = Asking(self.owner)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=2.0),
            limits=httpx.Limits(max_connections=_MOST_CONNECTIONS),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def warnings(self) -> list[str]:
        """What a person should look at; no names in it."""
        leases = self._service.running.leases
        if leases is None:
            return []
        owners = (leases.owner(policy) for policy in list(leases.policies))
        silent = self._asking.silent.keys() & {each.address for each in owners if each is not None}
        return [
            f"{len(silent)} of the other services did not answer the last request at its "
            "--address; the lines of this service say which"
        ][: len(silent)]

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
                    "headers": [
                        (name.lower(), value)
                        for name, value in answer.headers.raw
                        if name.lower() not in _OF_CONNECTION
                    ],
                    "handed_on": True,
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
    """A request's headers, as the other service takes them from a client of its own.

    Host and origin were compared here; it is known by another name. It is told who the client is,
    as a proxy would.
    """
    left_out = _OF_CONNECTION | _OF_THIS_SERVICE
    client = str((scope.get("client") or ("",))[0])
    headers = [each for each in scope["headers"] if each[0] not in left_out]
    return [*headers, (b"x-forwarded-for", client.encode())]
