"""Names that people can tell apart: what cannot be seen, or turns text around, is refused."""

from __future__ import annotations

import re

from greedyfirst.service.errors import InvalidError

#: Controls (NUL and line ends among them), marks that turn the direction of text, characters of no
#: width, line and paragraph separators: for a class of a regular expression.
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
)
#: In Python $ also matches before a line's end.
READABLE = rf"^[^{_UNSEEN}]*[^{_UNSEEN}\s][^{_UNSEEN}]*$(?!\n)"
EXPECTED = (
    "text that can be read: not blank, without control characters, marks that turn the direction "
    "of text, and characters of no width"
)
_readable = re.compile(READABLE)


def check_readable(where: str, name: str) -> None:
    """Refuse a name that people could not read, or could mistake for another."""
    if not _readable.search(name):
        raise InvalidError(f"{where} must be {EXPECTED}, got {name!r}")
