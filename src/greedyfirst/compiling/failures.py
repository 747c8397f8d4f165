"""What breaks a rule of kernels, told in one sentence: kernel, line, rule."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba

#: What numba says of memory, in many ways, and the rule behind it.
_MEMORY = r"NRT required|requires NRT|Only accept returning of array"
_NO_MEMORY = "a kernel makes no array, list or text and returns none: take room from the state"
#: What else it says.
_RULES = (
    (r"Cannot determine Numba type|of type module|not supported|[Uu]nsupported|has no attribute",
     "a kernel may use numbers, arrays, records, math and other kernels only"),
    (r"Unknown attribute|Cannot resolve setattr|>>> get\(",
     "a record has only the fields that its class declares"),
    (r"Cannot unify|Type unification", "a name in a kernel keeps one type"),
    (r"is not defined|Untyped global name", "a kernel uses names of its own module only"),
)  # fmt: skip
#: Lines that say nothing of the cause.
_HEADINGS = (
    "Failed in", "During:", "File", "No implementation", "There are", "- Of which", "Overload",
    "Intrinsic", "With argument", "Rejected", "raised from", "No match", "- Resolution failure",
)  # fmt: skip
_PLACES = (
    re.compile(r"During: .* at (?P<file>\S.*) \((?P<line>\d+)\)$"),
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+):$'),
)
_CALLED = re.compile(r"During: resolving callee type: type\(CPUDispatcher\(<function (\S+) at")
_SPECIFIC = re.compile(r"specific error:\n\s*\w*Error: (?:Failed in.*\n\s*)*(.+)")
_NUMBA = Path(numba.__file__).resolve().parent
#: Numba's spelling of types and values, and a reader's.
_SPELLINGS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"Literal\[\w+\]\((.*?)\)", r"\1"),
    (r"\b([A-Za-z]\w*)_[0-9a-f]{10}\b", r"\1"),
    (r"Module\(<module '([\w.]+)'.*?>\)", r"module \1"),
    (r" for '(\w+)[.\d]*', defined at .*", r" for '\1'"),
    (r"\.+ Raised from None", ""),
)


class KernelError(TypeError):
    """A kernel cannot be compiled."""


class _Where(NamedTuple):
    """A kernel and a line in it, or the line that calls it."""

    kernel: str
    line: str


def one_sentence(error: Exception, entry: Callable[..., Any]) -> KernelError:
    """Numba's report of many lines as a sentence: where, which rule, and numba's own words.

    ``entry`` is what was to be compiled, with all the kernels that it calls.
    """
    text = str(error)
    for found, said in _SPELLINGS:
        text = re.sub(found, said, text)
    kernel, line = _where(text) or _Where(f"{entry.__name__}, or a kernel that it calls,", "")
    if re.search(_MEMORY, text):
        return KernelError(f"{kernel}{line} cannot be compiled: {_NO_MEMORY}")
    told = f"{kernel}{line} cannot be compiled: {_cause(text)}"
    rule = next((rule for found, rule in _RULES if re.search(found, text)), None)
    return KernelError(f"{told}; {rule}" if rule else told)


def _where(text: str) -> _Where | None:
    """The innermost place that is not numba's own.

    Errors before types are inferred have no place: the innermost is then that of the call.
    """
    callee = None
    for said in map(str.strip, text.splitlines()):
        called = _CALLED.match(said)
        if called and "Cannot bind" not in text:
            callee = callee or called[1].rpartition(".")[2]
        place = next(filter(None, (each.match(said) for each in _PLACES)), None)
        if place is None or Path(place["file"]).resolve().is_relative_to(_NUMBA):
            continue
        file, line = place["file"], int(place["line"])
        at = f"{Path(file).name}, line {line}"
        source = linecache.getline(file, line).strip()
        if callee:
            return _Where(callee, f" (called in {at}: {source})")
        return _Where(_enclosing(file, line) or "a kernel", f" ({at}: {source})")
    return None


def _cause(text: str) -> str:
    """The first line that says what is wrong, without numba's headings."""
    for line in map(str.strip, text.splitlines()):
        if line.startswith(">>>"):
            causes = (each[1] for each in _SPECIFIC.finditer(text))
            specific = (each.rstrip(".:") for each in causes if not each.startswith(_HEADINGS))
            return next(specific, f"nothing fits {line.lstrip('> ')}")
        if line and not line.startswith(_HEADINGS):
            return line.rstrip(".:")
    return "numba gives no reason"


def _enclosing(file: str, line: int) -> str | None:
    """The name of the innermost function that a line of a file is in."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    around = [
        (node.lineno, node.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around)[1] if around else None
