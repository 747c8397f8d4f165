"""Other services on the same log: their answers to requests about the policies that they own."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import msgspec
from litestar import Request

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.http.access import caller_of
from greedyfirst.service.http.forwarding import HOP
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
_LOOK_EVERY = 0.5
_MOST_CONNECTIONS = 200
_READS = ("GET", "HEAD")
_AGAIN = "it may have been recorded; send the same again"


class Peers:
    """Hands requests to the services that own their policies."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=2.0),
            limits=httpx.Limits(max_connections=_MOST_CONNECTIONS),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def owner(self, policy: str) -> Owner | None:
        """The other service that owns a policy, as of the last look; None if there is none."""
        leases = self._service.running.leases
        known = None if leases is None else leases.owner(policy)
        return None if leases is None or known is None or known.id == leases.me.id else known

    async def hand_on(self, policy: str, owner: Owner, scope: Any, body: bytes, send: Any) -> None:
        """Answer with what the owner answers; UnavailableError if it does not."""
        scope["path_template"] = "handed on"  # for the access log
        headers = _headers(scope)
        path = scope.get("raw_path") or scope["path"].encode()
        query = scope.get("query_string") or b""
        url = httpx.URL(owner.address).copy_with(
            raw_path=path.partition(b"?")[0] + (b"?" + query if query else b"")
        )
        answer = await self._asked(policy, owner, scope["method"], url, headers, body)
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
            async for part in answer.aiter_raw():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()

    async def _asked(
        self, policy: str, owner: Owner, method: str, url: httpx.URL, headers: Any, body: bytes
    ) -> httpx.Response:
        """The owner's answer, waited for as long as it is the owner."""
        # Not the client's own request, which would have cookies of other callers' answers.
        request = httpx.Request(method, url, headers=[*headers, (HOP, b"1")], content=body)
        again = "try again" if method in _READS else _AGAIN
        sending = asyncio.ensure_future(self._client.send(request, stream=True))
        try:
            while not (await asyncio.wait({sending}, timeout=_LOOK_EVERY))[0]:
                if self.owner(policy) != owner:
                    raise UnavailableError(f"the owner of policy {policy} is gone; {again}")
            return sending.result()
        except httpx.HTTPError:
            raise UnavailableError(f"the owner of policy {policy} does not answer; {again}") from (
                None
            )
        finally:
            sending.cancel()

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
        url = httpx.URL(f"{owner.address}/v1/policies/{policy}")
        answer = await self._asked(policy, owner, "GET", url, headers, b"")
        with suppress(httpx.HTTPError):  # it may end in the middle of its answer
            content = await answer.aread()
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


def _headers(scope: Any) -> list[tuple[bytes, bytes]]:
    """A request's headers, as the other service takes them from a client of its own.

    Host and origin were compared here; it is known by another name. It is told who the client is,
    as a proxy would.
    """
    left_out = _OF_CONNECTION | _OF_THIS_SERVICE
    client = str((scope.get("client") or ("",))[0])
    headers = [each for each in scope["headers"] if each[0] not in left_out]
    return [*headers, (b"x-forwarded-for", client.encode())]
