"""Alarms: an arm's samples are not diverse enough."""

from __future__ import annotations

from greedyfirst.service.log.events import Alarmed, AnyEvent
from greedyfirst.service.state.answers import LEAVE_OPEN
from greedyfirst.service.state.deployment import Deployment


def new_alarms(deployment: Deployment) -> list[AnyEvent]:
    """The alarms of arms that tripped the test at the last reward."""
    raised: list[AnyEvent] = []
    since = deployment.agent.rewards
    for arm in deployment.agent.diversity().arms:
        if arm.tripped_at is not None and arm.tripped_at >= since:
            alarm = Alarmed(
                arm=arm.name,
                rewards=arm.tripped_at,
                min_eigenvalue=arm.min_eigenvalue,
                threshold=arm.threshold,
                weakest_direction=arm.weakest_direction,
                answered=deployment.specification.on_alarm,
            )
            keep_open(deployment, alarm)
            raised.append(alarm)
    return raised


def keep_open(deployment: Deployment, alarm: Alarmed) -> None:
    """Keep an alarm until someone answers it, unless the policy did so by itself."""
    if alarm.answered == LEAVE_OPEN:
        deployment.open_alarms[alarm.arm] = alarm
