"""What operators see: that a service works, but not what comes of its decisions.

An operator's answers have nothing that follows from rewards: no reward, estimate or eigenvalue, and
neither which arms are taken nor which arm an alarm is about, since the policy chooses arms by their
rewards. Reasons that people wrote are left out too. That an alarm was raised, and that a reward is
held for a person, is told, so that somebody can be called.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from greedyfirst.service.http.messages import ClockView
from greedyfirst.service.log.events import RunState
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.protocol import Protocol

#: What an operator is told of each event, beside who did it; of others only that they happened.
TOLD: dict[str, tuple[str, ...]] = {
    "created": (),
    "arm_added": ("arm", "initial_pulls"),
    "schema_changed": ("version",),
    "state_changed": ("state",),
    "imported": ("rows",),
    "reward_corrected": ("step",),
    "erased": ("step",),
    "reduced": ("step", "count"),
    "waits_moved": ("seconds",),
    "restored": ("entries", "machine_time"),
}


class PolicyOperations(Struct, frozen=True, kw_only=True):
    """Whether a policy runs, and how many rewards it waits for."""

    name: str
    state: RunState
    #: Who stopped it, or let it run again, and when; None if nobody ever did.
    state_by: str | None
    state_since: float | None
    schema_version: int
    #: Each decision is one of learned, awaited, missing, too_late, held and void.
    decisions: int
    learned: int
    awaited: int
    missing: int
    too_late: int
    held: int
    void: int
    imported: int
    #: Alarms that nobody has answered: how many, not about which arms.
    open_alarms: int
    #: Decisions that differed from the log when the state was made from it.
    mismatches: int


class Operations(Struct, frozen=True, kw_only=True):
    """How a service works."""

    ready: bool
    warnings: tuple[str, ...]
    clock: ClockView
    policies: tuple[PolicyOperations, ...]


def policy_operations(deployment: Deployment) -> PolicyOperations:
    """What an operator sees of a policy."""
    standing, counts = deployment.standing, deployment.counts
    return PolicyOperations(
        name=deployment.name,
        state=standing.state,
        state_by=standing.who or None,
        state_since=standing.at or None,
        schema_version=deployment.schema_version,
        decisions=deployment.agent.decisions,
        learned=deployment.agent.joined,
        awaited=len(deployment.pending),
        missing=counts.missing,
        too_late=counts.too_late,
        held=sum(step not in deployment.pending for step in deployment.held),
        void=counts.voided,
        imported=counts.imported,
        open_alarms=len(deployment.open_alarms),
        mismatches=deployment.mismatches,
    )


def told(event: dict[str, Any]) -> dict[str, Any]:
    """An audited event without what follows from rewards."""
    kept = ("event", "who", *TOLD.get(event["event"], ()))
    return {name: event[name] for name in kept if name in event}


def blinded(protocol: Protocol) -> Protocol:
    """A protocol for operators."""
    changes = tuple(
        msgspec.structs.replace(change, event=told(change.event)) for change in protocol.changes
    )
    return msgspec.structs.replace(protocol, changes=changes)
