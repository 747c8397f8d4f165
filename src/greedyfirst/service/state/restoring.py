"""A policy's state from the log: the newest snapshot that fits, and the entries after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
from msgspec import Struct

from greedyfirst.agent import Agent
from greedyfirst.service.errors import Damaged, Refusal, Unknown
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.log.log import Entry, Log
from greedyfirst.service.state import administration as people
from greedyfirst.service.state.deployment import Counts, Deployment, Recall
from greedyfirst.service.state.history import Course
from greedyfirst.service.state.pending import Pending
from greedyfirst.service.state.relearning import relearned
from greedyfirst.service.state.specification import Features, Specification
from greedyfirst.version import __version__


class SavedState(Struct, frozen=True, kw_only=True):
    """A deployment as bytes hold it."""

    release: str
    specification: Specification
    agent: bytes
    encoding: Features
    schema_version: int
    model_version: int
    fill: dict[str, events.Value]
    #: Steps and times of pending decisions, as columns of numbers.
    pending: tuple[bytes, bytes]
    parts: dict[int, dict[str, float]]
    counts: Counts
    course: Course
    open_alarms: dict[str, events.Alarmed]
    departures: int


def save(deployment: Deployment) -> Callable[[], bytes]:
    """Copy the state now; what is returned makes bytes of the copy, on any thread, later."""
    agent = deployment.agent.copied()
    saved = partial(
        SavedState,
        release=__version__,
        specification=deployment.specification,
        encoding=deployment.encoding,
        schema_version=deployment.schema_version,
        model_version=deployment.model_version,
        fill=dict(deployment.fill),
        parts=dict(deployment.parts),
        counts=msgspec.structs.replace(deployment.counts),
        course=msgspec.structs.replace(deployment.course, points=list(deployment.course.points)),
        open_alarms=dict(deployment.open_alarms),
        departures=deployment.departures,
    )
    steps, times = deployment.pending.columns()

    def content() -> bytes:
        pending = (steps.tobytes(), times.tobytes())
        return msgspec.msgpack.encode(saved(agent=agent(), pending=pending))

    return content


def load(content: bytes, recall: Recall) -> Deployment | None:
    """The deployment that was saved, or None where another release saved it."""
    try:
        state = msgspec.msgpack.decode(content, type=SavedState)
        if state.release != __version__:
            return None
        agent = Agent.from_bytes(state.agent)
    except (msgspec.MsgspecError, ValueError):
        return None
    deployment = Deployment(
        state.specification,
        agent,
        recall,
        state.encoding,
        state.schema_version,
        state.model_version,
    )
    deployment.fill = state.fill
    deployment.pending = Pending.from_bytes(*state.pending)
    deployment.parts = state.parts
    deployment.counts = state.counts
    deployment.course = state.course
    deployment.open_alarms = state.open_alarms
    deployment.departures = state.departures
    return deployment


def restore(
    log: Log, policy: str, *, before: int | None = None, snapshots: bool = True
) -> tuple[Deployment, int]:
    """The policy's state after its entries, those before number ``before``; the last one's number.

    Without ``snapshots`` all entries are applied again: the state is the same.
    """

    def recall(step: int) -> list[AnyEvent]:
        return [entry.event for entry in log.about(policy, step)]

    deployment, done = None, 0
    saved = log.snapshot(policy, before) if snapshots else None
    if saved is not None:
        deployment, done = load(saved[1], recall), saved[0]
    if deployment is None:
        done = 0
    for entry in log.read(policy, done, before):
        event = entry.event
        if deployment is None:
            if not isinstance(event, events.Created):
                raise Damaged(f"policy {policy}: entry {entry.seq} comes before its creation")
            deployment = Deployment.begin(event, recall)
        else:
            _apply(deployment, log, entry)
        done = entry.seq
    if deployment is None:
        raise Unknown(f"there is no policy {policy!r}")
    return deployment, done


def _apply(deployment: Deployment, log: Log, entry: Entry) -> None:
    """Change the state as the request did that the entry came from."""
    event, at = entry.event, entry.at
    try:
        match event:
            case Decided():
                made = deployment.decide(event.context, event.eligible_arms, at)
                deployment.departures += made.answer != event.answer
            case events.Rewarded():
                deployment.take(event, at)
            case events.Expired():
                deployment.end_wait(event, at)
            case events.Alarmed():
                deployment.hear(event)
            case events.Resolved() | events.ArmAdded() | events.ArmRetired() | events.Imported():
                people.act(deployment, event, at)
            case events.SchemaChanged():
                past = past_of(log, entry.policy, entry.seq)
                deployment.adopt(relearned(deployment, event, past))
    except (Refusal, ValueError, KeyError) as error:
        raise Damaged(f"entry {entry.seq} of the log contradicts those before: {error}") from error


def decide_again(log: Log, entry: Entry) -> tuple[Decision, Decision]:
    """A decision as it was logged, and as the state before it makes it again."""
    decided = entry.event
    assert isinstance(decided, Decided)
    before, _ = restore(log, entry.policy, before=entry.seq)
    again = before.decide(decided.context, decided.eligible_arms, entry.at)
    return decided.answer, again.answer


def replay_last(log: Log, policy: str, last: int) -> tuple[int, int]:
    """Make a policy's last decisions again; how many those were, and how many came out otherwise.

    The state before them is made from all entries, not from a snapshot.
    """
    steps = [entry.seq for entry in log.read(policy) if entry.kind == "decided"]
    chosen = steps[-last:] if last else []
    if not chosen:
        return 0, 0
    state, done = restore(log, policy, before=chosen[0], snapshots=False)
    before = state.departures
    for entry in log.read(policy, done):
        _apply(state, log, entry)
    return len(chosen), state.departures - before


def past_of(log: Log, policy: str, before: int | None = None) -> Iterator[tuple[float, AnyEvent]]:
    """When each of a policy's events was, and the event, before entry ``before``."""
    for entry in log.read(policy, 0, before):
        yield entry.at, entry.event
