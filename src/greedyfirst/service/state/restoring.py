"""A deployment's state from the log: the newest snapshot that fits, and the entries after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from greedyfirst.service.errors import (
    ConflictError,
    DamagedLogError,
    NotFoundError,
    RequestError,
)
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import AnyEvent, Decided, Decision
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state import administration, alarms, corrections, erasure, rewards
from greedyfirst.service.state.alarm_record import recounted
from greedyfirst.service.state.deployment import Deployment, Recall
from greedyfirst.service.state.relearning import (
    Cause,
    adopt,
    book,
    change_ranges,
    is_cause,
    relearned,
)
from greedyfirst.service.state.snapshots import load

#: Probabilities that differ by less are the same.
SAME_PROPENSITY = 1e-9


def restore(
    log: ReadableLog,
    policy: str,
    *,
    before: int | None = None,
    snapshots: bool = True,
    applied: Callable[[Deployment, int], None] | None = None,
) -> tuple[Deployment, int]:
    """The state after a deployment's entries, and the number of the last one.

    With ``before``, only after those before that number. Without ``snapshots`` all entries are
    applied again: the state is the same. ``applied`` is told the state after each entry.
    """

    def recall(step: int) -> list[AnyEvent]:
        return [entry.event for entry in log.about(policy, step)]

    deployment, done = _from_snapshot(log, policy, before, recall) if snapshots else (None, 0)
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
        if applied is not None:
            applied(deployment, done)
    if deployment is None:
        raise NotFoundError(f"there is no policy {policy!r}")
    return deployment, done


def count_alarms(deployment: Deployment, log: ReadableLog, last: int) -> None:
    """Number the alarms of a deployment from a snapshot of release 0.1, up to entry ``last``."""
    if not deployment.alarms.raised:
        entries = reversed(log.audit(deployment.name, last + 1, limit=10**6))
        past = [(entry.at, entry.event) for entry in entries]
        deployment.alarms = recounted(past, deployment.open_alarms)


def _from_snapshot(
    log: ReadableLog, policy: str, before: int | None, recall: Recall
) -> tuple[Deployment | None, int]:
    """The newest snapshot whose layout is known, and the entry that it was made after."""
    while (saved := log.snapshot(policy, before)) is not None:
        before, content = saved
        deployment = load(content, recall)
        if deployment is not None:
            count_alarms(deployment, log, before)
            return deployment, before
    return None, 0


def _apply(deployment: Deployment, log: ReadableLog, entry: Entry) -> None:
    """Change the state as the request did that the entry came from."""
    event, at = entry.event, entry.at
    try:
        match event:
            case Decided():
                _decide_again(deployment, event, at)
            case events.Rewarded():
                rewards.apply_reward(deployment, event, at)
            case events.Expired():
                rewards.apply_expiry(deployment, event, at)
            case events.Alarmed():
                alarms.record(deployment, event, at)
            case events.Fed():
                alarms.close(deployment, event, at)
            case events.SchemaChanged() | events.RewardCorrected() | events.Erased():
                _amend(deployment, log, entry, event)
            case events.Reduced():  # entries say of themselves what they lack
                pass
            case events.WaitsMoved():
                deployment.pending.move(event.seconds)
            case events.Restored():
                deployment.tags.append((deployment.agent.decisions + 1, event.tag))
            case (
                events.Created()
                | events.ClockJumped()
                | events.ClockAnswered()
                | events.KeyChanged()
                | events.SignedIn()
                | events.Refused()
            ):
                raise DamagedLogError(f"entry {entry.seq} does not belong to a policy's life")
            case _:
                administration.apply(deployment, event, at)
    except (RequestError, ValueError, KeyError) as error:
        raise DamagedLogError(
            f"entry {entry.seq} of the log contradicts those before: {error}"
        ) from error


def _decide_again(deployment: Deployment, decided: Decided, at: float) -> None:
    if decided.erased or deployment.lacking:
        erasure.pass_over(deployment, decided, at)
        return
    made = deployment.decide(decided.context, decided.eligible_arms, at)
    deployment.mismatches += _as_logged(made.answer, decided) != decided.answer


def _as_logged(made: Decision, decided: Decided) -> Decision:
    """A decision made again, with the logged propensities if they are those.

    Older releases had none, and processors differ in the last digits of an integral. Nor did they
    say by how much scores were raised. What an erasure removed that never came to its end is not
    compared.
    """
    logged = decided.answer
    if decided.reduced is not None:
        return replace(
            made,
            expected_rewards=logged.expected_rewards,
            contributions=logged.contributions,
            explored_arms=logged.explored_arms,
            raised_by=logged.raised_by,
            propensity=logged.propensity,
            propensities=logged.propensities,
        )
    known, found = logged.propensity, made.propensity or 0.0
    if known is None or abs(known - found) <= SAME_PROPENSITY:
        made = replace(made, propensity=known)
    arms = {*logged.propensities} | {*made.propensities}
    apart = (logged.propensities.get(arm, 0.0) - made.propensities.get(arm, 0.0) for arm in arms)
    if not logged.propensities or all(abs(each) <= SAME_PROPENSITY for each in apart):
        made = replace(made, propensities=logged.propensities)
    return made if logged.raised_by else replace(made, raised_by={})


def _amend(deployment: Deployment, log: ReadableLog, entry: Entry, event: Cause) -> None:
    """Learn everything again, if the event asked for that and the past is known again after it."""
    if not is_cause(deployment, event):
        match event:
            case events.RewardCorrected():
                corrections.apply(deployment, event, entry.at)
            case events.Erased():
                erasure.book(deployment, event)
            case events.SchemaChanged():
                change_ranges(deployment, event)
        return
    deployment.lacking = erasure.lacking_after(deployment, event)
    if deployment.lacking:
        book(deployment, event)
        return
    past = past_of(log, entry.policy, entry.seq)
    adopt(deployment, event, relearned(deployment, event, past), entry.at)


def recompute(log: ReadableLog, entry: Entry) -> tuple[Decision, Decision]:
    """A decision as it was logged, and as the state before it gives it."""
    decided = entry.event
    assert isinstance(decided, Decided)
    name = decided.answer.decision_id
    if decided.erased:
        raise ConflictError(f"decision {name} cannot be made again: its features were erased")
    before, _ = restore(log, entry.policy, before=entry.seq)
    if before.lacking:
        erased = ", ".join(before.decision_id(step) for step in sorted(before.lacking))
        raise ConflictError(
            f"decision {name} cannot be made again exactly: the policy had learned from {erased}, "
            "whose features were erased later"
        )
    again = before.decide(decided.context, decided.eligible_arms, entry.at)
    return decided.answer, _as_logged(again.answer, decided)


class Recomputed(NamedTuple):
    """How many decisions were made again, and how many of them differ from the log."""

    again: int
    differ: int
    #: Those that could not be made again exactly: features that they follow from were erased.
    erased: int


def recompute_last(log: ReadableLog, policy: str, last: int) -> Recomputed:
    """Recompute a deployment's last decisions.

    The state before them is restored from all entries, not from a snapshot.
    """
    steps = [entry.seq for entry in log.read(policy) if entry.kind == "decided"]
    chosen = steps[-last:] if last else []
    if not chosen:
        return Recomputed(0, 0, 0)
    state, done = restore(log, policy, before=chosen[0], snapshots=False)
    differed, passed_over = state.mismatches, state.not_recomputed
    for entry in log.read(policy, done):
        _apply(state, log, entry)
    erased = state.not_recomputed - passed_over
    return Recomputed(len(chosen) - erased, state.mismatches - differed, erased)


def past_of(
    log: ReadableLog, policy: str, before: int | None = None
) -> Iterator[tuple[float, AnyEvent]]:
    """The time of each of a deployment's events, and the event, before entry ``before``."""
    for entry in log.read(policy, 0, before):
        yield entry.at, entry.event
