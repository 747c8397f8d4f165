"""Erase a person's features from a decision; what was learned from it is learned no more.

Restoring applies the log in its order, and meets rewards of such a decision that were learned when
they came. From there to the erasure the state of that time cannot be made again: the deployment
*lacks* the decision. Only counts and names are kept up then, and no decision is recomputed. At the
erasure everything is learned again without it, and the state is exact from then on. It is so too
from a correction on that declared the reward void, as long as that stood.

Decisions and alarms of that time say what a model expected that had learned from the person. Who
learns the past again with each context that the person may have had finds the one with these
numbers. So the erasure *reduces* them: what is left are arms, modes, and probabilities that are the
same whatever was learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.log.decision_view import decision_view
from greedyfirst.service.log.entries import Digest, Entry, encode, hash_of, with_nonce
from greedyfirst.service.log.events import (
    Alarmed,
    AnyEvent,
    Decided,
    Decision,
    Erased,
    Fed,
    Reduced,
    RewardCorrected,
)
from greedyfirst.service.log.journal import Bodies
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.rewards import parts_of
from greedyfirst.service.state.specification import Specification

#: Entries that are changed in one transaction: about as many megabytes at the most.
_AT_ONCE = 2000


class Reduction(NamedTuple):
    """Entries that are reduced together, and the event that attests it."""

    event: Reduced
    bodies: Bodies
    #: How many of them had no nonce.
    guessable: int


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
    answer = _reduced(decided.answer, chances_of(deployment.specification))
    answer = replace(answer, held=())
    body = encode(replace(decided, context={}, answer=answer, erased=True))
    event = Erased(
        step=step,
        was=view.status,
        seq=entry.seq,
        seal=seal.hex(),
        body=hash_of(body),
        who=who,
        why=why,
        before=None if decided.reduced is None else hash_of(entry.body),
        guessable=int(entry.guessable),
    )
    return event, body


def learned_spans(deployment: Deployment, about: list[Entry]) -> list[tuple[int, int | None]]:
    """After which entries, and up to which, the policy had learned from a decision.

    None is the end: it still had when it was asked.
    """
    summed = deployment.specification.rewards == "sum"
    spans: list[tuple[int, int | None]] = []
    since: int | None = None
    for count, entry in enumerate(about, 1):
        has = decision_view(about[:count], summed=summed).learned is not None
        if has and since is None:
            since = entry.seq
        elif since is not None and not has:
            spans.append((since, entry.seq))
            since = None
    return spans if since is None else [*spans, (since, None)]


def reductions(
    log: ReadableLog,
    deployment: Deployment,
    step: int,
    spans: list[tuple[int, int | None]],
) -> Iterator[Reduction]:
    """What is to be removed from the entries of these spans that follows from the decision."""
    chances = chances_of(deployment.specification)
    gathered: list[tuple[Entry, bytes, bytes]] = []
    for after, last in spans:
        for entry, seal in log.sealed_of(deployment.name, after, last):
            event = entry.event
            if not isinstance(event, (Decided, Alarmed, Fed)) or event.reduced is not None:
                continue
            if isinstance(event, Decided) and event.erased:
                continue
            left = _left_of(event, step, chances)  # a context in it may be erased later
            gathered.append((entry, seal, encode(left) if entry.guessable else with_nonce(left)))
            if len(gathered) == _AT_ONCE:
                yield _reduction(step, gathered)
                gathered = []
    if gathered:
        yield _reduction(step, gathered)


def _reduction(step: int, gathered: list[tuple[Entry, bytes, bytes]]) -> Reduction:
    digest = Digest()
    for entry, seal, body in gathered:
        digest.add(entry.seq, seal, hash_of(body))
    event = Reduced(
        step=step,
        first=gathered[0][0].seq,
        last=gathered[-1][0].seq,
        count=len(gathered),
        digest=str(digest),
    )
    bodies = [(entry.seq, body) for entry, _, body in gathered]
    return Reduction(event, bodies, sum(entry.guessable for entry, *_ in gathered))


def _left_of(
    event: Decided | Alarmed | Fed, step: int, chances: frozenset[float]
) -> Decided | Alarmed | Fed:
    """What stays of an event that a model caused which had learned from decision ``step``."""
    match event:
        case Decided():
            return replace(event, answer=_reduced(event.answer, chances), reduced=step)
        case Alarmed():
            return replace(
                event, min_eigenvalue=None, threshold=None, weakest_direction={}, reduced=step
            )
        case Fed():
            return replace(event, share=None, needed=None, reduced=step)


def _reduced(answer: Decision, chances: frozenset[float]) -> Decision:
    """A decision without numbers that follow from contexts."""
    known = {answer.propensity, *answer.propensities.values()} - {None}
    plain = all(round(each, _DIGITS) in chances for each in known if each is not None)
    return replace(
        answer,
        expected_rewards={},
        raised_by={},
        contributions={},
        explored_arms=(),
        propensity=answer.propensity if plain else None,
        propensities=answer.propensities if plain else {},
    )


_DIGITS = 12


def chances_of(specification: Specification) -> frozenset[float]:
    """The probabilities with which arms may be taken that do not follow from numbers learned.

    One arm was the best, all were, or any arm was taken with a fixed share, in either group of a
    comparison. Others are integrals of normal draws, from which a context can be reckoned.
    """
    control = specification.control
    described = (specification.policy, None if control is None else control.policy)
    found: set[float] = set()
    shares = [None if each is None else _shares(each) for each in described]
    for arms in range(1, 1 + _MOST_ARMS):
        own, practice = (_chances(each, arms) for each in shares)
        found |= own
        if control is not None:
            share = control.share
            found |= {share * one + (1 - share) * other for one in practice for other in own}
    return frozenset(round(chance, _DIGITS) for chance in found)


#: Of more arms that may be taken, all as good, no probabilities are kept but 0 and 1.
_MOST_ARMS = 100


def _chances(shares: set[float] | None, arms: int) -> set[float]:
    """Those of a policy that may take so many arms; of None, an arm that is always taken."""
    if shares is None:
        return {0.0, 1.0}
    best = (0.0, 1.0, 1 / arms)
    return {(1 - share) * each + share / arms for share in shares for each in best}


def _shares(described: PolicyDescription) -> set[float]:
    """The shares of decisions that a policy takes at random, its fallback's among them."""
    policy = described.made()
    each = (policy, getattr(policy, "fallback", None))
    return {0.0, *(float(getattr(policy, "epsilon", 0.0)) for policy in each)}


def book(deployment: Deployment, erased: Erased) -> None:
    """Count the decision's reward as void, and wait for it no more."""
    step, counts = erased.step, deployment.counts
    deployment.amendments.erased.add(step)
    if erased.was == "pending":
        deployment.wait_no_more(step)
    deployment.parts.pop(step, None)
    deployment.held.pop(step, None)
    _forget_scores(deployment)
    counts.defaulted -= erased.was == "defaulted"
    counts.voided += erased.was in ("pending", "held", "rewarded", "defaulted")


def _forget_scores(deployment: Deployment) -> None:
    """A snapshot has how the arms were scored last, perhaps for the decision that is erased."""
    for agent in deployment.agents:
        for path, values in agent.state.arrays():
            if path.endswith(("scores.value", "scores.spread")):
                values[...] = 0.0


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
