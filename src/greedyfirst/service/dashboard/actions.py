"""What people do by the dashboard's forms; the same form sent twice counts once."""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import quote

from litestar import Request, Response, post
from litestar.datastructures import State
from litestar.params import FromPath
from litestar.response import Redirect

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.dashboard import decision_page, forms, policy_page
from greedyfirst.service.dashboard.rendering import page
from greedyfirst.service.errors import ConflictError, InvalidError
from greedyfirst.service.http.access import needs, signed
from greedyfirst.service.http.decisions import service_of
from greedyfirst.service.log import events
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.state.administration import Action
from greedyfirst.service.state.ranges import MOST


@post("/policies/{policy:str}", guards=[needs("admin")])
async def answer_alarm(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Take a person's answer to an alarm; dropping an arm is asked about once more."""
    fields = await forms.sent(request)
    try:
        resolved = _resolved(fields, request)
        drops = ANSWERS[resolved.resolution].drops_arm
        if drops and fields.get("confirmed") != "yes":
            service_of(state).deployment(policy).arm_number(resolved.arm)
            return page(request, "confirm_drop.html", policy=policy, fields=fields)
        return await _done(request, state, policy, resolved, fields)
    except (InvalidError, ConflictError) as error:
        return await _refused(request, state, policy, error, fields)


@post("/policies/{policy:str}/reinstatements", guards=[needs("admin")])
async def put_back(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Let a dropped or retired arm be chosen again."""
    fields = await forms.sent(request)
    try:
        who, why = forms.signature(fields)
        reinstated = events.ArmReinstated(
            arm=fields.get("arm", ""), who=signed(request, who), why=why
        )
        return await _done(request, state, policy, reinstated, fields)
    except (InvalidError, ConflictError) as error:
        return await _refused(request, state, policy, error, fields)


@post("/policies/{policy:str}/state", guards=[needs("admin")])
async def change_state(
    request: Request[Any, Any, Any], state: State, policy: FromPath[str]
) -> Response[Any]:
    """Pause a policy or let it run again; closing it is asked about once more."""
    fields = await forms.sent(request)
    try:
        who, why = forms.signature(fields)
        wanted: Any = fields.get("state")
        if wanted not in get_args(events.RunState):
            raise InvalidError("Choose what is to happen.")
        service_of(state).deployment(policy)
        if wanted == "closed" and fields.get("confirmed") != "yes":
            return page(request, "confirm_close.html", policy=policy, fields=fields)
        changed = events.StateChanged(state=wanted, who=signed(request, who), why=why)
        return await _done(request, state, policy, changed, fields)
    except (InvalidError, ConflictError) as error:
        return await _refused(request, state, policy, error, fields | {"form": "state"})


@post("/decisions/{decision_id:str}/correction", guards=[needs("admin")])
async def correct_reward(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> Response[Any]:
    """Correct a reward, confirm one that is held, or declare it void."""
    fields, service = await forms.sent(request), service_of(state)
    try:
        who, why = forms.signature(fields)
        value, part = _value(fields), fields.get("part", "")
        key = fields.get("key") or forms.new_key()
        _check_newest(await service.decision(decision_id), part, key, fields)
        await service.admin.correct(decision_id, value, part, signed(request, who), why, key)
    except (InvalidError, ConflictError) as error:
        return await _decision_refused(request, state, decision_id, error, fields)
    return Redirect(f"/decisions/{quote(decision_id)}#rewards", status_code=303)


@post("/decisions/{decision_id:str}/erasure", guards=[needs("admin")])
async def erase_features(
    request: Request[Any, Any, Any], state: State, decision_id: FromPath[str]
) -> Response[Any]:
    """Erase a person's features from a decision; that is asked about once more."""
    fields, service = await forms.sent(request), service_of(state)
    try:
        who, why = forms.signature(fields)
        await service.decision(decision_id)
        if fields.get("confirmed") != "yes":
            return page(request, "confirm_erasure.html", decision_id=decision_id, fields=fields)
        await service.admin.erase(decision_id, signed(request, who), why)
    except (InvalidError, ConflictError) as error:
        sent = fields | {"form": "erasure"}
        return await _decision_refused(request, state, decision_id, error, sent)
    return Redirect(f"/decisions/{quote(decision_id)}", status_code=303)


def _check_newest(about: list[Entry], part: str, key: str, fields: dict[str, str]) -> None:
    """Refuse a form that was opened before somebody else corrected the same reward."""
    made = [
        (entry.key, entry.event)
        for entry in about
        if isinstance(entry.event, events.RewardCorrected) and entry.event.part == part
    ]
    seen = fields.get("corrections", str(len(made)))
    if seen != str(len(made)) and key not in [known for known, _ in made]:
        said = f" by {made[-1][1].who}: {made[-1][1].why}" if made else ""
        raise ConflictError(f"the reward was corrected meanwhile{said}; look at it as it is now")


def _value(fields: dict[str, str]) -> float | None:
    """What a person says the reward was; None if it is void."""
    match fields.get("verdict"):
        case "void":
            return None
        case "confirm":
            given = fields.get("came", "")
        case "correct":
            given = fields.get("value", "")
        case _:
            raise InvalidError("Choose what the reward was.")
    try:
        value = float(given)
    except ValueError:
        raise InvalidError("Enter the right value as a number, such as 0.68.") from None
    if not abs(value) <= MOST:
        raise InvalidError(f"The value must be at most {MOST:g} in size.")
    return value


async def _done(
    request: Request[Any, Any, Any],
    state: State,
    policy: str,
    action: Action,
    fields: dict[str, str],
) -> Response[Any]:
    """Do it, and show the policy's page with what was done."""
    key = fields.get("key") or forms.new_key()
    await service_of(state).admin.administer(policy, action, key)
    return Redirect(f"/policies/{policy}?done={quote(key)}", status_code=303)


async def _refused(
    request: Request[Any, Any, Any],
    state: State,
    policy: str,
    error: InvalidError | ConflictError,
    fields: dict[str, str],
) -> Response[Any]:
    """The policy's page, with what was wrong and what had been entered."""
    service = service_of(state)
    await service.reading.settled(policy)
    refused = fields | {"problem": _capital(error.sentence)}
    return await policy_page.render(request, service, policy, status=error.status, refused=refused)


async def _decision_refused(
    request: Request[Any, Any, Any],
    state: State,
    decision_id: str,
    error: InvalidError | ConflictError,
    fields: dict[str, str],
) -> Response[Any]:
    """The decision's page likewise."""
    service = service_of(state)
    await service.durable()
    refused = fields | {"problem": _capital(error.sentence)}
    return await decision_page.render(
        request, service, decision_id, status=error.status, refused=refused
    )


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _resolved(fields: dict[str, str], request: Request[Any, Any, Any]) -> events.Resolved:
    resolution: Any = fields.get("resolution")
    if resolution not in ANSWERS:
        raise InvalidError("Choose one of the answers.")
    who, why = forms.signature(fields)
    number = fields.get("alarm", "")
    return events.Resolved(
        arm=fields.get("arm", ""),
        resolution=resolution,
        who=signed(request, who),
        why=why,
        alarm=int(number) if number.isascii() and number.isdigit() and len(number) < 16 else None,
        change=fields.get("change") == "yes",
    )


HANDLERS = [answer_alarm, put_back, change_state, correct_reward, erase_features]
