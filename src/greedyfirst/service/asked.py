"""A request to a policy: its overdue waits ended, and what it asks of the log in memory.

Requests change a state in one turn of the event loop. Where reads of the log may have to wait for
another machine, what such a turn asks for is read before it, by a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from greedyfirst.service.errors import UnavailableError
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.state.deployment import Deployment

if TYPE_CHECKING:
    from greedyfirst.service.service import DecisionService

#: Waits that end in one turn, where their decisions are read before it.
_AT_ONCE = 200


#: What a request works with until it waits for something else: the journal, the deployment, and the
#: time, at which no wait is overdue.
Ready = tuple[Journal, Deployment, float]


class Asked:
    """A request to a deployment about decisions, by number, or with an idempotency key."""

    def __init__(
        self,
        service: DecisionService,
        journal: Journal,
        deployment: Deployment,
        steps: Sequence[int],
        key: str | None,
    ) -> None:
        self._service, self._journal, self._deployment = service, journal, deployment
        self._held = journal.at_hand(deployment.name, steps=steps, key=key)

    async def __aenter__(self) -> Ready:
        service, journal, deployment = self._service, self._journal, self._deployment
        await self._held.__aenter__()
        try:
            check_unchanged(service, journal, deployment)
            return journal, deployment, await end_waits(service, journal, deployment)
        except BaseException:
            await self._held.__aexit__(None, None, None)
            raise

    async def __aexit__(self, *_: object) -> None:
        await self._held.__aexit__(None, None, None)


def check_unchanged(service: DecisionService, journal: Journal, deployment: Deployment) -> None:
    """Refuse to go on with what was there before the log was opened again, or the past learned."""
    if service.working() is not journal or service.found(deployment.name) is not deployment:
        raise UnavailableError("the log was opened again meanwhile; try again")


async def end_waits(service: DecisionService, journal: Journal, deployment: Deployment) -> float:
    """End a deployment's waits that are over; the time, at which none is."""
    while True:
        at = service.now()
        steps = () if service.clock.holds else deployment.overdue_steps(at, _AT_ONCE)
        if not steps:
            return at
        async with journal.at_hand(deployment.name, steps=steps):
            check_unchanged(service, journal, deployment)
            service.expire(journal, deployment, {*steps})
