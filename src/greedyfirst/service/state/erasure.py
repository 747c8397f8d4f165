"""Erase a person's features from a decision; what was learned from it is learned no more.

Restoring applies the log in its order, and meets rewards of such a decision that were learned when
they came. From there to the erasure the state of that time cannot be made again: the deployment
*lacks* the decision. Only counts and names are kept up then, and no decision is recomputed. At the
erasure everything is learned again without it, and the state is exact from then on. It is so too
from a correction on that declared the reward void, as long as that stood.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.log.decision_view import decision_view
from greedyfirst.service.log.entries import Entry, encode
from greedyfirst.service.log.events import AnyEvent, Decided, Erased, RewardCorrected
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.rewards import parts_of


def erasure(
    deployment: Deployment, about: list[Entry], seal: bytes, who: str, why: str
) -> tuple[Erased, bytes]:
    """The event of an erasure, and the new body of the decision's entry, the first ``about`` it."""
    entry = about[0]
    decided, step = entry.event, entry.step
    assert isinstance(decided, Decided)
    assert step is not None
    view = decision_view(about, summed=deployment.specification.rewards == "sum")
    if view.erased is not None:
        raise ConflictError(f"decision {decided.answer.decision_id} has been erased already")
    answer = replace(
        decided.answer,
        contributions={},
        expected_rewards={},
        raised_by={},
        propensities={},
        held=(),
    )
    body = encode(replace(decided, context={}, answer=answer, erased=True))
    event = Erased(
        step=step,
        was=view.status,
        seq=entry.seq,
        seal=seal.hex(),
        body=hashlib.sha256(body).hexdigest(),
        who=who,
        why=why,
    )
    return event, body


def book(deployment: Deployment, erased: Erased) -> None:
    """Count the decision's reward as void, and wait for it no more."""
    step, counts = erased.step, deployment.counts
    deployment.amendments.erased.add(step)
    if erased.was == "pending":
        deployment.wait_no_more(step)
    deployment.parts.pop(step, None)
    deployment.held.pop(step, None)
    counts.defaulted -= erased.was == "defaulted"
    counts.voided += erased.was in ("pending", "held", "rewarded", "defaulted")


def pass_over(deployment: Deployment, decided: Decided, at: float) -> None:
    """Take a decision of the log as it is, without making it again."""
    step = decided.answer.step
    deployment.agent.decisions = step
    deployment.pending.add(step, at)
    if deployment.control is not None:
        deployment.control.pass_over(decided)
    if decided.answer.held:
        deployment.dubious[step] = decided.answer.held
    deployment.not_recomputed += 1


def lacking_after(deployment: Deployment, cause: AnyEvent) -> set[int]:
    """The decisions that the deployment lacks after an event of the log that has it learn again."""
    match cause:
        case Erased():
            return deployment.lacking - {cause.step}
        case RewardCorrected(step=step):
            decided = deployment.recall(step)[0]
            if isinstance(decided, Decided) and decided.erased:
                amended = deployment.amendments.copied()
                amended.correct(step, cause.part, cause.value)
                is_void = amended.learned(step, parts_of(deployment, step)) is None
                return deployment.lacking - {step} if is_void else deployment.lacking | {step}
    return deployment.lacking
