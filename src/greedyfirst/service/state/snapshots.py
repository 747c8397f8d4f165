"""A deployment's state as bytes: a cache that saves reading the whole log."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct

from greedyfirst.agent import Agent
from greedyfirst.evaluation.control import Comparison
from greedyfirst.service.log import events
from greedyfirst.service.state.alarm_record import AlarmRecord
from greedyfirst.service.state.amendments import Amendments
from greedyfirst.service.state.control_group import ControlGroup, GroupCounts
from greedyfirst.service.state.deployment import (
    Counts,
    Deployment,
    HeldReward,
    Pending,
    Recall,
)
from greedyfirst.service.state.history import History
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.run_state import Standing
from greedyfirst.service.state.specification import Features, Specification

#: The layout of what is written. Another number is due whenever a field is added, dropped or gets
#: another meaning, here or in what it holds, or when the same entries give another state: a release
#: that does not know the number reads the log instead. Fields of agents' states are compared.
FORMAT = 4
#: Those that are read: 1 is release 0.1's, which had no number; 2 lacks what people corrected; 3
#: has no control share.
READABLE = (1, 2, 3, FORMAT)


class SavedControl(Struct, frozen=True, kw_only=True):
    """The state of a control share as a snapshot holds it."""

    comparison: Comparison
    counts: GroupCounts
    #: Of current practice, where that is a policy.
    agent: bytes | None
    fields: tuple[str, ...]


class SavedState(Struct, frozen=True, kw_only=True):
    """A deployment as a snapshot holds it."""

    format: int = 1
    specification: Specification
    agent: bytes
    #: The fields of the agent's state.
    fields: tuple[str, ...] = ()
    encoding: Features
    schema_version: int
    model_version: int
    backfill: dict[str, events.Value] = msgspec.field(name="fill")
    #: Steps and times of pending decisions, as columns of numbers.
    pending: tuple[bytes, bytes]
    parts: dict[int, dict[str, float]]
    counts: Counts
    history: History = msgspec.field(name="course")
    mismatches: int = msgspec.field(name="departures")
    asked: PolicyDescription | None = None
    #: None in snapshots of release 0.1, which have the open ones only.
    alarms: AlarmRecord | None = None
    dubious: dict[int, tuple[str, ...]] = {}
    held: dict[int, dict[str, HeldReward]] = {}
    standing: Standing = Standing()
    amendments: Amendments = msgspec.field(default_factory=Amendments)
    open_alarms: dict[str, events.Alarmed] = {}
    tags: list[tuple[int, str]] = []
    control: SavedControl | None = None


def save(deployment: Deployment) -> Callable[[], bytes]:
    """Copy the state now; what is returned makes bytes of the copy, on any thread, later."""
    agent = deployment.agent.copied()
    history = deployment.history
    saved = partial(
        SavedState,
        format=FORMAT,
        fields=_fields(deployment.agent),
        specification=deployment.specification,
        encoding=deployment.encoding,
        schema_version=deployment.schema_version,
        model_version=deployment.model_version,
        backfill=dict(deployment.backfill),
        parts=dict(deployment.parts),
        dubious=dict(deployment.dubious),
        held=dict(deployment.held),
        amendments=deployment.amendments.copied(),
        counts=msgspec.structs.replace(deployment.counts),
        history=msgspec.structs.replace(history, points=list(history.points)),
        alarms=deployment.alarms.copied(),
        standing=deployment.standing,
        mismatches=deployment.mismatches,
        asked=deployment.asked,
        tags=list(deployment.tags),
    )
    steps, times = deployment.pending.columns()
    control = _copied(deployment.control)

    def content() -> bytes:
        pending = (steps.tobytes(), times.tobytes())
        return msgspec.msgpack.encode(saved(agent=agent(), pending=pending, control=control()))

    return content


def load(content: bytes, recall: Recall) -> Deployment | None:
    """The deployment that was saved, or None where its layout is not known."""
    try:
        state = msgspec.msgpack.decode(content, type=SavedState)
        if state.format not in READABLE:
            return None
        agent = Agent.from_bytes(state.agent)
        practice = _agent_of(state.control)
    except (msgspec.MsgspecError, ValueError):
        return None
    if state.format > 1 and state.fields != _fields(agent):
        return None
    if state.control is not None and state.control.fields != _fields(practice):
        return None
    deployment = Deployment(
        state.specification,
        agent,
        recall,
        state.encoding,
        state.schema_version,
        state.model_version,
    )
    deployment.backfill = state.backfill
    deployment.pending = Pending.from_bytes(*state.pending)
    deployment.parts, deployment.held = state.parts, state.held
    deployment.dubious = state.dubious
    deployment.amendments, deployment.standing = state.amendments, state.standing
    deployment.counts = state.counts
    deployment.history = state.history
    deployment.alarms = state.alarms or AlarmRecord(open=state.open_alarms)
    deployment.mismatches = state.mismatches
    deployment.asked = state.asked
    deployment.tags = state.tags
    if deployment.control is not None and state.control is not None:
        control = deployment.control
        control.agent, control.counts = practice, state.control.counts
        control.comparison = state.control.comparison
    return deployment


def _copied(control: ControlGroup | None) -> Callable[[], SavedControl | None]:
    """Copy a control share's state now; what is returned makes bytes of the copy, later."""
    if control is None:
        return lambda: None
    agent = None if control.agent is None else control.agent.copied()
    fields, counts = _fields(control.agent), control.counts.copied()
    comparison = copy.deepcopy(control.comparison)
    return lambda: SavedControl(
        comparison=comparison, counts=counts, agent=agent and agent(), fields=fields
    )


def _agent_of(saved: SavedControl | None) -> Agent | None:
    return None if saved is None or saved.agent is None else Agent.from_bytes(saved.agent)


def _fields(agent: Agent | None) -> tuple[str, ...]:
    return () if agent is None else tuple(path for path, _ in agent.state.arrays())
