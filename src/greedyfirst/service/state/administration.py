"""What people do with a policy: answer its alarms, add and retire arms, bring what they know."""

from __future__ import annotations

from collections.abc import Callable

from greedyfirst.policies import GreedyFirst
from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import Conflict, Invalid, Unknown
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent
from greedyfirst.service.state.contexts import MOST
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.specification import check_size

Act = events.Resolved | events.ArmAdded | events.ArmRetired | events.Imported


def act(deployment: Deployment, event: Act, at: float) -> list[AnyEvent]:
    """The effect of what a person did, asked for now or read in the log; alarms that it raised."""
    match event:
        case events.Resolved():
            _resolve(deployment, event)
        case events.ArmAdded():
            _add_arm(deployment, event)
        case events.ArmRetired():
            _without(deployment, event.arm, deployment.agent.retire_arm)
            deployment.model_version += 1
        case events.Imported():
            return _import_history(deployment, event, at)
    return []


def _resolve(deployment: Deployment, resolved: events.Resolved) -> None:
    """A person's answer to an alarm."""
    _arm(deployment, resolved.arm)
    agent = deployment.agent
    if not isinstance(agent.policy, GreedyFirst):
        raise Conflict("only a GreedyFirst policy raises alarms that need an answer")
    if resolved.resolution == "explore":
        if agent.state.explores:
            raise Conflict(f"policy {deployment.name} explores already")
        agent.explore()
        deployment.open_alarms.clear()
    elif resolved.resolution == "drop":
        _without(deployment, resolved.arm, agent.drop_arm)
    else:
        agent.keep_greedy(resolved.arm)
        deployment.open_alarms.pop(resolved.arm, None)
    deployment.model_version += 1


def _add_arm(deployment: Deployment, added: events.ArmAdded) -> None:
    """A new arm."""
    if added.arm in deployment.agent.arm_names:
        raise Conflict(f"policy {deployment.name} has an arm {added.arm!r} already")
    check_size(deployment.agent.n_arms + 1, deployment.agent.n_features)
    try:
        deployment.agent.add_arm(added.arm, initial_pulls=added.initial_pulls)
    except ValueError as error:
        raise Invalid(str(error)) from None
    deployment.model_version += 1


def _without(deployment: Deployment, arm: str, leave_out: Callable[[str], None]) -> None:
    if deployment.agent.dropped[_arm(deployment, arm)]:
        raise Conflict(f"arm {arm!r} is not in use any more")
    try:
        leave_out(arm)
    except ValueError:
        raise Conflict(f"arm {arm!r} is the last one that is left") from None
    deployment.open_alarms.pop(arm, None)


def _arm(deployment: Deployment, arm: str) -> int:
    if arm not in deployment.agent.arm_names:
        raise Unknown(f"policy {deployment.name} has no arm {arm!r}")
    return deployment.agent.arm_names.index(arm)


def _import_history(deployment: Deployment, imported: events.Imported, at: float) -> list[AnyEvent]:
    """Learn rows from elsewhere; all of them or none."""
    encoded = []
    for number, row in enumerate(imported.rows):
        try:
            _arm(deployment, row.arm)
            encoded.append(deployment.encode(row.context))
            if not abs(row.reward) <= MOST:
                raise Invalid(f"reward must be a number of at most {MOST:g} in size")
            deployment.check_reward(row.reward)
        except (Invalid, Unknown) as error:
            raise Invalid(f"rows[{number}]: {error}") from None
    caused: list[AnyEvent] = []
    for row, context in zip(imported.rows, encoded, strict=True):
        caused += deployment.update(context, row.arm, row.reward, FOREIGN, at)
    deployment.counts.imported += len(imported.rows)
    return caused
