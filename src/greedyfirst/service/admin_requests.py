"""What callers with the role admin ask for: policies, arms, features, corrections, the clock."""

from __future__ import annotations

import gc
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from greedyfirst.service.errors import ConflictError, InvalidError, UnavailableError
from greedyfirst.service.log import events
from greedyfirst.service.log.events import AnyEvent
from greedyfirst.service.log.journal import Bodies, Journal
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state import (
    administration,
    corrections,
    erasure,
    relearning,
    restoring,
)
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.protocol import release
from greedyfirst.service.state.snapshots import save
from greedyfirst.service.state.specification import Features, Specification

if TYPE_CHECKING:
    from greedyfirst.service.service import DecisionService


class AdminRequests:
    """Changes that administrators ask of a service.

    Each is a coroutine that returns when the change is on disk. What lets a deployment learn its
    past again runs in a thread; requests to that deployment are refused meanwhile.
    """

    def __init__(self, service: DecisionService) -> None:
        self._service = service

    async def create(
        self, specification: Specification, who: str | None = None
    ) -> tuple[Deployment, bool]:
        """Create a deployment; False if it is there already, with the same specification."""
        service = self._service
        service.working()
        name = specification.name
        if name in service.busy or name in service.deployments:
            known = service.found(name)
            if not self._is_known(specification):
                raise ConflictError(f"there is another policy named {name!r}")
            await service.durable()
            return known, False
        asked, specification = specification.policy, specification.written_out()
        specification.check()
        seed = specification.seed
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        created = events.Created(
            specification=specification, seed=seed, asked=asked, who=who, release=release()
        )
        recall = service.running.recall_of(name)
        with service.making_ready(name):
            await service.running.own(name)
            if name in service.deployments:
                raise UnavailableError(f"policy {name} was created meanwhile; try again")
            try:  # in a thread, since it may have to compile the policy
                deployment = await service.workers.run("learn", Deployment.begin, created, recall)
            except ValueError as error:
                raise InvalidError(str(error)) from None
        journal = service.working()
        if not service.running.owns(name):
            raise UnavailableError(f"the owner of policy {name} changes just now; try again")
        journal.add(created, at=service.now(), policy=name)
        service.deployments[name] = deployment
        gc.freeze()
        await journal.durable()
        return deployment, True

    def _is_known(self, asked: Specification) -> bool:
        """Whether its policy was created with this specification, as it is or written out."""
        known = self._service.deployments[asked.name]
        recorded = known.specification
        if known.asked is not None and asked == replace(recorded, policy=known.asked):
            return True
        return asked == recorded or asked.written_out() == recorded

    async def administer(self, name: str, action: administration.Action, key: str | None) -> None:
        """Answer an alarm, change arms, import history; pause, resume or close."""
        service = self._service
        async with service.asked(name, key=key) as (journal, deployment, at):
            is_same = partial(administration.is_same, asked=action)
            if journal.sent_before(name, key, is_same) is None:
                with journal.changing():
                    settled = administration.settled(deployment, action)
                    caused = administration.apply(deployment, settled, at)
                    service.record_events(journal, deployment, at, [settled, *caused], key)
        await journal.durable()

    async def change_schema(
        self, name: str, schema: Features, backfill: dict[str, Any], who: str, why: str
    ) -> int:
        """Change the features and learn everything again; the schema's new version."""
        service = self._service
        async with service.asked(name) as (journal, deployment, _):
            administration.check_open(deployment)
            changed = relearning.change(deployment, schema, backfill, who, why)
            if changed is not None and relearning.is_cause(deployment, changed):
                await self._relearn(journal, deployment, changed)
            elif changed is not None:
                with journal.changing():
                    relearning.change_ranges(deployment, changed)
                    service.record_events(journal, deployment, service.now(), [changed])
        await service.durable()
        return deployment.schema_version

    async def correct(
        self,
        decision_id: str,
        value: float | None,
        part: str,
        who: str,
        why: str,
        key: str | None = None,
    ) -> None:
        """Correct a reward, confirm one that was held, or with None declare it void."""
        service = self._service
        service.working()
        name, step = service.parsed(decision_id)
        async with service.asked(name, steps=[step], key=key) as (journal, deployment, at):
            known = journal.sent_before(
                name, key, lambda event: corrections.is_same(event, step, part, value, who, why)
            )
            if known is None:
                event = corrections.correction(deployment, step, part, value, who, why)
                if relearning.is_cause(deployment, event):
                    await self._relearn(journal, deployment, event, key)
                else:
                    with journal.changing():
                        caused = corrections.apply(deployment, event, at)
                        service.record_events(journal, deployment, at, [event, *caused], key)
        await service.durable()

    async def erase(self, decision_id: str, who: str, why: str) -> None:
        """Erase a person's features from a decision; what it taught is learned no more."""
        service = self._service
        await service.decision(decision_id)  # there must be one
        await service.durable()
        (decided, *_) = await service.decision(decision_id)
        written = await service.read(service.log.head_at, decided.seq)
        assert written is not None  # since it is on disk
        name, step = service.parsed(decision_id)
        async with service.asked(name, steps=[step]) as (journal, deployment, _):
            about = journal.about(name, step)
            event, body = erasure.erasure(deployment, about, written.seal, who, why)
            erases = [(about[0].seq, body)]
            if relearning.is_cause(deployment, event) or erasure.learned_spans(deployment, about):
                await self._relearn(journal, deployment, event, erases=erases)
            else:
                with journal.changing():
                    erasure.book(deployment, event)
                    service.record_events(
                        journal, deployment, service.now(), [event], erases=erases
                    )
                    journal.keep(name, save(deployment))
        await service.durable()

    async def _relearn(
        self,
        journal: Journal,
        deployment: Deployment,
        cause: relearning.Cause,
        key: str | None = None,
        erases: Bodies | None = None,
    ) -> None:
        """Have everything learned again in a thread, and record what caused that.

        Before an erasure is recorded, what other entries have of the person is removed.
        """
        service = self._service
        name = deployment.name
        with service.making_ready(name):
            await journal.durable()
            successor, reductions = await service.workers.run(
                "learn", _prepared, service.log, deployment, cause
            )
        journal = service.working()
        if service.deployments.get(name) is not deployment:
            raise UnavailableError("the log was opened again meanwhile; try again")
        with journal.changing():
            at = service.now()
            for each in reductions:
                service.record_events(journal, deployment, at, [each.event], erases=each.bodies)
            if isinstance(cause, events.Erased):
                older = sum(each.guessable for each in reductions)
                cause = replace(cause, guessable=(cause.guessable or 0) + older)
            raised: list[AnyEvent] = []
            if successor is not None:
                raised = relearning.adopt(deployment, cause, successor, at)
            elif isinstance(cause, events.Erased):
                erasure.book(deployment, cause)
            service.record_events(journal, deployment, at, [cause, *raised], key, erases)
            journal.keep(name, save(deployment))  # so that a restart need not learn it all again

    async def answer_clock(self, answer: events.ClockAnswer, who: str, why: str) -> None:
        """Say which clock is right after the machine's has jumped."""
        service = self._service
        journal = service.working()
        with journal.changing():
            service.timekeeping.answer(journal, answer, who, why, service.record_events)
        await journal.durable()
        service.timekeeping.recorded()


def _prepared(
    log: ReadableLog, deployment: Deployment, cause: relearning.Cause
) -> tuple[Deployment | None, list[erasure.Reduction]]:
    """What has learned the past again, if that is asked for; what an erasure is to remove."""
    name, successor, removed = deployment.name, None, []
    if relearning.is_cause(deployment, cause):
        past = restoring.past_of(log, name)
        successor = relearning.relearned(deployment, cause, past)
    if isinstance(cause, events.Erased):
        spans = erasure.learned_spans(deployment, log.about(name, cause.step))
        removed = [*erasure.reductions(log, deployment, cause.step, spans)]
    return successor, removed
