"""A client of the decision service."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode

from greedyfirst.client.errors import InvalidError, ServiceError
from greedyfirst.client.exchange import Exchange
from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.validation import amount, listed, whole_number, wrong

ROWS_PER_IMPORT = 1000
#: Of rows as JSON: a body may have 1 MB, and says who and why too.
BYTES_PER_IMPORT = 800_000

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The arm for a context, and why.

    Examples
    --------
    >>> from greedyfirst.client import Decision
    >>> decision = Decision(decision_id="d1", policy="dosing", arm="low", mode="greedy", step=1,
    ...                     at=0.0, model_version=1, schema_version=1,
    ...                     expected_rewards={"low": 1.0, "high": 0.5}, contributions={"age": 0.2})
    >>> decision.arm
    'low'
    """

    decision_id: str
    policy: str
    arm: str
    #: "greedy", "explored" (its score was raised), "forced", "fallback", "policy" or "control".
    mode: str
    step: int
    at: float
    model_version: int
    schema_version: int
    expected_rewards: dict[str, float]
    contributions: dict[str, float]
    #: The arms that lack people like this one: their scores were raised.
    explored_arms: tuple[str, ...] = ()
    #: Features outside their plausible range: the reward will be held for a person.
    held: tuple[str, ...] = ()
    #: The probability with which the arm was taken; None from a service of release 0.1.
    propensity: float | None = None
    #: "policy" or "control"; None where it is in no comparison.
    group: str | None = None
    #: The same probability of every arm that might have been taken.
    propensities: dict[str, float] = field(default_factory=dict)
    #: By how much the score of each of ``explored_arms`` was raised above its expected reward.
    raised_by: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """From the service's answer; what later releases add to it is left out."""
        told = {
            each.name: answer[each.name]
            for each in fields(cls)
            if each.default is MISSING and each.default_factory is MISSING
        }
        # Release 0.1 says none of these.
        explored, held = (tuple(answer.get(name, ())) for name in ("explored_arms", "held"))
        return cls(
            **told,
            explored_arms=explored,
            held=held,
            propensity=answer.get("propensity"),
            group=answer.get("group"),
            propensities=dict(answer.get("propensities", {})),
            raised_by=dict(answer.get("raised_by", {})),
        )


class Client:
    """Talks to a decision service; may be used by several threads at once.

    Parameters
    ----------
    url
        Where the service is.
    key
        The access key, where the service has keys.
    timeout
        Seconds that a try may take; calls that can be long work for the service have five minutes
        (the first policy of a kind is compiled, a change of schema learns everything again).
    retries
        How often a call is tried again when there is no answer, or 408, 429 or 503. Pauses between
        tries double from 0.1 s to 10 s, with chance in them so that clients do not come together.

    Notes
    -----
    Methods return what the service answers, as plain data. They raise ValueError for arguments that
    cannot be sent, and the :class:`ServiceError` that fits for refusals; :class:`UnavailableError`
    leaves open whether the call has been recorded.

    Examples
    --------
    >>> from greedyfirst.client import Client
    >>> client = Client("http://127.0.0.1:8000", timeout=5.0)
    >>> client.close()
    >>> Client("127.0.0.1:8000")
    Traceback (most recent call last):
        ...
    ValueError: url must be an address like http://127.0.0.1:8000, got '127.0.0.1:8000'

    With a service that runs (``greedyfirst serve --db trial.db``)::

        client.create_policy({"name": "dosing", "arms": ["low", "high"], ...})
        decision = client.decide("dosing", {"age": 61})
        client.reward(decision, 1.0)
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 5,
    ) -> None:
        self._exchange = Exchange(url, key, timeout, retries)

    # ---------------------------------------------------------------- decisions and rewards

    def decide(
        self,
        policy: str,
        context: Mapping[str, Any],
        *,
        eligible_arms: Sequence[str] | None = None,
    ) -> Decision:
        """Choose an arm for a context, a value for each feature by its name."""
        if getattr(context, "ndim", None) == 1 and hasattr(context, "to_dict"):
            context = context.to_dict()  # a Series
        if not isinstance(context, Mapping):
            raise wrong("context", context, "a mapping from feature names to values, or a Series")
        body: dict[str, Any] = {"context": dict(context)}
        if eligible_arms is not None:
            arms = listed(eligible_arms)
            if arms is None:
                raise wrong("eligible_arms", eligible_arms, "a sequence of names of arms")
            body["eligible_arms"] = arms
        return self._post(_policy(policy, "/decisions"), body, read=Decision.of)

    def reward(self, decision: Decision | str, value: float, *, part: str = "") -> str:
        """Give a decision its reward: "counted", "late", or "duplicate" if it was there already.

        "held" if it is not learned until a person has seen to it.
        A call that was tried again may say "duplicate" of its own first try.
        """
        if not isinstance(part, str):
            raise wrong("part", part, "text")
        body = {"value": amount("value", value), "part": part}
        path = _decision(decision, "/reward")
        return self._ask("PUT", path, body, read=lambda answer: str(answer["outcome"]))

    def correct(
        self,
        decision: Decision | str,
        value: float | None,
        *,
        who: str,
        why: str,
        part: str = "",
    ) -> dict[str, Any]:
        """Say what a reward was, None if it is void; a held one is confirmed by its own value.

        The policy learns its past again, as if the reward had been so from the start. The old value
        stays on record.
        """
        if not isinstance(part, str):
            raise wrong("part", part, "text")
        paid = None if value is None else amount("value", value)
        body = {"value": paid, "part": part, "who": who, "why": why}
        return self._post(_decision(decision, "/correction"), body, read=dict, patient=True)

    def erase(self, decision: Decision | str, *, who: str, why: str) -> dict[str, Any]:
        """Erase a person's features from a decision; what it taught is learned no more.

        Never tried again by itself.
        """
        body = {"who": who, "why": why}
        path = _decision(decision, "/erasure")
        return self._ask("POST", path, body, read=dict, retries=0, patient=True)

    def decision(self, decision: Decision | str) -> dict[str, Any]:
        """A decision, its context and what came of it."""
        return self._ask("GET", _decision(decision), read=dict)

    def intervals(self, decision: Decision | str) -> dict[str, Any]:
        """What is expected of each arm today in a decision's context, with intervals."""
        return self._ask("GET", _decision(decision, "/intervals"), read=dict)

    def replay(self, decision: Decision | str) -> dict[str, Any]:
        """A decision as it was logged, and made again from the log: are they the ``same``?"""
        return self._ask("GET", _decision(decision, "/replay"), read=dict, patient=True)

    # ---------------------------------------------------------------- policies

    def create_policy(self, specification: Mapping[str, Any]) -> dict[str, Any]:
        """Create a policy; the same one again is no error."""
        if not isinstance(specification, Mapping):
            raise wrong("specification", specification, "a mapping with name, arms and features")
        return self._post("/v1/policies", specification, read=dict, patient=True)

    def policy(self, policy: str) -> dict[str, Any]:
        """A policy and how it stands."""
        return self._ask("GET", _policy(policy), read=dict)

    def diversity(self, policy: str) -> dict[str, Any]:
        """How diverse each arm's samples are, and the open alarms."""
        return self._ask("GET", _policy(policy, "/diversity"), read=dict)

    def effects(self, policy: str, *, against: str | None = None) -> dict[str, Any]:
        """What was learned of each arm, with intervals, and compared with the arm ``against``."""
        query = "" if against is None else f"?{urlencode({'against': against})}"
        return self._ask("GET", _policy(policy, f"/effects{query}"), read=dict)

    def subgroups(self, policy: str, by: str) -> dict[str, Any]:
        """Decisions, rewards and effects by the levels of the category ``by``, and by period."""
        query = urlencode({"by": by})
        return self._ask("GET", _policy(policy, f"/subgroups?{query}"), read=dict, patient=True)

    def protocol(self, policy: str) -> dict[str, Any]:
        """What was laid down when the policy was created, its hash, and later changes."""
        return self._ask("GET", _policy(policy, "/protocol"), read=dict)

    def operations(self) -> dict[str, Any]:
        """Whether the service and its policies run: what an operator's key may see."""
        return self._ask("GET", "/v1/operations", read=dict)

    def resolve(
        self,
        policy: str,
        arm: str,
        resolution: str,
        *,
        who: str,
        why: str,
        alarm: int | None = None,
        change: bool = False,
    ) -> dict[str, Any]:
        """Answer an alarm: "explore_arm" or "explore" all, "drop" the arm, "hold" on to greedy.

        ``alarm`` is its number, left out the arm's newest one. An alarm is answered once:
        ``change=True`` changes the answer that it has.
        """
        body: dict[str, Any] = {"arm": arm, "resolution": resolution, "who": who, "why": why}
        if alarm is not None:
            body["alarm"] = whole_number("alarm", alarm, at_least=1)
        if change:
            body["change"] = True
        return self._post(_policy(policy, "/resolutions"), body, read=dict)

    def add_arm(
        self, policy: str, arm: str, *, who: str, why: str, initial_pulls: int | None = None
    ) -> dict[str, Any]:
        """Add an arm."""
        body = {"arm": arm, "who": who, "why": why, "initial_pulls": initial_pulls}
        return self._post(_policy(policy, "/arms"), body, read=dict)

    def retire_arm(self, policy: str, arm: str, *, who: str, why: str) -> dict[str, Any]:
        """Retire an arm: it is chosen no more."""
        body = {"arm": arm, "who": who, "why": why}
        return self._post(_policy(policy, "/retirements"), body, read=dict)

    def reinstate_arm(self, policy: str, arm: str, *, who: str, why: str) -> dict[str, Any]:
        """Put a dropped or retired arm back: it may be chosen again."""
        body = {"arm": arm, "who": who, "why": why}
        return self._post(_policy(policy, "/reinstatements"), body, read=dict)

    def set_state(self, policy: str, state: str, *, who: str, why: str) -> dict[str, Any]:
        """Make a policy "paused", "running" again, or "closed" for good."""
        body = {"state": state, "who": who, "why": why}
        return self._post(_policy(policy, "/state"), body, read=dict)

    def import_history(
        self, policy: str, rows: Iterable[Mapping[str, Any]], *, who: str, why: str
    ) -> dict[str, Any]:
        """Learn rows of ``context``, ``arm`` and ``reward`` from elsewhere.

        They are sent at most a thousand at a time, fewer if they are wide. What is sent together is
        learned as a whole or not at all. An error says from which row on it is about; those before
        it have been learned.
        """
        path, first = _policy(policy, "/history"), 0
        for chunk in _chunks(rows):
            try:
                self._post(path, {"rows": chunk, "who": who, "why": why}, read=dict)
            except InvalidError as error:
                where = f"from row {first} on: {error.sentence}" if first else error.sentence
                raise InvalidError(error.status, where) from None
            first += len(chunk)
        return self.policy(policy)

    def change_schema(
        self,
        policy: str,
        features: Sequence[Mapping[str, Any]],
        *,
        who: str,
        why: str,
        intercept: bool = True,
        fill: Mapping[str, Any] | None = None,
    ) -> int:
        """Give the policy other features; the schema's new version. Never tried again by itself."""
        body = {
            "features": list(_mappings("features", features)),
            "intercept": intercept,
            "fill": _mapping("fill", {} if fill is None else fill),
            "who": who,
            "why": why,
        }
        return self._ask(
            "PUT",
            _policy(policy, "/schema"),
            body,
            read=lambda answer: int(answer["schema_version"]),
            retries=0,
            patient=True,
        )

    def audit(
        self, policy: str, *, before: int | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """What people and the diversity test did, newest first; ``before`` an entry's number."""
        query = {"limit": whole_number("limit", limit, at_least=1, at_most=1000)}
        if before is not None:
            query["before"] = whole_number("before", before, at_least=1)
        return self._ask("GET", _policy(policy, f"/audit?{urlencode(query)}"), read=list)

    def clock(self) -> dict[str, Any]:
        """The service's time, and whether the machine's clock has moved away from it."""
        return self._ask("GET", "/v1/clock", read=dict)

    def answer_clock(self, answer: str, *, who: str, why: str) -> dict[str, Any]:
        """Say which clock is right after a jump: "follow", "passed" or "keep"."""
        body = {"answer": answer, "who": who, "why": why}
        return self._ask("POST", "/v1/clock", body, read=dict, retries=0)

    def export(self, policy: str, path: str | Path) -> None:
        """Write all decisions and their rewards to a Parquet file."""
        address = _policy(policy, "/export")
        status, content = self._exchange.ask("GET", address, None, {}, patient=True)
        if not content.startswith(b"PAR1"):
            raise _not_ours(status, content)
        with atomic_write(Path(path)) as temporary:
            temporary.write_bytes(content)

    def close(self) -> None:
        """Close the connections; a later call opens one again."""
        self._exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _post(
        self, path: str, body: Mapping[str, Any], *, read: Callable[[Any], T], patient: bool = False
    ) -> T:
        """Send what changes something, with a key that stays the same through all tries."""
        return self._ask("POST", path, body, read=read, key=uuid.uuid4().hex, patient=patient)

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        read: Callable[[Any], T],
        key: str | None = None,
        **options: Any,
    ) -> T:
        """The answer, as ``read`` makes it from plain data."""
        content = None if body is None else _json(body)
        headers = {} if key is None else {"Idempotency-Key": key}
        status, answer = self._exchange.ask(method, path, content, headers, **options)
        try:
            return read(json.loads(answer))
        except (ValueError, TypeError, KeyError):
            raise _not_ours(status, answer) from None


def _not_ours(status: int, answer: bytes) -> ServiceError:
    """The error where something else answers in the service's place, such as a proxy's page."""
    start = answer[:200].decode(errors="replace")
    return ServiceError(status, f"the answer is not a decision service's: {start!r}")


def _chunks(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The rows, as many at a time as a body can hold."""
    chunk: list[dict[str, Any]] = []
    size = 0
    for row in _mappings("rows", rows):
        length = len(_json({"rows": row}))
        if len(chunk) == ROWS_PER_IMPORT or (chunk and size + length > BYTES_PER_IMPORT):
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += length
    if chunk:
        yield chunk


def _policy(policy: str, rest: str = "") -> str:
    return f"/v1/policies/{quote(_text('policy', policy), safe='')}{rest}"


def _decision(decision: Decision | str, rest: str = "") -> str:
    known = decision.decision_id if isinstance(decision, Decision) else decision
    if not isinstance(known, str) or not known:
        raise wrong("decision", decision, "a Decision, or the decision_id of one")
    return f"/v1/decisions/{quote(known, safe=':')}{rest}"


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong(name, value, "a mapping from names to values")
    return dict(value)


def _mappings(name: str, values: Any) -> Iterator[dict[str, Any]]:
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise wrong(name, values, "a sequence of mappings")
    for place, value in enumerate(values):
        yield _mapping(f"{name}[{place}]", value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise wrong(name, value, "non-empty text")
    return value


def _json(body: Mapping[str, Any]) -> bytes:
    """The body as JSON; the error names the argument that cannot be sent."""
    for name, value in body.items():
        try:
            json.dumps(value, allow_nan=False, default=_number)
        except (TypeError, ValueError, RecursionError) as error:
            raise wrong(name, value, f"something that JSON can hold ({error})") from None
    return json.dumps(body, default=_number).encode()


def _number(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")
