"""A policy's page, also where a form on it was refused."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.dashboard import forms, standing, wording
from greedyfirst.service.dashboard.control_wording import ASSUMPTION, practice
from greedyfirst.service.dashboard.history_table import history_rows
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.http import views
from greedyfirst.service.http.messages import DiversityView
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.history import wide

_AUDIT_ROWS = 20
_MOST_CHARTS = 12


async def render(
    request: Request[Any, Any, Any],
    service: DecisionService,
    policy: str,
    *,
    status: int = 200,
    done: str | None = None,
    before: int | None = None,
    refused: dict[str, str] | None = None,
) -> Response[str]:
    """``done`` is the key of a form just taken, ``refused`` the fields of one refused."""
    found = await service.reading.audit(policy, before, _AUDIT_ROWS + 1)
    audit = [views.audit_entry(entry) for entry in found]
    since = _raised(await service.reading.audit(policy, None, 100))
    taken = None
    if done is not None:
        taken = await service.read(service.log.with_key, policy, done[:200])
    await service.durable()
    deployment = service.deployment(policy)
    shown, diversity = views.policy_view(deployment), views.diversity_view(deployment)
    return page(
        request,
        "policy.html",
        status,
        policy=shown,
        mode=standing.mode_of(shown),
        diversity=diversity,
        shares=wording.WHOLES.get(diversity.measure, ""),
        now={arm.name: arm for arm in diversity.arms},
        since=since if diversity.open_alarms else {},
        standings={arm.name: standing.arm_standing(arm, diversity) for arm in diversity.arms},
        charts=_charted(diversity),
        drawn=not wide(deployment.agent),
        history=history_rows(deployment.history),
        practice="" if deployment.control is None else practice(deployment.control.specification),
        assumption=ASSUMPTION,
        audit=audit[:_AUDIT_ROWS],
        older=audit[_AUDIT_ROWS - 1].number if len(audit) > _AUDIT_ROWS else None,
        happened=wording.happened,
        answers={name: ANSWERS[name] for name in deployment.agent.policy.answers()},
        ways_back=standing.ways_back(deployment.alarms, diversity),
        form_key=forms.new_key(),
        refused=refused,
        done=None if taken is None else views.audit_entry(taken),
    )


def _raised(newest: list[Entry]) -> dict[str, float]:
    """When each arm's newest alarm was raised, as far as the newest audited entries tell."""
    raised: dict[str, float] = {}
    for entry in newest:
        if entry.kind == "alarmed":
            event = entry.event
            assert isinstance(event, events.Alarmed)
            raised.setdefault(event.arm, entry.at)
    return raised


def _charted(diversity: DiversityView) -> list[tuple[int, str]]:
    """Number and name of the arms that get a chart: the least diverse, if they are many."""
    arms = list(enumerate(diversity.arms))
    if len(arms) > _MOST_CHARTS:
        arms = sorted(arms, key=lambda pair: pair[1].min_eigenvalue)[:_MOST_CHARTS]
    return [(number, arm.name) for number, arm in arms]
