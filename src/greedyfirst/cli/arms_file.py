"""A file of the arms' coefficients."""

from __future__ import annotations

import csv
from pathlib import Path

from greedyfirst.validation import number_in_text, wrong


def read_arms(path: Path) -> list[list[float]]:
    """The parameters of at least two arms, from a CSV file without a header: a row per arm."""
    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise wrong(
            str(path), f"{len(rows)} rows", "a row of coefficients for each of 2 or more arms"
        )
    for place, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            expected = f"of {len(rows[0])} numbers, as the first row"
            raise wrong(f"row {place} of {path}", row, expected)
    return [
        [number_in_text(f"row {place} of {path}", cell) for cell in row]
        for place, row in enumerate(rows, start=1)
    ]
