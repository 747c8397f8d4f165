"""What a replay says, in plain words."""

from __future__ import annotations

from greedyfirst.replay.replay import (
    FIXED,
    GREEDY,
    GREEDY_FIRST,
    ORACLE,
    Replay,
    half_width,
)
from greedyfirst.simulation.result import counted

#: With fewer, the spread over orders is known too badly to say which policy is better.
FEWEST_ORDERS = 5


def verdict(replay: Replay) -> list[str]:
    """Sentences: was greedy enough, did Greedy-First switch and why, what would be best?"""
    names = replay.result.policies
    said = []
    if replay.seems_costs:
        said.append(
            "Each class's own arm pays least: costs are read as rewards, of which more is better; "
            "if the file holds costs, change their signs."
        )
    if GREEDY in names:
        said.append(_greedy(replay))
    if GREEDY_FIRST in names:
        said.append(_greedy_first(replay))
    if FIXED in names:
        said.append(_fixed(replay))
    return said


def _cost(replay: Replay, name: str) -> str:
    value, half = replay.cells(replay.result.policies.index(name))
    return f"{value} ± {half}" if half else value


def _greedy(replay: Replay) -> str:
    """Greedy against always the same arm, and against the best policy that explores."""
    pulls = int(getattr(replay.policies[GREEDY], "initial_pulls", 0))
    rows, n_arms = replay.result.horizon, len(replay.arms)
    if n_arms * pulls >= rows:
        return (
            f"The table is too small for a verdict: Greedy pulls each of {n_arms} arms "
            f"{counted(pulls, 'time')} in turns before it chooses, so none of {rows} decisions was "
            "its own."
        )
    turns = f"pulls each arm {counted(pulls, 'time')} in turns, then " if pulls else ""
    story = f"it {turns}never explores, and ends at {_cost(replay, GREEDY)}"
    best, n = _best_explorer(replay), replay.result.n_instances
    beside = f"; {best}, the best here that explores, at {_cost(replay, best)}" if best else ""
    if n < FEWEST_ORDERS:
        return f"{counted(n, 'order')} cannot tell whether Greedy was enough: {story}{beside}."
    if _is_worse(replay, FIXED):
        advice = "" if replay.schema.intercept else "; try intercept=True (--intercept)"
        return f"Greedy was not enough: {story}, more than always the same arm{advice}."
    if best is None:
        return f"Nothing that explores was played beside Greedy: {story}."
    return f"Greedy was {'not ' if _is_worse(replay, best) else ''}enough: {story}{beside}."


def _best_explorer(replay: Replay) -> str | None:
    names = replay.result.policies
    explore = [n for n in names if n not in (GREEDY, GREEDY_FIRST, ORACLE, FIXED)]
    return min(explore, key=lambda name: replay.final[names.index(name)], default=None)


def _is_worse(replay: Replay, other: str) -> bool:
    """Whether Greedy costs more than ``other`` in the same orders, beyond chance."""
    names, final = replay.result.policies, replay.result.final
    if other not in names:
        return False
    difference = final[:, names.index(GREEDY)] - final[:, names.index(other)]
    return bool(difference.mean() > half_width(difference))


def _greedy_first(replay: Replay) -> str:
    """Whether, when and why it switched."""
    n = replay.result.n_instances
    switched = replay.result.switches.get(GREEDY_FIRST, 0)
    cost = f"Greedy-First ends at {_cost(replay, GREEDY_FIRST)}"
    if switched == 0:
        rows, first = replay.result.horizon, _untested(replay)
        if rows <= first:
            return (
                f"{cost} and did not switch, which says nothing: the table has {rows} rows and its "
                f"test begins after {first}."
            )
        return f"{cost} and never switched: every arm's samples stayed diverse enough."
    name, count, rounds, direction = replay.reasons(GREEDY_FIRST)[0]
    return (
        f"{cost} and switched to exploring in {switched} of {counted(n, 'order')}, most often "
        f"because of arm {name!r} ({counted(count, 'time')}, after {rounds:.0f} decisions in the "
        f"median): its samples say least about {direction}."
    )


def _untested(replay: Replay) -> int:
    """The rounds before Greedy-First's test begins."""
    policy = replay.policies[GREEDY_FIRST]
    return policy.untested_rounds(len(replay.arms), replay.schema.n_features)


def _fixed(replay: Replay) -> str:
    names = replay.result.policies
    common = replay.arms[int(replay.pull_shares[names.index(FIXED)].argmax())]
    end = f", and least squares on all rows {_cost(replay, ORACLE)}" if ORACLE in names else ""
    return f"Always choosing {common!r} costs {_cost(replay, FIXED)}{end}."
