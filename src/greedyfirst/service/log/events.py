"""The events of the log: everything that ever changes a deployment's state, as plain data.

A deployment's state follows from its events, in their order. They are kept as JSON, so that any
program can read them years later. What a request may say is checked when it comes, not here: what
is in the log must be readable.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from greedyfirst.agent import Mode
from greedyfirst.evaluation.control import Group
from greedyfirst.policies.greedy_first.report import Measure
from greedyfirst.service.state.answers import AnswerName
from greedyfirst.service.state.policy_description import PolicyDescription
from greedyfirst.service.state.specification import Features, Specification

Value = float | int | str | bool


class Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened to a deployment."""


class Created(Event, frozen=True, kw_only=True, tag="created"):
    """The deployment begins; its specification has every option of the policy."""

    specification: Specification
    seed: int
    #: The policy as the request had it. None in logs of release 0.1: there it is the
    #: specification's, and options that are left out are those of that release.
    asked: PolicyDescription | None = None
    #: The name of the key that was used for it, None where none was needed.
    who: str | None = None
    #: The releases of this package, NumPy and numba that made it; None in older logs.
    release: dict[str, str] | None = None


class Decision(Struct, frozen=True, kw_only=True):
    """The answer to a request for a decision."""

    decision_id: str
    policy: str
    arm: str
    #: "greedy"; "explored" if the arm's score was raised, since it lacks people like this one;
    #: "forced" (an initial pull or forced sample); "fallback" while all arms are explored; "policy"
    #: for policies that explore by themselves; "control" if current practice decided.
    mode: Mode | Literal["control"]
    #: Its number among the policy's decisions.
    step: int
    #: Seconds since 1970.
    at: float
    #: How many times the model had learned something.
    model_version: int
    schema_version: int
    expected_rewards: dict[str, float]
    #: Of the chosen arm: coefficient times value, by encoded feature; they add up to its linear
    #: predictor, which for linear rewards is the expected reward.
    contributions: dict[str, float]
    #: Where arms are explored one by one: the eligible arms that lack people like this one. Their
    #: scores were raised above their expected rewards.
    explored_arms: tuple[str, ...] = ()
    #: By how much, for each of them: what was added to the expected reward, or with a link to what
    #: the link takes; empty in older logs.
    raised_by: dict[str, float] = {}
    #: The probability with which the arm was taken; None in logs of release 0.1.
    propensity: float | None = None
    #: Features whose values were outside their plausible range: the reward will be held.
    held: tuple[str, ...] = ()
    #: Which group of a comparison it is in; None where the policy has no control share, or where
    #: current practice was not allowed and the decision is left out.
    group: Group | None = None
    #: Of each arm that might have been taken: the probability with which it was; empty in older
    #: logs.
    propensities: dict[str, float] = {}


class Decided(Event, frozen=True, kw_only=True, tag="decided"):
    """An arm was chosen."""

    context: dict[str, Value]
    eligible_arms: tuple[str, ...] | None
    answer: Decision
    #: Whether the person's features, and what follows from them, were erased from it.
    erased: bool = False
    #: In the control group: its number among the decisions of the control's policy, if it has one.
    control_step: int | None = None
    #: The decision whose erasure took away what follows from its features here; None if none did.
    reduced: int | None = None


class Rewarded(Event, frozen=True, kw_only=True, tag="rewarded"):
    """A reward came: within the wait ("counted"), or after it ("late", and not learned).

    "held" if it, or a feature of its decision, is outside the plausible range: it is not learned
    until a person confirms or corrects it.
    """

    step: int
    part: str
    value: float
    outcome: Literal["counted", "late", "held"]


class Expired(Event, frozen=True, kw_only=True, tag="expired"):
    """A decision's wait was over; ``learned`` is the sum or the default, None for nothing."""

    step: int
    learned: float | None
    #: Whether parts of its reward are held: the sum is learned once a person has seen to them.
    held: bool = False


#: What a correction did. "relearned": the policy learned its past again with what stands now;
#: "learned": a reward that was held is learned, or is void; "waiting": the decision's sum is not
#: complete yet; "recorded": the reward was late, nothing is learned from it.
Effect = Literal["relearned", "learned", "waiting", "recorded"]


class RewardCorrected(Event, frozen=True, kw_only=True, tag="reward_corrected"):
    """A person says what a reward was; ``value`` None: nothing, it is void."""

    step: int
    part: str
    value: float | None
    #: What stood before.
    before: float | None
    effect: Effect
    who: str
    why: str


#: What had come of a decision. "late": a reward came after the wait, and nothing was learned;
#: "held": a person is to say what the reward was; "voided": a person said that it does not count.
Status = Literal["pending", "rewarded", "defaulted", "missing", "late", "held", "voided"]


class Erased(Event, frozen=True, kw_only=True, tag="erased"):
    """A person's features were erased from a decision; its reward is void for learning.

    The decision's entry has another body since then, but still its seal. This event attests both.
    Entries that had been made with what it taught are in events :class:`Reduced` before this one.
    """

    step: int
    #: What had come of the decision until then.
    was: Status
    #: The number of the decision's entry, its seal, and the SHA-256 of its new body, as hex digits.
    seq: int
    seal: str
    body: str
    who: str
    why: str
    #: The SHA-256 of the body that the decision's entry had until then, if an earlier erasure had
    #: reduced it: the digest of that has it.
    before: str | None = None
    #: How many of all entries that were changed had no nonce, so that their seals still confirm a
    #: guess of what was in them; None in logs from before there were any.
    guessable: int | None = None


class Reduced(Event, frozen=True, kw_only=True, tag="reduced"):
    """What follows from a person's features was removed from entries that others caused.

    Models that had learned from decision ``step``, which is erased next, made them. They have other
    bodies since then, but still their seals.
    """

    step: int
    #: The first and the last of them, how many there are, and what they are now:
    #: :class:`~greedyfirst.service.log.entries.Digest`.
    first: int
    last: int
    count: int
    digest: str


class Alarmed(Event, frozen=True, kw_only=True, tag="alarmed"):
    """An arm's samples were found not to be diverse enough, after ``rewards`` rewards.

    By ``measure``, ``min_eigenvalue`` and ``threshold`` are the smallest eigenvalue and the line
    λ₀t/4, or the share of all that is known (by rule 1 of all samples) that the arm holds in its
    weakest direction and the share that it needs: then the arm starves.
    """

    arm: str
    rewards: int
    #: None where it was removed, see ``reduced``.
    min_eigenvalue: float | None
    threshold: float | None
    weakest_direction: dict[str, float]
    #: What the policy does about it: as its specification says, or as a person has asked before.
    answered: AnswerName
    measure: Measure = "smallest eigenvalue"
    #: Its number among the deployment's alarms, 1, 2, …; None in logs of release 0.1, where they
    #: are counted in their order.
    number: int | None = None
    #: As that of :class:`Decided`.
    reduced: int | None = None


class Fed(Event, frozen=True, kw_only=True, tag="fed"):
    """An arm that had raised an alarm after ``since`` rewards holds its share again."""

    arm: str
    #: Rewards so far.
    rewards: int
    since: int
    #: The share that it holds in its weakest direction, and the share that it needs.
    share: float | None
    needed: float | None
    #: Whether its alarm was still open, and is closed by this.
    closed_alarm: bool
    #: As that of :class:`Decided`.
    reduced: int | None = None


class Resolved(Event, frozen=True, kw_only=True, tag="resolved"):
    """A person answered an alarm, or decided without one."""

    arm: str
    resolution: AnswerName
    who: str
    why: str
    #: The alarm's number; None for a decision without one, and in logs of release 0.1.
    alarm: int | None = None
    #: Whether the person asked to change an earlier answer, and the answer that was changed.
    change: bool = False
    before: AnswerName | None = None


class ArmAdded(Event, frozen=True, kw_only=True, tag="arm_added"):
    """A new arm."""

    arm: str
    initial_pulls: int | None
    who: str
    why: str


class ArmRetired(Event, frozen=True, kw_only=True, tag="arm_retired"):
    """An arm that is never chosen any more."""

    arm: str
    who: str
    why: str


class ArmReinstated(Event, frozen=True, kw_only=True, tag="arm_reinstated"):
    """An arm that had been dropped or retired may be chosen again."""

    arm: str
    who: str
    why: str


class HistoryRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context, the arm that it got elsewhere, and the reward."""

    context: dict[str, Any]
    arm: str
    reward: float


#: "paused": no decisions until it is "running" again; "closed": none ever again.
RunState = Literal["running", "paused", "closed"]


class StateChanged(Event, frozen=True, kw_only=True, tag="state_changed"):
    """A person paused, resumed or closed the deployment."""

    state: RunState
    who: str
    why: str


class Imported(Event, frozen=True, kw_only=True, tag="imported"):
    """Rows that were not decided here."""

    rows: tuple[HistoryRow, ...]
    who: str
    why: str


class SchemaChanged(Event, frozen=True, kw_only=True, tag="schema_changed"):
    """New features: all that was learned is learned again from the log, encoded anew.

    ``backfill`` has the values of new features in all contexts so far.
    """

    version: int
    schema: Features
    backfill: dict[str, Value] = msgspec.field(name="fill")
    who: str
    why: str


#: "follow": stamps follow the machine's clock, and waits are moved with them; "passed": they follow
#: it, and the difference counts as time waited; "keep": nothing changes.
ClockAnswer = Literal["follow", "passed", "keep"]


class ClockJumped(Event, frozen=True, kw_only=True, tag="clock_jumped"):
    """The machine's clock has moved away from the service's, or back to it. Of the whole service.

    ``offset`` is the seconds by which it is ahead, 0 when they agree again; with ``holds`` no wait
    ends until a person has answered.
    """

    offset: float
    holds: bool


class ClockAnswered(Event, frozen=True, kw_only=True, tag="clock_answered"):
    """A person said which clock is right; the service's was moved by ``moved`` seconds."""

    answer: ClockAnswer
    moved: float
    who: str
    why: str


class WaitsMoved(Event, frozen=True, kw_only=True, tag="waits_moved"):
    """The waits of a deployment's pending decisions were moved with the service's clock."""

    seconds: float
    who: str
    why: str


class Restored(Event, frozen=True, kw_only=True, tag="restored"):
    """The log was put back from a backup: what had been recorded after it is lost.

    The log has one such event of its own and one of each policy.
    """

    #: The end of the ids of decisions from now on, so that none is given twice.
    tag: str
    #: The last entry of the backup, and its seal.
    entries: int
    seal: str
    #: Names of the keys that are still in use; those of all others were taken out of use.
    keys: tuple[str, ...]
    who: str
    why: str
    #: When, by the machine's clock; the entry has the stamp of the backup's last one, since time
    #: goes on only when a service starts, which asks before waits end. None in older logs.
    machine_time: float | None = None


class KeyChanged(Event, frozen=True, kw_only=True, tag="key_changed"):
    """A key was made, got a new secret, or was taken out of use."""

    name: str
    change: Literal["added", "rotated", "removed"]
    role: str
    #: The policies that it is good for; None for all of them.
    policies: tuple[str, ...] | None
    #: Until when it is good, and until when the secret before is; seconds since 1970.
    expires: float | None
    old_until: float | None = None
    #: When it was done; the service may have recorded it later.
    at: float
    who: str


class SignedIn(Event, frozen=True, kw_only=True, tag="signed_in"):
    """Somebody signed in to the dashboard with a key."""

    key: str
    client: str


class Refused(Event, frozen=True, kw_only=True, tag="refused"):
    """Requests of one client that were refused, within a minute."""

    client: str
    reason: str
    #: The key's name, where it has one.
    key: str | None
    count: int


AnyEvent = (
    Created
    | Decided
    | Rewarded
    | Expired
    | RewardCorrected
    | Erased
    | Reduced
    | Alarmed
    | Fed
    | Resolved
    | ArmAdded
    | ArmRetired
    | ArmReinstated
    | StateChanged
    | Imported
    | SchemaChanged
    | ClockJumped
    | ClockAnswered
    | WaitsMoved
    | Restored
    | KeyChanged
    | SignedIn
    | Refused
)
#: The daily work; all other events are in the audit list.
DAILY = ("decided", "rewarded", "expired")
#: The "policy" of events that belong to none: of keys, sign-ins, refusals, the clock.
SERVICE = ""
