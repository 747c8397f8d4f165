"""Other services on the same log: their answers to requests about the policies that they own."""

from __future__ import annotations

import asyncio
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
#: What a caller is known by.
_CREDENTIALS = (b"authorization", b"cookie", b"host")
_LOOK_EVERY = 0.5
_MOST_CONNECTIONS = 200
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
        headers = [each for each in scope["headers"] if each[0] not in _OF_CONNECTION]
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
        request = self._client.build_request(
            method, url, headers=[*headers, (HOP, b"1")], content=body
        )
        sending = asyncio.ensure_future(self._client.send(request, stream=True))
        try:
            while not (await asyncio.wait({sending}, timeout=_LOOK_EVERY))[0]:
                if self.owner(policy) != owner:
                    raise UnavailableError(f"the owner of policy {policy} is gone; {_AGAIN}")
            return sending.result()
        except httpx.HTTPError:
            raise UnavailableError(f"the owner of policy {policy} does not answer; {_AGAIN}") from (
                None
            )
        finally:
            sending.cancel()

    async def views(self, request: Request[Any, Any, Any]) -> list[PolicyView]:
        """The policies that other services own, of those that the caller's key is good for.

        One without an owner is taken, so that it is no other service's.
        """
        leases, caller = self._service.running.leases, caller_of(request)
        if leases is None or caller is None:
            return []
        headers = [each for each in request.scope["headers"] if each[0] in _CREDENTIALS]
        found = []
        for policy in list(leases.policies):
            if policy == SERVICE or not caller.sees(policy) or self._service.running.owns(policy):
                continue
            owner = self.owner(policy)
            if owner is None:
                await self._service.running.own(policy)
                continue
            url = httpx.URL(f"{owner.address}/v1/policies/{policy}")
            answer = await self._asked(policy, owner, "GET", url, headers, b"")
            content = await answer.aread()
            if answer.status_code == 200:
                found.append(msgspec.json.decode(content, type=PolicyView))
            elif answer.status_code != 404:
                raise UnavailableError(f"the owner of policy {policy} does not answer; try again")
        return found
