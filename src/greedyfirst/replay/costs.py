"""Rewards of each arm for each class, from a file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from greedyfirst.validation import FloatArray, number_in_text, wrong

# Squares of larger numbers, summed over rows and orders, would not be finite.
LARGEST_REWARD = 1e100


def read_costs(path: Path, classes: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    r"""Rewards (n_classes, n_arms) and the arms' names.

    The file is a CSV table: its header names the arms after a first cell that is not read, and each
    row begins with a class.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greedyfirst.replay import read_costs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rewards.csv"
    ...     _ = path.write_text("needs,low dose,high dose\nlow,1,-5\nhigh,0,1\n")
    ...     rewards, arms = read_costs(path, ["low", "high"])
    >>> arms, rewards.tolist()
    (('low dose', 'high dose'), [[1.0, -5.0], [0.0, 1.0]])
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} is not CSV in UTF-8; save the rewards as such a file") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise wrong(
            str(path),
            f"{len(rows)} rows",
            "a header that names the arms, and a row per class, in cells separated by ','",
        )
    arms = tuple(name.strip() for name in rows[0][1:])
    _check_names(f"{path}: arm", arms)
    _check_names(f"{path}: class", [row[0] for row in rows[1:]])
    by_class = {row[0]: row for row in rows[1:]}
    missing = [name for name in classes if name not in by_class]
    if missing:
        raise wrong(str(path), sorted(by_class), f"a row for each class; {missing[0]!r} has none")
    rewards = np.zeros((len(classes), len(arms)))
    for place, name in enumerate(classes):
        row = by_class[name]
        if len(row) != len(rows[0]):
            raise wrong(f"the row of class {name!r} in {path}", row, f"of {len(rows[0])} cells")
        for arm, cell in enumerate(row[1:]):
            rewards[place, arm] = number_in_text(f"{path}: class {name!r}, arm {arms[arm]!r}", cell)
    check_rewards(str(path), rewards, classes, arms)
    return rewards, arms


def check_rewards(
    source: str, rewards: FloatArray, classes: Sequence[str], arms: Sequence[str]
) -> None:
    """Refuse a single arm, and rewards that are too large to reckon with."""
    if len(arms) < 2:
        raise wrong(f"the arms of {source}", tuple(arms), "at least two")
    too_large = np.argwhere(np.abs(rewards) > LARGEST_REWARD)
    if len(too_large):
        row, arm = too_large[0]
        where = f"{source}: class {classes[row]!r}, arm {arms[arm]!r}"
        expected = f"between {-LARGEST_REWARD:g} and {LARGEST_REWARD:g}"
        raise wrong(where, float(rewards[row, arm]), expected)


def own_arm_pays_least(rewards: FloatArray, classes: Sequence[str], arms: Sequence[str]) -> bool:
    """Whether arms have the classes' names and each pays least in its own class: as costs would."""
    if not set(classes) <= set(arms):
        return False
    own = [list(arms).index(name) for name in classes]
    others = rewards.copy()
    others[range(len(own)), own] = np.inf
    return bool((rewards[range(len(own)), own] < others.min(axis=1)).all())


def _check_names(what: str, names: Sequence[str]) -> None:
    """Refuse names that are empty or given twice."""
    for place, name in enumerate(names, start=1):
        if not name:
            raise ValueError(f"{what} {place} has no name; name it")
        if name in names[: place - 1]:
            first = names.index(name) + 1
            raise ValueError(f"{what} {name!r} is given twice, as {first} and as {place}; keep one")
