"""Which idempotency keys are certainly new, without a look into the log."""

from __future__ import annotations

from collections.abc import Iterable

# 16 MB. With a million keys one new key in 130 is looked up all the same, with a hundred million
# every second one.
_BITS = 2**27


class KeyFilter:
    """A set of (policy, key) that may hold more than was added, but never less.

    Every key has one bit, and may share it.
    """

    def __init__(self, keys: Iterable[tuple[str, str]] = ()) -> None:
        self._bits = bytearray(_BITS // 8)
        for policy, key in keys:
            self.add(policy, key)

    def add(self, policy: str, key: str) -> None:
        """Take in a key."""
        place = hash((policy, key)) % _BITS
        self._bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, policy: str, key: str) -> bool:
        """False if the key was never added."""
        place = hash((policy, key)) % _BITS
        return bool(self._bits[place >> 3] >> (place & 7) & 1)
