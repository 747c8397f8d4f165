"""What a replay says, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.replay.played import (
    ALL_ROWS,
    FIXED,
    GLM_GREEDY,
    GREEDY,
    GREEDY_FIRST,
    variant,
)
from greedyfirst.replay.replay import Replay
from greedyfirst.replay.uncertainty import gains
from greedyfirst.simulation.result import counted

#: With fewer, the spread over orders is known too badly to say which policy is better.
FEWEST_ORDERS = 5
#: Exploring that gains less than this share of what learning gains, or this share of the rewards'
#: range per decision, is not worth a word.
OF_LEARNING, OF_RANGE = 0.1, 0.01

AS_GOOD, HELPS, NOTHING = "greedy is as good", "exploring helps", "nothing beats one arm"
TOO_LITTLE, DEPENDS = "too little data", "it depends on the first pulls"


@dataclass(frozen=True)
class Finding:
    """What was found: its kind, and a sentence about it."""

    kind: str
    sentence: str
    #: The policy that explores and gains most, where exploring helps.
    best: str | None = None


def verdict(replay: Replay) -> list[str]:
    """Sentences: was greedy enough, did Greedy-First explore and why, what should one do?"""
    names = replay.result.policies
    said = []
    if replay.seems_costs:
        said.append(
            "Each class's own arm pays least: costs are read as rewards, of which more is better; "
            "if the file holds costs, change their signs."
        )
    if GREEDY in names:
        said.append(finding(replay).sentence)
    if GREEDY_FIRST in names:
        said.append(_greedy_first(replay))
    if FIXED in names:
        said.append(_fixed(replay))
    if GREEDY in names:
        said.append(_recommendation(replay))
    return said


def finding(replay: Replay) -> Finding:
    """What the replay shows, unless it is another thing with other first pulls."""
    found = {pulls: judged(replay, pulls) for pulls in replay.tried_pulls}
    own = found.get(replay.initial_pulls) or judged(replay, replay.initial_pulls)
    if len({each.kind for each in found.values()}) < 2:
        return own
    parts = [f"with {pulls}, {each.kind}" for pulls, each in found.items()]
    sentence = (
        f"It depends on the first pulls of each arm: {'; '.join(parts)}. More rows would tell. "
        f"With {replay.initial_pulls}: {own.sentence}"
    )
    return Finding(DEPENDS, sentence, own.best)


def judged(replay: Replay, pulls: int) -> Finding:
    """What the replay shows with so many first pulls of each arm."""
    orders, rows = replay.result.n_instances, replay.result.horizon
    if orders < FEWEST_ORDERS:
        return Finding(
            TOO_LITTLE,
            f"{counted(orders, 'order')} cannot tell whether Greedy was enough: it ends at "
            f"{_cost(replay, GREEDY)}. Give at least {FEWEST_ORDERS} (--permutations).",
        )
    if len(replay.arms) * pulls >= rows:
        return Finding(
            TOO_LITTLE,
            f"Too little data: {counted(pulls, 'first pull')} of each of {len(replay.arms)} arms "
            f"take all of {rows} rows.",
        )
    learners = [name for name in replay.result.policies if name not in (ALL_ROWS, FIXED)]
    if FIXED in replay.result.policies:
        nothing = _nothing_learned(replay, pulls, learners)
        if nothing is not None:
            return nothing
    return _exploring(replay, pulls, [n for n in learners if n not in (GREEDY, GLM_GREEDY)])


def _place(replay: Replay, name: str, pulls: int) -> int:
    other = variant(name, pulls)
    return replay.labels.index(other if other in replay.labels else name)


def _gains(
    replay: Replay, pulls: int, base: str, others: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = np.array([_place(replay, name, pulls) for name in others])
    return gains(
        replay.costs,
        replay.covariance,
        _place(replay, base, pulls),
        places,
        replay.result.n_instances,
    )


def _nothing_learned(replay: Replay, pulls: int, learners: list[str]) -> Finding | None:
    """Whether nothing is surely better than always the same arm."""
    gain, low, high = _gains(replay, pulls, FIXED, learners)
    if low.max() > 0:
        return None
    arm = _fixed_arm(replay)
    best = int(gain.argmax())
    margin = OF_RANGE * replay.unit
    if high.max() <= margin:
        return Finding(
            NOTHING,
            f"Nothing beats always choosing {arm!r}: whatever learns from these columns gains at "
            f"most {replay.amount(max(high.max(), 0.0))} per decision, with or without exploring.",
        )
    rows = _rows_needed(replay, float(high[best] - gain[best]), max(abs(float(gain[best])), margin))
    return Finding(
        TOO_LITTLE,
        "Too little data to tell whether anything can be learned from these columns: nothing is "
        f"surely better than always choosing {arm!r}, which costs {_cost(replay, FIXED)}. {rows}",
    )


def _exploring(replay: Replay, pulls: int, explorers: list[str]) -> Finding:
    """Greedy against the best of those that explore."""
    if not explorers:
        story = f"Greedy ends at {_cost(replay, GREEDY)}"
        return Finding(TOO_LITTLE, f"Nothing that explores was played beside Greedy: {story}.")
    gain, low, high = _gains(replay, pulls, GREEDY, explorers)
    best = int(np.where(low > 0, gain, -np.inf).argmax() if low.max() > 0 else gain.argmax())
    greedy, other = _cost(replay, GREEDY, pulls), _cost(replay, explorers[best], pulls)
    if low[best] > 0:
        sentence = (
            f"Exploring helps: {explorers[best]} ends at {other}, Greedy, which never explores, at "
            f"{greedy}. The gain is surely above {replay.amount(low[best])} per decision."
        )
        return Finding(HELPS, sentence, explorers[best])
    margin = _margin(replay, pulls)
    most = replay.amount(max(float(high.max()), 0.0))
    gained = f"at most {most} per decision" if high.max() > 0 else "nothing"
    limit = f"Exploring gains {gained}."
    if high.max() <= margin:
        return Finding(
            AS_GOOD,
            f"Greedy is as good as exploring here: it ends at {greedy}, {explorers[best]}, the "
            f"best that explores, at {other}. {limit}",
        )
    rows = _rows_needed(replay, float((high - gain).max()), margin)
    return Finding(
        TOO_LITTLE,
        f"Too little data to tell whether exploring helps: Greedy ends at {greedy}, "
        f"{explorers[best]} at {other}, and exploring may gain up to {most} per decision. {rows}",
    )


def _margin(replay: Replay, pulls: int) -> float:
    """What exploring must gain to be worth a word."""
    margin = OF_RANGE * replay.unit
    if FIXED in replay.labels:
        learned = replay.costs[replay.labels.index(FIXED)]
        learned = float(learned - replay.costs[_place(replay, GREEDY, pulls)])
        margin = max(margin, OF_LEARNING * learned)
    return margin


def _rows_needed(replay: Replay, half: float, wanted: float) -> str:
    """About how many rows would make ``half`` as small as ``wanted``."""
    rows = replay.result.horizon * (half / wanted) ** 2
    digits = 10 ** max(math.floor(math.log10(max(rows, 1.0))) - 1, 0)
    return f"About {math.ceil(rows / digits) * digits:,} rows would tell."


def _cost(replay: Replay, name: str, pulls: int | None = None) -> str:
    if pulls is not None and variant(name, pulls) in replay.labels:
        return replay.amount(replay.costs[_place(replay, name, pulls)])
    value, half, _ = replay.cells(replay.result.policies.index(name))
    return f"{value} ± {half}" if half else value


def _greedy_first(replay: Replay) -> str:
    """Whether, when and why it explored, and what that cost."""
    n = replay.result.n_instances
    reasons = replay.reasons(GREEDY_FIRST)
    cost = f"Greedy-First ends at {_cost(replay, GREEDY_FIRST)}"
    if not reasons:
        rows, first = replay.result.horizon, _untested(replay)
        if rows <= first:
            return f"{cost}. The table ends before its alarms begin, after {first} decisions."
        return f"{cost}, and no arm starved in the end: every arm held its share of what is known."
    name, count, rounds, direction = reasons[0]
    alarmed = sum(row[1] for row in reasons)
    about = f": it is known least about {direction}" if direction else ""
    return (
        f"{cost}. An arm starved in {alarmed} of {counted(n, 'order')}, most often {name!r} "
        f"({counted(count, 'order')}, since decision {rounds:.0f} in the median){about}."
        f"{_price(replay)}"
    )


def _price(replay: Replay) -> str:
    """What exploring cost or gained Greedy-First against Greedy."""
    if GREEDY not in replay.result.policies or replay.result.n_instances < 2:
        return ""
    gain, low, high = _gains(replay, replay.initial_pulls, GREEDY, [GREEDY_FIRST])
    verb = "gained" if gain[0] >= 0 else "cost"
    half = replay.amount((high[0] - low[0]) / 2)
    return f" That {verb} {replay.amount(abs(gain[0]))} ± {half} per decision against Greedy."


def _untested(replay: Replay) -> int:
    """The rounds before Greedy-First's test begins."""
    policy = replay.policies[GREEDY_FIRST]
    return policy.untested_rounds(len(replay.arms), replay.schema.n_features)


def _fixed_arm(replay: Replay) -> str:
    place = replay.result.policies.index(FIXED)
    return replay.arms[int(replay.pull_shares[place].argmax())]


def _fixed(replay: Replay) -> str:
    names = replay.result.policies
    end = f", and least squares on all rows {_cost(replay, ALL_ROWS)}" if ALL_ROWS in names else ""
    return f"Always choosing {_fixed_arm(replay)!r} costs {_cost(replay, FIXED)}{end}."


def _recommendation(replay: Replay) -> str:
    """What to do next."""
    found = finding(replay)
    names = replay.result.policies
    if found.kind == NOTHING:
        return (
            f"What to do: always choose {_fixed_arm(replay)!r}, or look for columns that say more."
        )
    if replay.result.n_instances >= FEWEST_ORDERS and GLM_GREEDY in names:
        _, low, _ = _gains(replay, replay.initial_pulls, GREEDY, [GLM_GREEDY])
        if low[0] > 0 and found.kind != HELPS:
            return (
                "What to do: GLMGreedy(), which never explores either, was surely better than "
                "Greedy here; GreedyFirst(greedy=GLMGreedy()) watches its arms as well."
            )
    if found.kind == HELPS and found.best not in (None, GREEDY_FIRST) and GREEDY_FIRST in names:
        _, low, _ = _gains(replay, replay.initial_pulls, GREEDY_FIRST, [str(found.best)])
        if low[0] > 0:
            return f"What to do: {found.best} was surely better than Greedy-First here; use it."
    return (
        "What to do: GreedyFirst(). It is greedy where every arm holds its share of what is known, "
        "gives the benefit of the doubt to those that starve, and tells you which."
    )
