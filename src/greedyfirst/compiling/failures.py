"""What breaks a rule of kernels, told in one sentence: kernel, line, rule."""

from __future__ import annotations

import re
from pathlib import Path

#: What numba says, and the rule behind it.
_RULES = (
    (r"cannot be used in nopython|Cannot determine Numba type|not supported|Unknown attribute",
     "a kernel may use numbers, arrays, records, math and other kernels only"),
    (r"NRT required|requires NRT|nrt", "a kernel makes no array: take scratch room from the state"),
    (r"Cannot unify|Type unification", "a name in a kernel keeps one type"),
    (r"not defined|Untyped global name|NameError",
     "a kernel calls only kernels and names of its own module"),
)  # fmt: skip
_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class KernelError(TypeError):
    """A kernel cannot be compiled."""


def one_sentence(error: Exception) -> KernelError:
    """Numba's report of many lines as a sentence: where, which rule, and numba's own words."""
    text = _ANSI.sub("", str(error))
    places = [(each["file"], int(each["line"])) for each in _PLACE.finditer(text)]
    where, kernel = "", "a kernel"
    if places:
        file, line = places[0]
        kernel = _enclosing(file, line) or kernel
        where = f" ({Path(file).name}, line {line})"
    cause = _cause(text)
    rule = next((rule for found, rule in _RULES if re.search(found, text)), None)
    told = f"{kernel}{where} cannot be compiled: {cause}"
    return KernelError(f"{told}; {rule}" if rule else told)


def _cause(text: str) -> str:
    """The first line that says what is wrong, without numba's headings."""
    for line in text.splitlines():
        line = line.strip(" ->*")
        if line and not line.startswith(
            ("Failed in", "During:", "File", "No implementation", ">>>")
        ):
            return line.rstrip(".:")
    return "numba gives no reason"


def _enclosing(file: str, line: int) -> str | None:
    """The name of the function that a line of a file is in."""
    try:
        lines = Path(file).read_text().splitlines()[:line]
    except OSError:
        return None
    for text in reversed(lines):
        found = re.match(r"\s*def\s+(\w+)", text)
        if found:
            return found[1]
    return None
