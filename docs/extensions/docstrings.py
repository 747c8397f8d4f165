"""Numpydoc docstrings for autodoc, by Sphinx's own parser; comments of attributes as they stand.

Napoleon as it comes reads "What is measured: shares" in an attribute's comment as a type.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

SECTIONS = [
    ("Attributes", "params_style"),
    "Departure from the paper",
    "Departures from the paper",
    "Departures",
]
OPTIONS = Config(
    napoleon_use_rtype=False,
    napoleon_use_param=False,
    napoleon_attr_annotations=False,
    napoleon_custom_sections=SECTIONS,
)
#: What families of kernels have for the compiler's sake.
INSIDE = {"lasting", "__init__"}


def parse(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sections as reStructuredText, in place."""
    if what not in ("attribute", "data", "property"):
        lines[:] = NumpyDocstring(lines, OPTIONS, app, what, name, obj, options).lines()
    lines[:] = [_with_bars(line) for line in lines]


def _with_bars(line: str) -> str:
    """A line of text in which |x| is an absolute value, not the name of a substitution."""
    is_text = "\\" not in line and "``" not in line and not line.lstrip().startswith((">>>", "..."))
    return line.replace("|", "\\|") if is_text else line


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Whether a member is no part of the interface; None leaves it to autodoc."""
    return True if name in INSIDE else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("autodoc-process-docstring", parse)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
