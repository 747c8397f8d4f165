"""Numbers, times, directions and events in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.http.messages import AuditEntry
from greedyfirst.service.log.decision_view import DecisionView, RewardView
from greedyfirst.service.log.events import Decision
from greedyfirst.service.state.timekeeping import duration

PROBLEMS = {
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This cannot be done here",
    409: "This does not fit what has been recorded",
    413: "This is too long",
    422: "This cannot be understood",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Not at the moment",
}
MODES = {
    "greedy": "greedy: takes the arm with the highest expected reward",
    "fallback": "exploring: it also tries arms that look worse, to learn about them",
    "not tested": "not tested: the policy explores by its own rules",
}
#: What the shares are of, by what is measured.
WHOLES = {"share of samples": "all samples", "share of what is known": "what is known"}
#: What lists of events say when a person stopped a policy or let it run.
RUN_STATES = {
    "running": "The policy runs again.",
    "paused": "The policy was paused: it makes no decisions until it runs again.",
    "closed": "The policy was closed: it makes no decisions any more.",
}
_MOST_NAMED = 3
_NAMED_FROM = 0.3


def count(number: int) -> str:
    """A whole number, with commas between thousands."""
    return f"{number:,}"


def number(value: float | None) -> str:
    """Four digits are enough to compare by eye."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    form = "#.4g" if 1e-3 <= size < 1000 else ",.0f" if 1000 <= size < 1e7 else ".3g"
    return format(value, form).replace("-", "−")


def percent(value: float | None) -> str:
    """A share of samples, or of what is known."""
    if value is None:
        return "–"
    hundredths = round(1e4 * value)
    if hundredths == 0:
        return "0 %" if value < 1e-9 else "below 0.01 %"
    return f"{hundredths / 100:.2f} %" if hundredths < 1000 else f"{100 * value:.1f} %"


def named(names: Sequence[str]) -> str:
    """A few names, in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def when(at: float) -> str:
    """A time that means the same everywhere."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def machine_time(at: float) -> str:
    """A time as the ``datetime`` attribute has it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def feature(encoded: str) -> str:
    """An encoded feature: "sex=female" is "sex: female"."""
    if encoded == "intercept":
        return "base level"
    name, equals, level = encoded.partition("=")
    return f"{name}: {level}" if equals else encoded


def direction(weights: Mapping[str, float]) -> str:
    """The main features of a direction, largest first."""
    leading = [name for name, weight in weights.items() if abs(weight) >= _NAMED_FROM]
    features = [feature(name) for name in (leading or list(weights))[:_MOST_NAMED]]
    return named(features) + (" taken together" if len(features) > 1 else "")


def why_chosen(view: DecisionView) -> str:
    """Why the decision took its arm."""
    answer, explored = view.answer, view.answer.explored_arms
    if answer.mode == "control":
        return "The policy was not asked, whatever it expected."
    if answer.mode == "forced":
        return "It was due a sample, whatever was expected of it: that is how the policy learns."
    if answer.mode == "fallback" and explored:
        return (
            "All arms were being explored: the score was what was expected of an arm, raised for "
            f"{_raised(answer)} by how unsure that was, and this one’s was the highest."
        )
    if answer.mode == "fallback":
        return "The policy was exploring: it weighs what it expects against what it can learn."
    if answer.mode == "policy":
        return "The policy explores by its own rules: what it expects is one of its reasons."
    if answer.mode == "explored":
        by = answer.raised_by.get(answer.arm)
        much = "" if by is None else f" by {number(by)}"
        return (
            f"It got the benefit of the doubt, since it starves: its score was raised{much} above "
            "what was expected of it, by how unsure that was, and it was the highest."
        )
    if view.erased:
        return "Why is not known any more: it followed from features that were erased."
    among = "in use" if view.eligible_arms is None else "that were allowed here"
    if not explored:
        tied = _tied(view)
        if tied:
            return (
                f"It shared the highest expected reward with {named(tied)}: a tie, which a draw "
                f"settled among the arms {among}."
            )
        return f"Of the arms {among}, it had the highest expected reward."
    return (
        f"Of the arms {among}, it had the highest score: its expected reward. The score was raised "
        f"for {_raised(answer)}, by how unsure the expected reward was: the benefit of the doubt "
        "for an arm that starves."
    )


def _raised(answer: Decision) -> str:
    """The arms whose scores were raised, and by how much; older logs do not say that."""
    by = answer.raised_by
    return named(
        [f"{arm} by {number(by[arm])}" if arm in by else arm for arm in answer.explored_arms]
    )


def _tied(view: DecisionView) -> list[str]:
    """The other arms that might have been taken and had the same expected reward."""
    answer = view.answer
    highest = answer.expected_rewards.get(answer.arm)
    return [
        arm
        for arm, expected in answer.expected_rewards.items()
        if arm != answer.arm
        and expected == highest
        and (view.eligible_arms is None or arm in view.eligible_arms)
    ]


def fate(view: DecisionView) -> str:
    """What came of a decision."""
    if view.status == "pending":
        return "Its reward has not come yet."
    if view.status in ("missing", "late"):
        return "No reward came in time, so nothing was learned from it."
    if view.status == "held":
        return "Its reward is held: nothing is learned from it until a person has seen to it."
    if view.status == "voided":
        return "Its reward is void, so nothing is learned from it."
    learned = number(view.learned)
    if view.status == "defaulted":
        return f"No reward came in time, so the default was learned: {learned}."
    return f"The model learned the reward {learned} from it."


def counted(reward: RewardView) -> str:
    """Whether a reward that came was learned."""
    if reward.outcome == "late":
        return "no, it was late"
    if reward.stands is None:
        return "no, it is void"
    if reward.outcome == "held" and not reward.corrections:
        return "not yet, it is held"
    return "yes"


class Bar(NamedTuple):
    """A number of a bar chart: where its bar begins and how long it is, of 100."""

    name: str
    value: float
    start: float
    length: float


def bars(values: Mapping[str, float]) -> list[Bar]:
    """Bars on one common axis that has zero on it."""
    finite = [value for value in values.values() if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    scale = 100.0 / ((high - low) or 1.0)
    made = []
    for name, value in values.items():
        end = value if math.isfinite(value) else 0.0
        made.append(Bar(name, value, (min(end, 0.0) - low) * scale, abs(end) * scale))
    return made


def happened(entry: AuditEntry) -> str:
    """An entry of the audit list as a sentence."""
    event: dict[str, Any] = entry.event
    arm = event.get("arm")
    match event["event"]:
        case "created":
            return "The policy was created."
        case "alarmed":
            did = ANSWERS[event["answered"]].answered
            whole = WHOLES.get(event.get("measure", ""))
            if whole and event["reduced"] is None:
                has, needs = percent(event["min_eigenvalue"]), percent(event["threshold"])
                return (
                    f"Alarm: {arm} starves. In its weakest direction it had {has} of {whole} "
                    f"and needs {needs}; {did}."
                )
            return f"Alarm: the samples of {arm} were not diverse enough; {did}."
        case "fed":
            closed = " Its alarm was closed, unanswered." if event["closed_alarm"] else ""
            after = count(event["rewards"])
            return f"{arm} holds its share again, after {after} rewards.{closed}"
        case "resolved":
            changed = event.get("before")
            was = f" Before that the answer was: {ANSWERS[changed].name}." if changed else ""
            return f"{ANSWERS[event['resolution']].resolved} ({arm}).{was}"
        case "arm_added":
            return f"The arm {arm} was added."
        case "arm_retired":
            return f"The arm {arm} was retired."
        case "reward_corrected":
            return _corrected(event)
        case "erased":
            step = count(event["step"])
            return f"The features of decision {step} were erased; its reward is void."
        case "reduced":
            of = count(event["step"])
            return (
                f"What was expected in {count(event['count'])} decisions and alarms was removed: "
                f"it followed from the features of decision {of}, which were erased."
            )
        case "state_changed":
            return RUN_STATES[event["state"]]
        case "arm_reinstated":
            return f"The arm {arm} was put back: it may be chosen again."
        case "imported":
            return f"{count(event['rows'])} rows from elsewhere were learned."
        case "clock_jumped":
            if not event["offset"]:
                return "The machine’s clock agrees with the service’s again."
            where = "ahead of" if event["offset"] > 0 else "behind"
            return (
                f"The machine’s clock was {duration(abs(event['offset']))} {where} the service’s."
            )
        case "clock_answered":
            return {
                "follow": "The service’s clock follows the machine’s; waits moved with it.",
                "passed": "The service’s clock follows the machine’s: so much time has passed.",
                "keep": "The service’s clock goes on as it is.",
            }[event["answer"]]
        case "waits_moved":
            by = duration(abs(event["seconds"]))
            where = "ahead" if event["seconds"] > 0 else "back"
            return f"The clock was set {by} {where}; waits for rewards moved with it."
        case "restored":
            on = event.get("machine_time")
            done = "" if on is None else f" on {when(on)}, by the machine’s clock,"
            return (
                f"The log was put back{done} from a backup of {count(event['entries'])} entries; "
                "what was recorded after it is lost."
            )
        case "key_changed":
            return _key_changed(event)
        case "signed_in":
            return f"Signed in from {event['client']}."
        case "refused":
            times = "once" if event["count"] == 1 else f"{count(event['count'])} times"
            return f"Refused {times}: {event['reason']}, from {event['client']}."
        case _:
            return f"The features were changed to version {event['version']}."


def _corrected(event: Mapping[str, Any]) -> str:
    """A correction of a reward as a sentence."""
    part = f" ({event['part']})" if event["part"] else ""
    which = f"The reward of decision {count(event['step'])}{part}"
    before, value = event["before"], event["value"]
    if value is None:
        return f"{which}, {number(before)}, was declared void."
    if value == before:
        return f"{which}, {number(value)}, was confirmed."
    was = "void" if before is None else number(before)
    return f"{which} was corrected from {was} to {number(value)}."


def _key_changed(event: dict[str, Any]) -> str:
    """A change of a key as a sentence."""
    did = {"added": "was made", "rotated": "got a new secret", "removed": "was taken out of use"}
    said = f"The key {event['name']} ({event['role']}) {did[event['change']]}"
    if event["change"] == "removed":
        return f"{said}."
    if event["policies"] is not None:
        said += f", for {', '.join(event['policies'])} only"
    if event["expires"] is not None:
        said += f", until {when(event['expires'])}"
    if event["old_until"] is not None:
        said += f"; the old secret is good until {when(event['old_until'])}"
    return f"{said}."
