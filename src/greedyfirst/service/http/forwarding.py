"""Where several services write one log: each request goes to the one that owns its policy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
from litestar.exceptions import HTTPException
from litestar.utils import normalize_path

from greedyfirst.service.errors import (
    DamagedLogError,
    LogFailedError,
    RequestError,
    TakenError,
    UnavailableError,
)
from greedyfirst.service.http.access import CALLER, Caller
from greedyfirst.service.http.lease_looks import LeaseLooks
from greedyfirst.service.http.middleware import ASGI, refuse
from greedyfirst.service.log.ownership import Owner
from greedyfirst.service.service import DecisionService

if TYPE_CHECKING:
    from greedyfirst.service.http.peers import Peers

#: Says that a service handed the request on: the next one does not do so again.
HOP = b"greedyfirst-handed-on"
_POLICY = re.compile(r"(?:/v1)?/policies/([^/]+)(?:/.*)?", re.DOTALL)
_DECISION = re.compile(r"(?:/v1)?/decisions/([^/]+)(?:/.*)?", re.DOTALL)


class _Named(msgspec.Struct):
    """What a request to create a policy calls it."""

    name: str


class Forwarding:
    """Lets the application answer for policies of this service, and their owners for others.

    A policy without an owner is taken first.
    """

    def __init__(self, app: ASGI, service: DecisionService, peers: Peers, most_bytes: int) -> None:
        self._app, self._service, self._peers = app, service, peers
        self._most_bytes, self._looks = most_bytes, LeaseLooks()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, here or there."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._route(scope, receive, send)
        except RequestError as error:
            await refuse(send, dict(scope["headers"]), error.status, error.sentence)
        except HTTPException as error:
            await refuse(send, dict(scope["headers"]), error.status_code, error.detail)
        except (LogFailedError, DamagedLogError) as error:
            sentence = f"the log cannot be read at the moment ({error}); try again"
            await refuse(send, dict(scope["headers"]), 503, sentence)

    async def _route(self, scope: Any, receive: Any, send: Any) -> None:
        caller: Caller | None = scope.get("state", {}).get(CALLER)
        if caller is None:  # the application refuses strangers, whatever they ask about
            await self._app(scope, receive, send)
            return
        body: bytes | None = None
        path = _path(scope)
        if scope["method"] == "POST" and path == "/v1/policies":
            body = await self._body(receive)
            policy = _name_in(body)
        elif path == "/clock":
            policy = self._where_the_clock_is(scope)
        else:
            policy = _policy_of(scope)
        if policy is not None and caller.sees(policy) and not self._service.running.owns(policy):
            owner = await self._other_owner(policy, scope)
            if owner is not None:
                body = await self._body(receive) if body is None else body
                await self._peers.hand_on(policy, owner, scope, body, send)
                return
        await self._answer(policy, body, scope, receive, send)

    async def _answer(
        self, policy: str | None, body: bytes | None, scope: Any, receive: Any, send: Any
    ) -> None:
        """Let the application answer."""
        owned = policy is not None and self._service.running.owns(policy)
        if policy is not None and owned:
            send = self._while_owned(policy, scope, send)
        if policy is not None and body is not None and not owned:
            await self._create(policy, body, scope, receive, send)
            return
        if body is not None:
            receive = _received(body, receive)
        await self._app(scope, receive, send)

    async def _create(self, policy: str, body: bytes, scope: Any, receive: Any, send: Any) -> None:
        """Create a policy, or hand the request to another service that was faster."""
        answer: list[Any] = []

        async def keep(message: Any) -> None:
            answer.append(message)

        await self._app(scope, _received(body, receive), keep)
        if answer[0]["status"] == UnavailableError.status and not _was_handed_on(scope):
            owner = await self._seen_owner(policy)
            if owner is not None:
                await self._peers.hand_on(policy, owner, scope, body, send)
                return
        for message in answer:
            await send(message)

    def _where_the_clock_is(self, scope: Any) -> str | None:
        """A policy of the service whose machine's clock a form is about, which the form names."""
        named = _asked(scope).get("service", [""])[0]
        return self._peers.policy_of(named) if named else None

    async def _other_owner(self, policy: str, scope: Any) -> Owner | None:
        """The other service that owns the policy; one without an owner is taken."""
        running = self._service.running
        leases = running.leases
        if leases is None:
            return None
        if policy not in leases.policies:
            await self._looks.look(leases)
            if policy not in leases.policies:
                return None
        owner = self._peers.owner(policy)
        if owner is None:
            try:
                await running.own(policy)
            except TakenError:
                owner = await self._seen_owner(policy)
                if owner is None:
                    raise
        if owner is not None and _was_handed_on(scope):
            raise UnavailableError(f"the owner of policy {policy} changes; try again")
        return owner

    async def _seen_owner(self, policy: str) -> Owner | None:
        """The other service that owns the policy now."""
        leases = self._service.running.leases
        if leases is not None:
            await self._looks.look(leases)
        return self._peers.owner(policy)

    def _while_owned(self, policy: str, scope: Any, send: Any) -> Any:
        """``send``, with a 503 instead of an answer that was made after the lease ended.

        What was asked for and done is in the log, so that it was done before.
        """
        late, reads = False, scope["method"] in ("GET", "HEAD")

        async def send_while_owned(message: Any) -> None:
            nonlocal late
            if message["type"] == "http.response.start":
                done = not reads and message["status"] < 400
                late = not done and not self._service.running.owns(policy)
                if late:
                    sentence = f"the owner of policy {policy} changes just now; try again"
                    await refuse(send, dict(scope["headers"]), 503, sentence)
            if not late:
                await send(message)

        return send_while_owned

    async def _body(self, receive: Any) -> bytes:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException("the connection ended before the body did", status_code=400)
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._most_bytes:
                sentence = f"a body may have at most {self._most_bytes} bytes"
                raise HTTPException(sentence, status_code=413)
        return body


def _was_handed_on(scope: Any) -> bool:
    return HOP in dict(scope["headers"])


def _path(scope: Any) -> str:
    """The path by which the application finds a route."""
    return normalize_path(scope["path"])


def _policy_of(scope: Any) -> str | None:
    """The policy that a request is about; None if it is about none, or many."""
    path = _path(scope)
    if found := _POLICY.fullmatch(path):
        return found[1]
    if found := _DECISION.fullmatch(path):
        return found[1].rpartition(":")[0] or None
    if path == "/decisions":  # the look-up form: a number of a policy, or a decision's id
        asked = _asked(scope)
        number = asked.get("number", [""])[0].strip()
        return (number.rpartition(":")[0] or asked.get("policy", [""])[0]) or None
    return None


def _asked(scope: Any) -> dict[str, list[str]]:
    """What follows the question mark."""
    return parse_qs(scope.get("query_string", b"").decode("latin-1"))


def _name_in(body: bytes) -> str | None:
    """The name in a request to create a policy; None where the application says what is wrong."""
    try:
        return msgspec.json.decode(body, type=_Named).name or None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _received(body: bytes, receive: Any) -> Any:
    """``receive`` for a body that was read already."""
    given = False

    async def receive_again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
