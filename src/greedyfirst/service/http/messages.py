"""The bodies of requests and answers, as structs; some answers are events or parts of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from greedyfirst.policies.greedy_first.report import Measure
from greedyfirst.service.http.control_view import ControlView
from greedyfirst.service.log.events import Alarmed, ClockAnswer, Decision, HistoryRow, RunState
from greedyfirst.service.state.answers import AnswerName
from greedyfirst.service.state.history import History
from greedyfirst.service.state.ranges import Amount
from greedyfirst.service.state.run_state import Standing
from greedyfirst.service.state.specification import (
    MOST_FEATURES,
    Feature,
    Label,
    NewLabel,
    Person,
    Reason,
    Specification,
)


class DecisionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context by its features' names."""

    context: dict[str, Any]
    eligible_arms: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None


class RewardRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reward; ``part`` names one of several that are summed."""

    value: Amount
    part: Annotated[str, Meta(max_length=100)] = ""


class CorrectionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reward was; ``value`` null: it is void. A held one is confirmed by its own value."""

    value: Amount | None
    who: Person
    why: Reason
    part: Annotated[str, Meta(max_length=100)] = ""


class ErasureRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who has a person's features erased, and why."""

    who: Person
    why: Reason


class ResolutionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do about an arm whose samples are not diverse enough."""

    arm: Label
    resolution: AnswerName
    who: Person
    why: Reason
    #: The number of the alarm that is answered; left out, it is the arm's newest one.
    alarm: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    #: Whether an answer that was given before is to be changed.
    change: bool = False


class ArmRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new arm."""

    arm: NewLabel
    who: Person
    why: Reason
    initial_pulls: Annotated[int, Meta(ge=0, le=10**6)] | None = None


class RetirementRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An arm that is to be chosen no more."""

    arm: Label
    who: Person
    why: Reason


class ReinstatementRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An arm that had been dropped or retired, and may be chosen again."""

    arm: Label
    who: Person
    why: Reason


class StateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a policy decides: "paused" and "closed" do not, and "closed" is final."""

    state: RunState
    who: Person
    why: Reason


class HistoryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows that were decided elsewhere."""

    rows: Annotated[tuple[HistoryRow, ...], Meta(min_length=1, max_length=1000)]
    who: Person
    why: Reason


class SchemaRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other features; ``fill`` says what new ones were in all contexts so far."""

    features: Annotated[tuple[Feature, ...], Meta(min_length=1, max_length=MOST_FEATURES)]
    who: Person
    why: Reason
    intercept: bool = True
    backfill: dict[str, Any] = msgspec.field(name="fill", default_factory=dict)


class ClockRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which clock is right, after the machine's has jumped.

    "follow": stamps follow the machine's clock, and waits for rewards are moved with them, so that
    none ends or lengthens; "passed": stamps follow, and the difference counts as time waited;
    "keep": the service's time goes on as it is.
    """

    answer: ClockAnswer
    who: Person
    why: Reason


class ClockView(Struct, frozen=True, kw_only=True):
    """The service's time, and how far the machine's clock is from it."""

    #: Seconds since 1970, as the service's stamps have them.
    now: float
    #: Seconds by which the machine's clock is ahead.
    offset: float
    #: What a person should answer, null if nothing.
    question: str | None
    #: Whether no wait for a reward ends before that.
    waits_held: bool


#: What the interface calls a history.
class Course(History):
    """The points so far."""


class RewardAnswer(Struct, frozen=True, kw_only=True):
    """What became of a reward."""

    decision_id: str
    #: "held": it is not learned until a person has seen to it.
    outcome: Literal["counted", "duplicate", "late", "held"]
    value: float


class ArmView(Struct, frozen=True, kw_only=True):
    """An arm."""

    name: str
    pulls: int
    in_use: bool


#: What is done about an arm that starves.
Doing = Literal["explored", "waiting for an answer", "nothing"]


class StarvingArm(Struct, frozen=True, kw_only=True):
    """An arm in use that starves: in some direction it holds too small a share of what is known."""

    arm: str
    #: The number of rewards at which it raised its alarm.
    since: int
    doing: Doing


class HeldView(Struct, frozen=True, kw_only=True):
    """A reward that is not learned until a person confirms or corrects it, or declares it void."""

    decision_id: str
    part: str
    value: float
    at: float
    #: What is outside its plausible range: "reward", or the names of features.
    outside: tuple[str, ...]


class PolicyView(Struct, frozen=True, kw_only=True):
    """A policy and how it stands."""

    name: str
    #: As it was recorded: with every option of the policy.
    specification: Specification
    seed: int
    schema_version: int
    model_version: int
    #: "fallback" while all arms are explored.
    mode: Literal["greedy", "fallback", "not tested"]
    arms: tuple[ArmView, ...]
    #: Each decision is one of joined, pending, missing, too_late, held_back, voided and
    #: not_learned.
    decisions: int
    #: Decisions whose reward, or the default, has been learned; t of the diversity test counts
    #: these and imports.
    joined: int
    pending: int
    #: Rewards that came after the wait.
    late: int
    #: Decisions from which the default was learned.
    defaulted: int
    #: Decisions whose wait was over: no reward came, and nothing was learned.
    missing: int
    imported: int
    open_alarms: tuple[Alarmed, ...]
    #: Where arms are explored one by one: those that have raised an alarm and still starve.
    starving: tuple[StarvingArm, ...] = ()
    #: Decisions from which nothing is learned: the reward came after the wait, is held, or is void.
    too_late: int = 0
    held_back: int = 0
    voided: int = 0
    #: The rewards that are held.
    held: tuple[HeldView, ...] = ()
    #: Whether it decides, and who said so when and why.
    standing: Standing = Standing()
    #: Decisions that differed from the log when the state was made from it.
    mismatches: int = 0
    #: Decisions of the control group whose reward came, and is not learned from.
    not_learned: int = 0
    #: How it compares with current practice; None without a control share.
    control: ControlView | None = None


class ArmDiversityView(Struct, frozen=True, kw_only=True):
    """How diverse an arm's samples are; the ``measure`` says what is compared with what."""

    name: str
    pulls: int
    #: The smallest eigenvalue of its samples, or the share of all that is known (by rule 1 of all
    #: samples) that it holds in its weakest direction, 0 to 1.
    min_eigenvalue: float
    #: The line λ₀t/4, or the share that it needs.
    threshold: float | None
    samples_needed: int | None
    weakest_direction: dict[str, float]
    #: The number of rewards at which it raised its alarm; a starving arm starves since then.
    tripped_at: int | None
    in_use: bool
    watched: bool
    #: Where arms are explored one by one: whether it starves, whether it then gets the benefit of
    #: the doubt, what is done about it, and the number of rewards at which it was found to be fed
    #: last.
    starving: bool | None = None
    explored: bool | None = None
    doing: Doing | None = None
    fed_at: int | None = None


class DiversityView(Struct, frozen=True, kw_only=True):
    """How diverse the samples are, and what the policy made of it."""

    policy: str
    rewards: int
    #: "fallback" while all arms are explored.
    mode: Literal["greedy", "fallback", "not tested"]
    lambda0: float | None
    switched_at: int | None
    culprit: str | None
    arms: tuple[ArmDiversityView, ...]
    open_alarms: tuple[Alarmed, ...]
    #: What ``min_eigenvalue`` and ``threshold`` of each arm are.
    measure: Measure = "smallest eigenvalue"


class ReplayView(Struct, frozen=True, kw_only=True):
    """A decision made again from the log."""

    logged: Decision
    replayed: Decision
    same: bool


class AuditEntry(Struct, frozen=True, kw_only=True):
    """Something that is not the daily work: what people and the diversity test did, keys."""

    number: int
    at: float
    event: dict[str, Any]


class HeadView(Struct, frozen=True, kw_only=True):
    """The end of the log."""

    #: Number and seal together, as ``greedyfirst log check --head`` takes them.
    head: str
    #: The number of the last entry, and so of all of them.
    entries: int
    #: The last entry's seal: a hash of it and of all before.
    seal: str


class SchemaAnswer(Struct, frozen=True, kw_only=True):
    """The schema's new version."""

    policy: str
    schema_version: int


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    status: int
    detail: str
