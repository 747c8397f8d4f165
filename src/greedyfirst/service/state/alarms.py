"""Alarms: an arm's samples are not diverse enough, and later perhaps they are again."""

from __future__ import annotations

from greedyfirst.policies.greedy_first import ANSWERS, ArmDiversity
from greedyfirst.service.log.events import Alarmed, AnyEvent, Fed
from greedyfirst.service.state.answers import EXPLORE, EXPLORE_ARM, LEAVE_OPEN
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.validation import IntArray


def new_alarms(deployment: Deployment, at: float) -> list[AnyEvent]:
    """The alarms of arms that tripped the test at the last reward."""
    raised: list[AnyEvent] = []
    since = deployment.agent.rewards
    report = deployment.agent.diversity()
    for arm in report.arms:
        if arm.tripped_at is not None and arm.tripped_at >= since:
            alarm = Alarmed(
                arm=arm.name,
                rewards=arm.tripped_at,
                min_eigenvalue=arm.min_eigenvalue,
                threshold=arm.threshold,
                weakest_direction=arm.weakest_direction,
                answered=_answer_in_force(deployment, arm),
                measure=report.measure,
                number=deployment.alarms.raised + 1,
            )
            if alarm.answered != deployment.specification.on_alarm:
                deployment.agent.watch_again(arm.name, anew=False)
            raised.append(record(deployment, alarm, at))
    return raised


def _answer_in_force(deployment: Deployment, arm: ArmDiversity) -> str:
    """The specification's answer; but nobody is asked about an arm that is explored already.

    A person has asked for that before, and it stands.
    """
    own = deployment.specification.on_alarm
    if not (ANSWERS[own].leaves_open and arm.explored):
        return own
    return EXPLORE if deployment.agent.explores else EXPLORE_ARM


def record(deployment: Deployment, alarm: Alarmed, at: float) -> Alarmed:
    """Keep an alarm until someone answers it, unless the policy did; it comes back numbered."""
    return deployment.alarms.add(alarm, at, leave_open=alarm.answered == LEAVE_OPEN)


def fed_again(deployment: Deployment, alarmed_at: IntArray, at: float) -> list[AnyEvent]:
    """The arms with an alarm, by ``alarmed_at`` before the last reward, that are fed now.

    Such an arm is tested again if nobody has answered its alarm.
    """
    agent = deployment.agent
    fed = (alarmed_at > 0) & (agent.alarmed_at == 0) & ~agent.dropped
    if not fed.any():
        return []
    found: list[AnyEvent] = []
    for arm, since, now in zip(agent.diversity().arms, alarmed_at, fed, strict=True):
        if now:
            event = Fed(
                arm=arm.name,
                rewards=agent.rewards,
                since=int(since),
                share=arm.min_eigenvalue,
                needed=arm.threshold or 0.0,
                closed_alarm=arm.name in deployment.open_alarms,
            )
            if event.closed_alarm:
                agent.watch_again(arm.name)
            close(deployment, event, at)
            found.append(event)
    return found


def close(deployment: Deployment, fed: Fed, at: float) -> None:
    """Nobody need answer the alarm of an arm that is fed."""
    deployment.alarms.end(fed.arm, "fed", at)
