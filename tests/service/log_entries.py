"""Entries for logs that no service wrote."""

from __future__ import annotations

from functools import cache

from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Rewarded


@cache  # each has a nonce
def entry(seq: int) -> Entry:
    return Entry.of(
        Rewarded(step=seq, part="", value=seq / 2, outcome="counted"),
        seq=seq,
        at=float(seq),
        policy="p",
        key=f"key {seq}",
    )


def entries(first: int, last: int) -> list[Entry]:
    return [entry(seq) for seq in range(first, last + 1)]
