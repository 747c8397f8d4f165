"""What is laid down before the first decision, as a document with a hash, and in plain words.

The document is read from the log as it was written there, so that its hash stays what it was,
whatever later releases add to a specification.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import Struct

from greedyfirst.policies import POLICIES
from greedyfirst.policies.greedy_first import ANSWERS
from greedyfirst.service.errors import InvalidError
from greedyfirst.service.log.entries import Entry, encode
from greedyfirst.service.log.events import Created, Imported
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state.policy_description import Control, PolicyDescription
from greedyfirst.service.state.ranges import words as range_words
from greedyfirst.service.state.specification import NumericFeature, Specification
from greedyfirst.service.state.timekeeping import duration
from greedyfirst.version import __version__

FORMAT = "greedyfirst protocol 1"
MOST_CHANGES = 1000


class Line(Struct, frozen=True, kw_only=True):
    """A part of the protocol in words."""

    term: str
    text: str


class Change(Struct, frozen=True, kw_only=True):
    """Something that was done after the policy was created: an entry of its audit list."""

    number: int
    at: float
    #: How many decisions had been made by then.
    decisions: int
    event: dict[str, Any]


class Document(Struct, frozen=True, kw_only=True):
    """What was laid down."""

    policy: str
    #: The SHA-256 of ``canonical``, which holds the specification, the seed and the release: JSON
    #: with sorted keys, without blanks, as UTF-8.
    sha256: str
    canonical: str
    words: tuple[Line, ...]
    #: Releases of NumPy and numba where the policy was created; not part of the hash.
    made_with: dict[str, str]


class Protocol(Struct, frozen=True, kw_only=True):
    """What was laid down when a policy was created, and what was changed later."""

    document: Document
    created_at: float
    #: Decisions so far: 0 before the first one.
    decisions: int
    #: In the order in which they came.
    changes: tuple[Change, ...]
    #: Whether there are more changes than those.
    more_changes: bool


def release() -> dict[str, str]:
    """What makes decisions here: the release of this package, of NumPy and of numba."""
    return {"greedyfirst": __version__, "numpy": version("numpy"), "numba": version("numba")}


def planned(specification: Specification) -> Document:
    """The document of a policy that is not created yet: the service will give it the same hash."""
    if specification.seed is None:
        raise InvalidError("seed must be given: without one the service draws it at the creation")
    written = specification.written_out()
    written.check()
    created = Created(specification=written, seed=specification.seed, release=release())
    return document_of(encode(created))


def document_of(body: bytes) -> Document:
    """The document of a policy, from the body of the entry that created it."""
    raw: dict[str, Any] = json.loads(body)
    created = msgspec.json.decode(body, type=Created)
    known = raw.get("release") or {}
    content = {
        "format": FORMAT,
        "specification": raw["specification"],
        "seed": raw["seed"],
        "greedyfirst": known.get("greedyfirst"),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Document(
        policy=created.specification.name,
        sha256=hashlib.sha256(canonical.encode()).hexdigest(),
        canonical=canonical,
        words=tuple(in_words(created)),
        made_with={name: known[name] for name in ("numpy", "numba") if name in known},
    )


def protocol(log: ReadableLog, policy: str) -> Protocol:
    """The protocol of a policy in the log."""
    audited = log.audit(policy, limit=10**6)[::-1]
    created, later = audited[0], audited[1:]
    return Protocol(
        document=document_of(created.body),
        created_at=created.at,
        decisions=log.decisions_before(policy, None),
        changes=tuple(
            Change(
                number=entry.seq,
                at=entry.at,
                decisions=log.decisions_before(policy, entry.seq),
                event=shown(entry),
            )
            for entry in later[:MOST_CHANGES]
        ),
        more_changes=len(later) > MOST_CHANGES,
    )


def shown(entry: Entry) -> dict[str, Any]:
    """An audited event as plain data; imported rows are only counted."""
    event = entry.event
    found: dict[str, Any] = msgspec.json.decode(encode(event))
    if isinstance(event, Imported):
        found["rows"] = len(event.rows)
    return found


def in_words(created: Created) -> Iterator[Line]:
    """All that a specification says, for people."""
    specification = created.specification
    said = {"name", "seed"}
    for term, text, *fields in _sentences(specification):
        said.update(fields)
        yield Line(term=term, text=text)
    for name in specification.__struct_fields__:
        if name not in said:
            value = msgspec.json.encode(getattr(specification, name)).decode()
            yield Line(term=name.replace("_", " ").capitalize(), text=value)
    yield Line(term="Seed", text=f"{created.seed}: all randomness follows from it.")
    made = (created.release or {}).get("greedyfirst")
    yield Line(term="Release", text=f"greedyfirst {made}" if made else "not recorded")


def _sentences(it: Specification) -> Iterator[tuple[str, ...]]:
    """A term, its text, and the fields of the specification that it tells of."""
    yield "Arms", f"{len(it.arms)}: {', '.join(it.arms)}.", "arms"
    for item in it.features:
        yield f"Feature: {item.name}", f"{_feature(item, it.intercept)}.", "features"
    base = "There is one, for contexts whose features are all 0." if it.intercept else "None."
    yield "Base level", base, "intercept"
    yield "How an arm is chosen", _policy(it.policy), "policy"
    yield "Control group", _control(it.control), "control"
    answer = ANSWERS[it.on_alarm]
    yield (
        "If an arm starves (too little is known of it about some people)",
        f"An alarm is raised; {answer.answered}.",
        "on_alarm",
    )
    yield "Rewards", _rewards(it), "rewards", "reward_wait", "default_reward", "reward_range"


def _feature(item: Any, intercept: bool) -> str:
    if isinstance(item, NumericFeature):
        plausible = ""
        if (item.low, item.high) != (None, None):
            plausible = f", plausible {range_words(item.low, item.high)} (else {_outside(item)})"
        return f"A number x, taken as (x − {item.mean:g}) / {item.scale:g}{plausible}"
    other = f"; others are taken as {item.other}" if item.other else ""
    base = f"; compared with {item.reference or item.levels[0]}" if intercept else ""
    return f"One of {', '.join(item.levels)}{other}{base}"


def _outside(limits: Any) -> str:
    return "refused" if limits.outside == "refuse" else "held until a person has seen to it"


def _control(control: Control | None) -> str:
    if control is None:
        return "None: every decision is the policy's."
    practice = f"always {control.arm}." if control.policy is None else _policy(control.policy)
    learned = "learns" if control.learn else "does not learn"
    return (
        f"A random share of {control.share:g} of decisions goes to current practice: {practice} "
        f"The policy {learned} from them."
    )


def _policy(described: PolicyDescription) -> str:
    """The policy's own description, and every option of it."""
    name, options = described.policy, described.options
    purpose = (inspect.getdoc(POLICIES[name]) or "").partition("\n")[0] if name in POLICIES else ""
    given = [
        f"{option} = {msgspec.json.encode(value).decode()}"
        for option, value in options.items()
        if value is not None
    ]
    left = [option for option, value in options.items() if value is None]
    text = f"{name}. {purpose} Options: {', '.join(given) or 'none'}."
    return f"{text} Not set: {', '.join(left)}." if left else text


def _rewards(it: Specification) -> str:
    how = "The first that comes counts" if it.rewards == "first" else "All parts add up"
    wait, limits = it.reward_wait, it.reward_range
    text = (
        f"{how}, without a limit of time." if wait is None else f"{how}, within {duration(wait)}."
    )
    if wait is not None:
        default = it.default_reward
        text += " If none comes, " + (
            "nothing is learned." if default is None else f"{default:g} is learned."
        )
    if limits is not None:
        return f"{text} Plausible: {limits.words()}; others are {_outside(limits)}."
    return f"{text} Any number is plausible."
