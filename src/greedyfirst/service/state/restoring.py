"""A deployment's state from the log: the newest snapshot that fits, and the entries after it."""

from __future__ import annotations

from collections.abc import Iterator

from greedyfirst.service.errors import DamagedLogError, NotFoundError, RequestError
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.log.log import Log
from greedyfirst.service.state import administration, alarms, corrections, rewards
from greedyfirst.service.state.alarm_record import recounted
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.relearning import adopt, change_ranges, is_cause, relearned
from greedyfirst.service.state.snapshots import load


def restore(
    log: Log, policy: str, *, before: int | None = None, snapshots: bool = True
) -> tuple[Deployment, int]:
    """The state after a deployment's entries, and the number of the last one.

    With ``before``, only after those before that number. Without ``snapshots`` all entries are
    applied again: the state is the same.
    """

    def recall(step: int) -> list[AnyEvent]:
        return [entry.event for entry in log.about(policy, step)]

    deployment, done = None, 0
    saved = log.snapshot(policy, before) if snapshots else None
    if saved is not None:
        deployment, done = load(saved[1], recall), saved[0]
    if deployment is None:
        done = 0
    else:
        count_alarms(deployment, log, done)
    for entry in log.read(policy, done, before):
        event = entry.event
        if deployment is None:
            if not isinstance(event, events.Created):
                raise DamagedLogError(
                    f"policy {policy}: entry {entry.seq} comes before its creation"
                )
            deployment = Deployment.begin(event, recall)
        else:
            _apply(deployment, log, entry)
        done = entry.seq
    if deployment is None:
        raise NotFoundError(f"there is no policy {policy!r}")
    return deployment, done


def count_alarms(deployment: Deployment, log: Log, last: int) -> None:
    """Number the alarms of a deployment from a snapshot of release 0.1, up to entry ``last``."""
    if not deployment.alarms.raised:
        entries = reversed(log.audit(deployment.name, last + 1, limit=10**6))
        past = [(entry.at, entry.event) for entry in entries]
        deployment.alarms = recounted(past, deployment.open_alarms)


def _apply(deployment: Deployment, log: Log, entry: Entry) -> None:
    """Change the state as the request did that the entry came from."""
    event, at = entry.event, entry.at
    try:
        match event:
            case Decided():
                made = deployment.decide(event.context, event.eligible_arms, at)
                deployment.mismatches += made.answer != event.answer
            case events.Rewarded():
                rewards.apply_reward(deployment, event, at)
            case events.Expired():
                rewards.apply_expiry(deployment, event, at)
            case events.Alarmed():
                alarms.record(deployment, event, at)
            case events.Fed():
                alarms.close(deployment, event, at)
            case events.SchemaChanged() | events.RewardCorrected():
                if is_cause(deployment, event):
                    past = past_of(log, entry.policy, entry.seq)
                    adopt(deployment, event, relearned(deployment, event, past), at)
                elif isinstance(event, events.RewardCorrected):
                    corrections.apply(deployment, event, at)
                else:
                    change_ranges(deployment, event)
            case events.Created():
                raise DamagedLogError(f"entry {entry.seq} creates policy {entry.policy} again")
            case _:
                administration.apply(deployment, event, at)
    except (RequestError, ValueError, KeyError) as error:
        raise DamagedLogError(
            f"entry {entry.seq} of the log contradicts those before: {error}"
        ) from error


def recompute(log: Log, entry: Entry) -> tuple[Decision, Decision]:
    """A decision as it was logged, and as the state before it gives it."""
    decided = entry.event
    assert isinstance(decided, Decided)
    before, _ = restore(log, entry.policy, before=entry.seq)
    again = before.decide(decided.context, decided.eligible_arms, entry.at)
    return decided.answer, again.answer


def recompute_last(log: Log, policy: str, last: int) -> tuple[int, int]:
    """Recompute a deployment's last decisions: how many, and how many differ from the log.

    The state before them is restored from all entries, not from a snapshot.
    """
    steps = [entry.seq for entry in log.read(policy) if entry.kind == "decided"]
    chosen = steps[-last:] if last else []
    if not chosen:
        return 0, 0
    state, done = restore(log, policy, before=chosen[0], snapshots=False)
    before = state.mismatches
    for entry in log.read(policy, done):
        _apply(state, log, entry)
    return len(chosen), state.mismatches - before


def past_of(log: Log, policy: str, before: int | None = None) -> Iterator[tuple[float, AnyEvent]]:
    """The time of each of a deployment's events, and the event, before entry ``before``."""
    for entry in log.read(policy, 0, before):
        yield entry.at, entry.event
