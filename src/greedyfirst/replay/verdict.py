"""What a replay says, in plain words."""

from __future__ import annotations

import numpy as np

from greedyfirst.replay.replay import FIXED, GREEDY, GREEDY_FIRST, ORACLE, Replay


def verdict(replay: Replay) -> list[str]:
    """Sentences: was greedy enough, did Greedy-First switch and why, what would be best?"""
    names = replay.result.policies
    said = []
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
    """Greedy against the best policy that explores."""
    names, final = replay.result.policies, replay.final
    others = [n for n in names if n not in (GREEDY, GREEDY_FIRST, ORACLE, FIXED)]
    own = f"Greedy, which never explores, ends at {_cost(replay, GREEDY)}"
    if not others:
        return own + "."
    best = min(others, key=lambda name: final[names.index(name)])
    difference = (
        replay.result.final[:, names.index(GREEDY)] - replay.result.final[:, names.index(best)]
    )
    mean = float(difference.mean())
    n = len(difference)
    half = 2.0 * float(difference.std(ddof=1)) / np.sqrt(n) if n > 1 else np.inf
    against = f"{best}, the best here that explores, at {_cost(replay, best)}"
    if mean <= half:
        return f"Greedy was enough: {own[0].lower()}{own[1:]}; {against}."
    return f"Greedy was not enough: {own[0].lower()}{own[1:]}; {against}."


def _greedy_first(replay: Replay) -> str:
    """Whether, when and why it switched."""
    n = replay.result.n_instances
    switched = replay.result.switches.get(GREEDY_FIRST, 0)
    cost = f"Greedy-First ends at {_cost(replay, GREEDY_FIRST)}"
    if switched == 0:
        return f"{cost} and never switched: every arm's samples stayed diverse enough."
    name, count, rounds, direction = replay.reasons(GREEDY_FIRST)[0]
    return (
        f"{cost} and switched to exploring in {switched} of {n} orders, most often because of arm "
        f"{name!r} ({count} times, after {rounds:.0f} decisions in the median): its samples say "
        f"least about {direction}."
    )


def _fixed(replay: Replay) -> str:
    names = replay.result.policies
    common = replay.arms[int(replay.pull_shares[names.index(FIXED)].argmax())]
    end = (
        f", and the best linear rule in hindsight {_cost(replay, ORACLE)}"
        if ORACLE in names
        else ""
    )
    return f"Always choosing {common!r} costs {_cost(replay, FIXED)}{end}."
