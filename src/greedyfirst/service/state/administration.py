"""What an administrator does: answer alarms, change arms, import rows; pause, resume, close."""

from __future__ import annotations

from msgspec.structs import replace

from greedyfirst.policies.policy import FOREIGN
from greedyfirst.service.errors import ConflictError, InvalidError, NotFoundError
from greedyfirst.service.log.events import (
    AnyEvent,
    ArmAdded,
    ArmReinstated,
    ArmRetired,
    Imported,
    Resolved,
    StateChanged,
)
from greedyfirst.service.state import rewards
from greedyfirst.service.state.answers import addressed, note, resolve
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.ranges import MOST
from greedyfirst.service.state.run_state import Standing
from greedyfirst.service.state.specification import check_size

#: The events of an administrator's requests, a change of features aside.
Action = Resolved | ArmAdded | ArmRetired | ArmReinstated | Imported | StateChanged


def settled(deployment: Deployment, action: Action) -> Action:
    """A request as it is to be recorded; an answer to an alarm gets the alarm's number."""
    if isinstance(action, Resolved):
        _check_watches(deployment, action)
        return addressed(deployment, action)
    if isinstance(action, StateChanged):
        deployment.standing.check_change(deployment.name, action)
        return action
    check_open(deployment)
    if isinstance(action, Imported):
        _check_plausible(deployment, action)
    return action


def check_open(deployment: Deployment) -> None:
    """Refuse to change what a closed policy is, or what it learned."""
    if deployment.standing.state == "closed":
        raise ConflictError(deployment.standing.sentence(deployment.name))


def is_same(recorded: AnyEvent, asked: Action) -> bool:
    """Whether this request was recorded so: what :func:`settled` added to it does not count."""
    if isinstance(recorded, Resolved) and isinstance(asked, Resolved):
        recorded = replace(recorded, before=None)
        if asked.alarm is None:
            recorded = replace(recorded, alarm=None)
    return recorded == asked


def apply(deployment: Deployment, action: Action, at: float) -> list[AnyEvent]:
    """The effect of an action, requested now or read in the log; the alarms that it raised."""
    if deployment.lacking:
        _book(deployment, action, at)
        return []
    match action:
        case Resolved():
            _check_watches(deployment, action)
            resolve(deployment, action, at)
        case ArmAdded():
            _add_arm(deployment, action)
        case ArmRetired():
            deployment.leave_out(action.arm, deployment.agent.retire_arm)
            deployment.alarms.end(action.arm, "left out", at, who=action.who)
        case ArmReinstated():
            _reinstate(deployment, action)
        case Imported():
            return _import_history(deployment, action, at)
        case StateChanged():
            deployment.standing = Standing.after(action, at)
            return []
    deployment.model_version += 1
    return []


def _book(deployment: Deployment, action: Action, at: float) -> None:
    """Keep counts and names up, where the state of this time is not known."""
    learned = 1
    match action:
        case Resolved():
            note(deployment, action, at)
        case ArmRetired():
            deployment.alarms.end(action.arm, "left out", at, who=action.who)
        case Imported():
            learned = len(action.rows)
            deployment.counts.imported += learned
        case StateChanged():
            learned = 0
            deployment.standing = Standing.after(action, at)
    deployment.model_version += learned


def _check_watches(deployment: Deployment, resolved: Resolved) -> None:
    deployment.arm_number(resolved.arm)
    if not deployment.agent.policy.watches:
        raise ConflictError("only a GreedyFirst policy raises alarms that need an answer")


def _reinstate(deployment: Deployment, reinstated: ArmReinstated) -> None:
    if not deployment.agent.dropped[deployment.arm_number(reinstated.arm)]:
        raise ConflictError(f"arm {reinstated.arm!r} is in use")
    deployment.agent.reinstate_arm(reinstated.arm)


def _add_arm(deployment: Deployment, added: ArmAdded) -> None:
    if added.arm in deployment.agent.arm_names:
        raise ConflictError(f"policy {deployment.name} has an arm {added.arm!r} already")
    agents = deployment.agents
    check_size(deployment.agent.n_arms + 1, deployment.agent.n_features)
    try:
        for agent in agents:  # all of them or none
            agent.policy.options(agent.n_arms + 1, agent.n_features)
        for agent in agents:
            agent.add_arm(added.arm, initial_pulls=added.initial_pulls)
    except ValueError as error:
        raise InvalidError(str(error)) from None


def _check_plausible(deployment: Deployment, imported: Imported) -> None:
    """Refuse rows outside the plausible ranges: those of an import cannot be held."""
    limits = deployment.specification.reward_range
    for number, row in enumerate(imported.rows):
        if limits is not None and not limits.has(row.reward):
            raise InvalidError(f"rows[{number}]: reward must be {limits.words()}, got {row.reward}")
        for each in deployment.ranges:
            value = row.context.get(each.name)
            if isinstance(value, (int, float)) and not each.has(value):
                raise InvalidError(
                    f"rows[{number}]: feature {each.name!r} must be {each.words()}, got {value}"
                )


def _import_history(deployment: Deployment, imported: Imported, at: float) -> list[AnyEvent]:
    """Learn rows from elsewhere; all of them or none."""
    encoded = []
    for number, row in enumerate(imported.rows):
        try:
            deployment.arm_number(row.arm)
            encoded.append(deployment.encode(row.context))
            if not abs(row.reward) <= MOST:
                raise InvalidError(f"reward must be a number of at most {MOST:g} in size")
            rewards.check_reward(deployment, row.reward)
        except (InvalidError, NotFoundError) as error:
            raise InvalidError(f"rows[{number}]: {error}") from None
    caused: list[AnyEvent] = []
    for row, context in zip(imported.rows, encoded, strict=True):
        caused += rewards.learn(deployment, context, row.arm, row.reward, FOREIGN, at)
    deployment.counts.imported += len(imported.rows)
    return caused
