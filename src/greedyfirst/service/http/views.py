"""Answers made from a deployment's state and its log."""

from __future__ import annotations

from typing import Any

from greedyfirst.policies.greedy_first import ArmDiversity, DiversityReport
from greedyfirst.service.http.control_view import control_view
from greedyfirst.service.http.messages import (
    ArmDiversityView,
    ArmView,
    AuditEntry,
    DiversityView,
    Doing,
    HeldView,
    PolicyView,
    StarvingArm,
)
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.protocol import shown
from greedyfirst.service.state.reports import report_of


def policy_view(deployment: Deployment) -> PolicyView:
    """A policy and how it stands."""
    report = report_of(deployment)
    counts, control = deployment.counts, deployment.control
    mode: Any = report.mode
    return PolicyView(
        name=deployment.name,
        specification=deployment.specification,
        seed=deployment.agent.seed,
        schema_version=deployment.schema_version,
        model_version=deployment.model_version,
        mode=mode,
        arms=tuple(
            ArmView(name=arm.name, pulls=arm.pulls, in_use=not arm.dropped) for arm in report.arms
        ),
        decisions=deployment.agent.decisions,
        joined=deployment.agent.joined + (0 if control is None else control.learned),
        pending=len(deployment.pending),
        late=counts.late,
        defaulted=counts.defaulted,
        missing=counts.missing,
        imported=counts.imported,
        open_alarms=tuple(deployment.open_alarms.values()),
        starving=_starving(deployment, report),
        too_late=counts.too_late,
        held_back=sum(step not in deployment.pending for step in deployment.held),
        voided=counts.voided,
        standing=deployment.standing,
        held=tuple(
            HeldView(
                decision_id=deployment.decision_id(step),
                part=part,
                value=held.value,
                at=held.at,
                outside=held.outside,
            )
            for step, parts in deployment.held.items()
            for part, held in parts.items()
        ),
        mismatches=deployment.mismatches,
        not_learned=0 if control is None else control.not_learned,
        control=control_view(deployment),
    )


def _starving(deployment: Deployment, report: DiversityReport) -> tuple[StarvingArm, ...]:
    """The arms that starve and have raised an alarm for it."""
    found = []
    for arm in report.arms:
        doing = _doing(deployment, arm)
        if doing is not None and arm.tripped_at is not None:
            found.append(StarvingArm(arm=arm.name, since=arm.tripped_at, doing=doing))
    return tuple(found)


def _doing(deployment: Deployment, arm: ArmDiversity) -> Doing | None:
    """What is done about an arm, if it is in use and starves."""
    if not arm.starving or arm.dropped:
        return None
    if arm.explored:
        return "explored"
    return "waiting for an answer" if arm.name in deployment.open_alarms else "nothing"


def diversity_view(deployment: Deployment) -> DiversityView:
    """How diverse the samples are."""
    report = report_of(deployment)
    mode: Any = report.mode
    return DiversityView(
        policy=deployment.name,
        rewards=report.rewards,
        mode=mode,
        lambda0=report.lambda0,
        switched_at=report.switched_at,
        culprit=report.culprit,
        arms=tuple(
            ArmDiversityView(
                name=arm.name,
                pulls=arm.pulls,
                min_eigenvalue=arm.min_eigenvalue,
                threshold=arm.threshold,
                samples_needed=arm.samples_needed,
                weakest_direction=arm.weakest_direction,
                tripped_at=arm.tripped_at,
                in_use=not arm.dropped,
                watched=arm.watched,
                starving=arm.starving,
                explored=arm.explored,
                doing=_doing(deployment, arm),
                fed_at=arm.fed_at,
            )
            for arm in report.arms
        ),
        open_alarms=tuple(deployment.open_alarms.values()),
        measure=report.measure,
    )


def audit_entry(entry: Entry) -> AuditEntry:
    """An entry of the audit list; imported rows are only counted."""
    return AuditEntry(number=entry.seq, at=entry.at, event=shown(entry))
