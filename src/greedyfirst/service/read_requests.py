"""What callers with the role reader ask for: policies, decisions, lists, exports."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, TypeVar

from greedyfirst.agent import Agent
from greedyfirst.service.log import events
from greedyfirst.service.log.decision_view import DecisionView, decision_view
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Decision
from greedyfirst.service.log.export import write_parquet
from greedyfirst.service.state import effects, reports, restoring
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.effects import DecisionIntervals
from greedyfirst.service.state.history import wide
from greedyfirst.service.state.protocol import Protocol, protocol
from greedyfirst.service.state.subgroups import Subgroups, question, subgroups

if TYPE_CHECKING:
    from greedyfirst.service.service import DecisionService

T = TypeVar("T")


class ReadRequests:
    """What a service can tell about its policies and decisions; nothing is changed."""

    def __init__(self, service: DecisionService) -> None:
        self._service = service
        self._reporting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def settled(self, name: str) -> Deployment:
        """The deployment of this name, once all done so far is on disk and in its report."""
        await self._service.durable()
        return await self._reported(self._service.deployment(name))

    async def all_settled(self) -> list[Deployment]:
        """All deployments likewise; one whose schema is being changed as it was before."""
        await self._service.durable()
        return [await self._reported(each) for each in list(self._service.deployments.values())]

    async def _reported(self, deployment: Deployment) -> Deployment:
        """Have a wide policy's report made in a thread, once for all who wait for it."""
        wanted = deployment.model_version
        async with self._reporting[deployment.name]:
            if not reports.fresh(deployment, wanted):
                making = reports.making(deployment)
                deployment.report = await self._service.workers.run("report", making)
        return deployment

    async def decision_view(self, decision_id: str) -> DecisionView:
        """A decision and what came of it."""
        about = await self._service.decision(decision_id)
        summed = self._service.found(about[0].policy).specification.rewards == "sum"
        return decision_view(about, summed=summed)

    async def intervals(self, decision_id: str) -> DecisionIntervals:
        """What is expected today in a decision's context, and how surely."""
        view = await self.decision_view(decision_id)
        deployment = self._service.found(view.answer.policy)
        return await self._asked(deployment, effects.decision_intervals(deployment, view))

    async def effects(self, name: str, against: str | None = None) -> effects.Effects:
        """What was learned of each arm, and how surely; compared with the arm ``against``."""
        deployment = self._service.deployment(name)
        return await self._asked(deployment, effects.effects(deployment, against))

    async def protocol(self, name: str) -> Protocol:
        """What was laid down when the policy was created, and what was changed later."""
        service = self._service
        await service.durable()
        service.deployment(name)
        return await service.workers.run("report", protocol, service.log, name)

    async def subgroups(self, name: str, by: str) -> Subgroups:
        """Decisions, rewards and effects by the levels of a category, from the log."""
        service = self._service
        await service.durable()
        service.deployment(name)
        last, _ = await service.read(service.log.last)
        asked = question(service.deployment(name), by, last)
        return await service.workers.run("report", subgroups, service.log, asked)

    async def _asked(self, deployment: Deployment, made: Callable[[Agent], T]) -> T:
        """What is made of the agent; of a wide one's copy, in a thread."""
        if not wide(deployment.agent):
            return made(deployment.agent)
        copied = deployment.agent.copied()
        return await self._service.workers.run("report", lambda: made(Agent.from_bytes(copied())))

    async def audit(self, name: str, before: int | None, limit: int) -> list[Entry]:
        """What people and the diversity test did, newest first."""
        service = self._service
        service.deployment(name)
        return await service.read(service.log.audit, name, before, limit)

    async def audit_of_service(self, before: int | None, limit: int) -> list[Entry]:
        """What happened with keys and backups, newest first."""
        service = self._service
        return await service.read(service.log.audit, events.SERVICE, before, limit)

    async def recompute(self, decision_id: str) -> tuple[Decision, Decision]:
        """A decision as it was logged, and as the state of that time gives it."""
        service = self._service
        await service.durable()
        (entry, *_) = await service.decision(decision_id)
        return await service.workers.run("recompute", restoring.recompute, service.log, entry)

    async def export(self, name: str, file: IO[bytes]) -> None:
        """Write all decisions of a deployment and their rewards to a file, as Parquet."""
        service = self._service
        await service.durable()
        service.deployment(name)
        await service.workers.run("export", write_parquet, service.log, name, file)
