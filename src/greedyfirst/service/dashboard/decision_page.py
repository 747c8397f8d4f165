"""A decision's page, also where a form on it was refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from litestar import Request, Response

from greedyfirst.service.dashboard import control_wording, forms, wording
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.log.events import Decision
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.deployment import Deployment


class Expected(NamedTuple):
    """An arm's expected reward, and its standard error where the model has one."""

    reward: float
    error: float | None


def expected_today(deployment: Deployment, view: DecisionView) -> dict[str, Expected] | None:
    """What is expected of each arm for a decision's context by now; None if it does not fit."""
    try:
        encoded = deployment.encode_past(view.context)
    except ValueError:
        return None
    agent = deployment.agent
    rewards, errors = agent.expected_rewards(encoded), agent.standard_errors(encoded)
    known = [None] * agent.n_arms if errors is None else errors.tolist()
    return {
        arm: Expected(reward, None if error is None or math.isnan(error) else error)
        for arm, reward, error in zip(agent.arm_names, rewards.tolist(), known, strict=True)
    }


def render(
    request: Request[Any, Any, Any],
    service: DecisionService,
    decision_id: str,
    *,
    status: int = 200,
    again: tuple[Decision, Decision] | None = None,
    refused: dict[str, str] | None = None,
) -> Response[str]:
    """``again`` is the decision as logged and made again, ``refused`` a refused form's fields."""
    view = service.reading.decision_view(decision_id)
    deployment = service.deployment(view.answer.policy)
    control = deployment.specification.control
    today = None if view.erased else expected_today(deployment, view)
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
        form_key=forms.new_key(),
        refused=refused or {},
    )
