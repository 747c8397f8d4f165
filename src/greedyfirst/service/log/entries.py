"""An event as the log keeps it: an entry with a number, a time and a seal.

Each body has a nonce: 128 random bits that nobody is told. A seal alone, which operators see, says
nothing about what it seals; and once an erasure has removed the nonce with all else, nor does the
seal that is left in the file.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import struct
from typing import Any, NamedTuple

import msgspec

from greedyfirst.service.errors import DamagedLogError, InvalidError
from greedyfirst.service.log.events import (
    AnyEvent,
    Decided,
    Erased,
    Event,
    Expired,
    Reduced,
    RewardCorrected,
    Rewarded,
)
from greedyfirst.validation import wrong

#: The seal before the first entry.
GENESIS = bytes(32)
_SEAL = re.compile("([0-9a-f]{2}){6,32}")

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyEvent)


class Head(NamedTuple):
    """The end of a log: its last entry's number, 0 if there is none, and seal."""

    seq: int
    seal: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.seal.hex()}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head of which this is the text; the first 12 digits of the seal are enough."""
        seq, _, digits = text.strip().partition(":")
        if not (seq.isascii() and seq.isdigit() and len(seq) < 19 and _SEAL.fullmatch(digits)):
            raise wrong("head", text, "NUMBER:SEAL, of the seal 12 to 64 hexadecimal digits")
        return cls(int(seq), bytes.fromhex(digits))


class Entry(NamedTuple):
    """An event in the log, numbered 1, 2, … over all deployments."""

    seq: int
    at: float  # seconds since 1970
    policy: str  # the deployment's name
    kind: str
    step: int | None  # the decision it is about
    key: str | None  # the caller's idempotency key
    body: bytes  # the event as JSON

    @classmethod
    def of(cls, event: Event, *, seq: int, at: float, policy: str, key: str | None) -> Entry:
        """The entry of an event, with a nonce."""
        return cls(seq, at, policy, kind_of(event), step_of(event), key, with_nonce(event))

    @property
    def event(self) -> AnyEvent:
        """The event itself."""
        try:
            event: AnyEvent = _decoder.decode(self.body)
        except msgspec.MsgspecError as error:
            raise DamagedLogError(f"entry {self.seq} of the log cannot be read: {error}") from None
        return event

    @property
    def guessable(self) -> bool:
        """Whether it has no nonce: older releases gave none."""
        return msgspec.json.decode(self.body, type=_Nonce).nonce is None


class _Nonce(msgspec.Struct):
    nonce: str | None = None


class Digest:
    """SHA-256 of entries that an erasure has changed: number, seal, SHA-256 of the body of each."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, seq: int, seal: bytes, body: str) -> None:
        """The next one, with the hash of its body."""
        self._hash.update(struct.pack("<q", seq) + seal + bytes.fromhex(body))

    def __str__(self) -> str:
        return self._hash.hexdigest()


def encode(event: Event) -> bytes:
    """The event as the log keeps it."""
    return _encoder.encode(event)


#: Nonces that are not used yet: to ask the system for each would let other threads in.
_nonces: list[bytes] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_nonces.clear)


def _nonce() -> bytes:
    """128 random bits as hex digits, which nobody else gets."""
    try:
        return _nonces.pop()
    except IndexError:
        drawn = os.urandom(16 * 256).hex().encode()
        _nonces.extend(drawn[place : place + 32] for place in range(32, len(drawn), 32))
        return drawn[:32]


def with_nonce(event: Event) -> bytes:
    """The event as the log keeps it, with a nonce of its own."""
    return b'%s,"nonce":"%s"}' % (_encoder.encode(event)[:-1], _nonce())


def hash_of(body: bytes) -> str:
    """The SHA-256 of a body, as hex digits."""
    return hashlib.sha256(body).hexdigest()


def kind_of(event: Event) -> str:
    """The event's name in the log."""
    return str(event.__struct_config__.tag)


def step_of(event: Event) -> int | None:
    """The decision that an event is about."""
    if isinstance(event, Decided):
        return event.answer.step
    if isinstance(event, (Rewarded, Expired, RewardCorrected, Erased, Reduced)):
        return event.step
    return None


def seal(before: bytes, entry: Entry) -> bytes:
    """The seal of an entry: a hash of it and of the seal before it, which shows any later edit."""
    head = struct.pack("<qd", entry.seq, entry.at)
    names = f"{entry.policy}\0{entry.key or ''}\0".encode()
    return hashlib.sha256(before + head + names + entry.body).digest()


def plain_context(context: dict[str, Any]) -> dict[str, Any]:
    """A context as the log keeps it: what is learned later must be what was decided on.

    Whole numbers beyond 64 bits become floats; numbers that JSON does not have are refused.
    """
    return {name: _plain(name, value) for name, value in context.items()}


def _plain(name: str, value: Any) -> Any:
    if type(value) is int and 2**63 <= abs(value) < 2**1023:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidError(f"feature {name!r} must be finite, got {value}")
    return value


def same_context(kept: dict[str, Any], context: dict[str, Any]) -> bool:
    """Whether a context is the one that was kept; true is not 1 here."""
    one, other = sorted(kept.items()), sorted(plain_context(context).items())
    return msgspec.json.encode(one) == msgspec.json.encode(other)
