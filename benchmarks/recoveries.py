"""Try to recover what the service says nobody can: erased persons, and rewards from an operator.

The *holder* of the file knows the program, the log as it is after the erasures, and the people that
there may be. For each erased person, every candidate is tried: against the seal that the erased
entry kept, against numbers that models had learned from the person (expected rewards, alarms), and
against the arms that were chosen meanwhile. What the service had answered is looked for in the raw
bytes of the file. The *operator* asks everything that the role may ask, before and after each
reward, and is told the first half of the rewards to learn from; the second half is guessed, by the
seals, or else by the best combination of sizes, times and numbers.

    python benchmarks/recoveries.py                       # 20 persons, 400 rewards: ten minutes
    python benchmarks/recoveries.py --persons 4 --rewards 40

It ends with 1 if a person was recovered, or if guesses are better than chance (one-sided, 5 %).
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import math
import re
import secrets
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import numpy as np
from scipy.stats import binomtest

from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.application import make_application
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.entries import Entry, Head, encode, seal
from greedyfirst.service.log.events import Alarmed, Decided, Fed, Rewarded
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.restoring import restore
from greedyfirst.service.state.specification import Specification

NAME = "dose"
SPECIFICATION = {
    "name": NAME,
    "arms": ["low", "high"],
    "features": [
        {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
        {"kind": "numeric", "name": "weight", "mean": 75, "scale": 15},
        {"kind": "categorical", "name": "sex", "levels": ["f", "m"]},
    ],
    "seed": 1,
}
AGES, WEIGHTS = range(20, 102), range(40, 140)
#: Decisions of others before the first person, and between each person's reward and erasure.
BEFORE, BETWEEN = 30, 12


# ------------------------------------------------------------------------- the holder of the file


class Person(NamedTuple):
    """What the service knew, and answered, of a person that was erased."""

    step: int
    context: dict[str, Any]
    #: Numbers of its answer and of those between its reward and its erasure.
    numbers: frozenset[float]


class Attack(NamedTuple):
    """What came of a person."""

    by_seal: bool
    by_numbers: bool
    #: Numbers that the file still has, as text or as bytes.
    traces: int
    #: Candidates that would have led to the same arms, and whether one taken of them was right.
    survivors: int
    by_arms: bool


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A person."""
    return {
        "age": int(rng.choice(AGES)),
        "weight": int(rng.choice(WEIGHTS)),
        "sex": str(rng.choice(["f", "m"])),
    }


def candidates(fine: int) -> Iterator[dict[str, Any]]:
    """All people that there may be; weights in so many steps a kilogram."""
    for age in AGES:
        for weight in WEIGHTS:
            for part in range(fine):
                for sex in "fm":
                    exact = weight + part / fine
                    yield {"age": age, "weight": weight if part == 0 else exact, "sex": sex}


def numbers_of(answer: Any) -> set[float]:
    return {*answer.expected_rewards.values(), *answer.contributions.values()}


async def live(path: Path, persons: int, between: int, rng: np.random.Generator) -> list[Person]:
    """A trial in which so many persons are erased, each some decisions after its reward."""
    service = DecisionService(lambda: SqliteLog(path))
    await service.start()
    await service.admin.create(msgspec.convert(SPECIFICATION, Specification))
    elsewhere: set[float] = set()

    async def one(context: dict[str, Any]) -> tuple[int, set[float]]:
        made = await service.decide(NAME, context)
        paid = 0.1 * (context["age"] - 60) * (1 if made.arm == "low" else -1)
        await service.reward(made.decision_id, round(paid + rng.normal(), 2))
        return made.step, numbers_of(made)

    for _ in range(BEFORE):
        elsewhere |= (await one(drawn(rng)))[1]
    found = []
    for _ in range(persons):
        context = drawn(rng)
        step, numbers = await one(context)
        for _ in range(between):
            numbers |= (await one(drawn(rng)))[1]
        await service.admin.erase(f"{NAME}:{step}", "Ada", "asked for")
        found.append(Person(step, context, frozenset(numbers - elsewhere)))
        elsewhere |= (await one(drawn(rng)))[1]
    await service.stop()
    return found


def attacked(path: Path, person: Person, fine: int, rng: np.random.Generator) -> Attack:
    """Everything that the holder of the file tries."""
    log = SqliteLog(path)
    about = log.about(NAME, person.step)
    end = next(entry.seq for entry in about if entry.kind == "erased")
    between = [*log.read(NAME, about[1].seq, end)]
    tried = [*candidates(fine)]
    by_seal = by_its_seal(log, about[0], tried)
    by_numbers = by_what_followed(log, about[1], between, tried)
    coarse = [each for each in tried if isinstance(each["weight"], int)]
    left = by_arms(log, about[1], between, coarse)
    guess = left[int(rng.integers(len(left)))] if left else None
    raw = path.read_bytes()
    log.close()
    return Attack(
        by_seal == person.context,
        by_numbers == person.context,
        sum(has(raw, number) for number in person.numbers),
        len(left),
        guess == person.context,
    )


def has(raw: bytes, number: float) -> bool:
    """Whether a number with many digits is there as text or in eight bytes."""
    text = repr(number)
    return len(text) > 12 and (text.encode() in raw or struct.pack("<d", number) in raw)


def encoded(deployment: Deployment, people: list[dict[str, Any]]) -> Any:
    return np.array([deployment.encode_past(each) for each in people])


def by_its_seal(log: SqliteLog, entry: Entry, tried: list[dict[str, Any]]) -> Any:
    """The person whose decision has this seal."""
    kept, before = log.head_at(entry.seq), log.head_at(entry.seq - 1)
    assert kept is not None
    assert before is not None
    deployment, _ = restore(log, NAME, before=entry.seq)
    agent, left = deployment.agent, entry.event
    assert isinstance(left, Decided)
    arm = agent.arm_names.index(left.answer.arm)
    expected, parts = agent.explain(encoded(deployment, tried))
    names, features = agent.arm_names, agent.feature_names
    for place, context in enumerate(tried):
        answer = msgspec.structs.replace(
            left.answer,
            expected_rewards=dict(zip(names, expected[place].tolist(), strict=True)),
            contributions=dict(zip(features, parts[place, arm].tolist(), strict=True)),
            propensities={left.answer.arm: 1.0},
        )
        guess = msgspec.structs.replace(left, context=context, answer=answer, erased=False)
        if seal(before.seal, entry._replace(body=encode(guess))) == kept.seal:
            return context
    return None


def told(entries: list[Entry]) -> Iterator[tuple[int, list[float], Entry]]:
    """Numbers in entries that follow from what was learned, and which entry has them."""
    for place, entry in enumerate(entries):
        event = entry.event
        if isinstance(event, Decided) and not event.erased:
            numbers = [*event.answer.expected_rewards.values()]
        elif isinstance(event, Alarmed) and event.min_eigenvalue is not None:
            numbers = [event.min_eigenvalue]
        elif isinstance(event, Fed) and event.share is not None:
            numbers = [event.share]
        else:
            continue
        if numbers:
            yield place, numbers, entry


def by_what_followed(
    log: SqliteLog, rewarded: Entry, between: list[Entry], tried: list[dict[str, Any]]
) -> Any:
    """The one person who, learned from, explains the first numbers that are left after that."""
    first = next(told(between), None)
    if first is None or first[0] > 0 or not isinstance(first[2].event, Decided):
        return None  # later ones take as long as the arms, and say no more
    numbers, decided = first[1], first[2].event
    deployment, _ = restore(log, NAME, before=rewarded.seq)
    next_one = deployment.encode_past(decided.context)
    found = [
        context
        for context, _ in learned(deployment, rewarded, tried)
        if np.allclose(deployment.agent.expected_rewards(next_one), numbers, rtol=1e-12, atol=0)
    ]
    return found[0] if len(found) == 1 else None


def learned(
    deployment: Deployment, rewarded: Entry, tried: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], Any]]:
    """The deployment's agent after the reward of each candidate in turn."""
    agent, event = deployment.agent, rewarded.event
    assert isinstance(event, Rewarded)
    arm = deployment.recall(event.step)[0].answer.arm  # type: ignore[union-attr]
    kept, joined, decisions = agent.buffer.copy(), agent.joined, agent.decisions
    steps = agent._rewarded
    for context, row in zip(tried, encoded(deployment, tried), strict=True):
        agent.buffer[:] = kept
        agent.joined, agent.decisions, agent._rewarded = joined, decisions, copy.deepcopy(steps)
        agent.update(row, arm, event.value, step=event.step)
        yield context, row


def by_arms(
    log: SqliteLog, rewarded: Entry, between: list[Entry], tried: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The people who, learned from, would have led to the arms that were chosen until the end."""
    deployment, _ = restore(log, NAME, before=rewarded.seq)
    agent, lived = deployment.agent, []
    for entry in between:
        event = entry.event
        if isinstance(event, Decided):
            row = deployment.encode_past(event.context)
            arm = agent.arm_names.index(event.answer.arm)
        elif isinstance(event, Rewarded):
            lived.append((row, arm, event.value, event.step))
    left = []
    for context, _ in learned(deployment, rewarded, tried):
        for row, arm, value, step in lived:
            if agent.choose(row) != arm:
                break
            agent.update(row, arm, value, step=step)
        else:
            left.append(context)
    return left


def recover_persons(persons: int, fine: int, seed: int = 1, between: int = BETWEEN) -> list[Attack]:
    """What comes of so many erased persons."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        erased = asyncio.run(live(path, persons, between, rng))
        return [attacked(path, each, fine, rng) for each in erased]


# ----------------------------------------------------------------------------------- the operator


KEYS = [
    AccessKey("admin", "admin", hashed("admin")),
    AccessKey("operator", "operator", hashed("operator")),
]
#: All that an operator may ask, by :mod:`greedyfirst.service.http.blinding`.
ASKED = ("/v1/log/head", "/metrics", "/v1/operations", f"/v1/policies/{NAME}/operations", "/readyz")
#: Seconds by which the operator's clock and the service's may differ.
_CLOCKS = 0.001


class Seen(NamedTuple):
    """What an operator saw around a reward, and what it was."""

    step: int
    began: float
    ended: float
    before: Head
    after: Head
    features: list[float]
    value: float


async def watch(path: Path, rewards: int, rng: np.random.Generator) -> list[Seen]:
    """So many rewards of 0 or 1, with an operator who asks before and after each."""
    service = DecisionService(lambda: SqliteLog(path))
    app = make_application(service, access=Access(lambda: KEYS))
    transport = httpx.ASGITransport(app)
    own = {"Authorization": "Bearer operator"}
    seen = []
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        client.headers["Authorization"] = "Bearer admin"
        options = {"policy": {"policy": "GLMGreedy"}}  # its learning takes as long as rewards ask
        (await client.post("/v1/policies", json=SPECIFICATION | options)).raise_for_status()
        for step in range(1, rewards + 1):
            asked = await client.post(
                f"/v1/policies/{NAME}/decisions", json={"context": drawn(rng)}
            )
            asked.raise_for_status()
            first, head = await looked(client, own)
            began = time.time()
            value = float(rng.integers(2))
            url = f"/v1/decisions/{NAME}:{step}/reward"
            (await client.put(url, json={"value": value})).raise_for_status()
            ended = time.time()
            then, after = await looked(client, own)
            change = [b - a for a, b in zip(first, then, strict=False)] + then
            seen.append(Seen(step, began, ended, head, after, [*change, ended - began], value))
    return seen


async def looked(client: httpx.AsyncClient, own: dict[str, str]) -> tuple[list[float], Head]:
    """Numbers, sizes and times of all that an operator is answered, and the head."""
    found: list[float] = []
    head = Head(0, b"")
    for url in ASKED:
        began = time.perf_counter()
        answer = await client.get(url, headers=own)
        answer.raise_for_status()
        found += [time.perf_counter() - began, float(len(answer.content))]
        if url == "/v1/log/head":
            head = Head.parse(answer.json()["head"])
            found += [float(byte) for byte in head.seal[:8]]
        if url == "/metrics":
            kept = r"^greedyfirst_(?:.*reward\"?.*|.*dose.*|log_seal|wal_bytes) (\S+)$"
            lines = re.findall(kept, answer.text, re.M)
            found += [float(value) for value in lines if math.isfinite(float(value))]
    return found, head


def by_seal(seen: Seen) -> float | None:
    """The reward whose entry, at any moment in between, gives the seal that came after it."""
    if seen.after.seq != seen.before.seq + 1:
        return None
    for value in (0.0, 1.0):
        event = Rewarded(step=seen.step, part="", value=value, outcome="counted")
        at, end = seen.began - _CLOCKS, seen.ended + _CLOCKS
        entry = Entry(seen.after.seq, at, NAME, "rewarded", seen.step, None, encode(event))
        while at < end:
            if seal(seen.before.seal, entry._replace(at=at)) == seen.after.seal:
                return value
            at = math.nextafter(at, math.inf)
    return None


def guess_rewards(rewards: int, seed: int = 1) -> tuple[int, int, int]:
    """How many of so many rewards were guessed, how many by seals, of how many."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        seen = asyncio.run(watch(Path(folder) / "log.db", 2 * rewards, rng))
    told_of, hidden = seen[:rewards], seen[rewards:]
    width = min(len(each.features) for each in seen)
    rows = np.array([each.features[:width] for each in seen])
    rows = (rows - rows[:rewards].mean(0)) / (rows[:rewards].std(0) + 1e-12)
    rows = np.clip(rows, -5, 5)
    known = np.array([each.value for each in told_of]) - 0.5
    gram = rows[:rewards].T @ rows[:rewards] + rewards * np.eye(width) / 10
    weights = np.linalg.solve(gram, rows[:rewards].T @ known)
    right = sealed = 0
    for each, row in zip(hidden, rows[rewards:], strict=True):
        value = by_seal(each)
        sealed += value is not None
        guess = float(row @ weights > 0) if value is None else value
        right += guess == each.value
    return right, sealed, rewards


def better_than_chance(right: int, of: int) -> float:
    """The chance of as many right guesses by coins."""
    return float(binomtest(right, of, 0.5, alternative="greater").pvalue)


def main() -> None:
    """Try both, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--persons", type=int, default=20)
    parser.add_argument("--fine", type=int, default=10, help="weights tried per kilogram")
    parser.add_argument("--between", type=int, default=BETWEEN, help="decisions until the erasure")
    parser.add_argument("--rewards", type=int, default=400)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    failed = False
    if options.persons:
        found = recover_persons(options.persons, options.fine, options.seed, options.between)
        lost = sum(each.by_seal or each.by_numbers or each.by_arms for each in found)
        traces = sum(each.traces for each in found)
        left = sorted(each.survivors for each in found)
        people = len(AGES) * len(WEIGHTS) * 2
        print(f"erased persons recovered: {lost} of {len(found)}, of {people * options.fine}")
        print(f"  by the seal {sum(each.by_seal for each in found)}, by numbers of later")
        print(f"  decisions {sum(each.by_numbers for each in found)}; numbers left: {traces}")
        print(
            f"  arms alone leave {left[0]} to {left[-1]} of {people}, median {left[len(left) // 2]}"
        )
        failed |= lost + traces > 0
    if options.rewards:
        right, sealed, of = guess_rewards(options.rewards, options.seed)
        chance = better_than_chance(right, of)
        print(
            f"rewards guessed by an operator: {right} of {of}, {sealed} by seals; p = {chance:.3g}"
        )
        failed |= chance < 0.05
    sys.exit(failed)


if __name__ == "__main__":
    main()
