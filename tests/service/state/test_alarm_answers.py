"""The table of answers to an alarm is the only list of them."""

from __future__ import annotations

from typing import get_args

import msgspec

from greedyfirst.policies import GreedyFirst
from greedyfirst.service.http.messages import ResolutionRequest
from greedyfirst.service.log.events import Alarmed, Resolved
from greedyfirst.service.state.answers import ANSWERS, LEAVE_OPEN, AnswerName
from greedyfirst.service.state.specification import Specification


def test_the_answers_in_the_order_of_forms() -> None:
    assert (
        tuple(ANSWERS)
        == get_args(AnswerName)
        == (
            "explore_arm",
            "explore",
            "drop",
            "hold",
        )
    )
    assert LEAVE_OPEN == "hold"


def test_requests_and_events_take_these_answers() -> None:
    fields = [
        (Specification, "on_alarm"),
        (ResolutionRequest, "resolution"),
        (Alarmed, "answered"),
        (Resolved, "resolution"),
    ]
    for kind, name in fields:
        found = next(field for field in msgspec.structs.fields(kind) if field.name == name)
        assert set(get_args(found.type)) == set(ANSWERS)


def test_the_policy_takes_these_answers() -> None:
    for name in ANSWERS:
        assert GreedyFirst(on_alarm=name).on_alarm == name
