"""A decision's page, also where a form on it was refused."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response

from greedyfirst.links import Identity
from greedyfirst.service.dashboard import control_wording, forms, wording
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.log.events import Decision
from greedyfirst.service.service import DecisionService


async def render(
    request: Request[Any, Any, Any],
    service: DecisionService,
    decision_id: str,
    *,
    status: int = 200,
    again: tuple[Decision, Decision] | None = None,
    refused: dict[str, str] | None = None,
) -> Response[str]:
    """``again`` is the decision as logged and made again, ``refused`` a refused form's fields."""
    view = await service.reading.decision_view(decision_id)
    deployment = service.deployment(view.answer.policy)
    control = deployment.specification.control
    today = await service.reading.intervals(decision_id)
    return page(
        request,
        "decision.html",
        status,
        view=view,
        why=wording.why_chosen(view),
        group=control_wording.group(view, control),
        fate=control_wording.fate(view, control),
        counted=wording.counted,
        again=again,
        today=today,
        linear=deployment.agent.policy.reward_link() is Identity,
        form_key=forms.new_key(),
        refused=refused or {},
    )
