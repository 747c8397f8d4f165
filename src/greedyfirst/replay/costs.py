"""Rewards of each arm for each class, from a file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from greedyfirst.validation import FloatArray, number_in_text, wrong


def read_costs(path: Path, classes: Sequence[str]) -> tuple[FloatArray, tuple[str, ...]]:
    """Rewards (n_classes, n_arms) and the arms' names.

    The file is a CSV table: its header names the arms after a first cell that is not read, and each
    row begins with a class.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} is not CSV in UTF-8; save the rewards as such a file") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise wrong(
            str(path), f"{len(rows)} rows", "a header that names the arms, and a row per class"
        )
    arms = tuple(rows[0][1:])
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
    return rewards, arms
