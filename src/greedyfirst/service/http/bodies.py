"""Request bodies: JSON into checked structs, with errors that name the field."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from greedyfirst.service.errors import Invalid, Refusal

T = TypeVar("T")


class Malformed(Refusal):
    """A body that is not JSON."""

    status = 400


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def parse(body: bytes, kind: type[T]) -> T:
    """The body as a ``kind``, or a refusal that says what is wrong with it."""
    try:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        content: T = _decoders[kind].decode(body)
        return content
    except msgspec.ValidationError as error:
        if str(error).startswith("Number out of range"):  # without the name of the feature
            return _lenient(body, kind)
        raise Invalid(_sentence(error)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _lenient(body, kind)


def _lenient(body: bytes, kind: type[T]) -> T:
    """Read NaN, Infinity and 1e400 too, as many send them, so that errors name a field."""
    try:
        content: Any = json.loads(body)
        msgspec.json.encode(content)  # halves of a character would fail only when they are logged
    except (ValueError, RecursionError):
        raise Malformed("the body must be JSON") from None
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise Invalid(_sentence(error)) from None


def _sentence(error: msgspec.ValidationError) -> str:
    what, _, where = str(error).partition(" - at `$")
    place = where.rstrip("`").lstrip(".")
    return f"{place or 'the body'}: {what[:1].lower()}{what[1:]}".replace("`", "")
