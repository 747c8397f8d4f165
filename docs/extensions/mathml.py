"""Formulas as MathML, which browsers set by themselves: no script, and nothing from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

# What docutils does not know, in words that it does.
_PLAIN = {
    r"\tfrac": r"\frac",
    r"\dots": r"\ldots",
    r"\lVert": r"\|",
    r"\rVert": r"\|",
}
# An accent with an index: docutils would set the index below, unless something empty carries it.
_ACCENT = re.compile(r"\\(?:hat|bar|tilde)\s*(?:\\[A-Za-z]+|[A-Za-z]|\{[^{}]*\})(?=[_^])")


def _tex(node: Any) -> str:
    text: str = _ACCENT.sub(r"\g<0>{}", node.astext())
    for name, plain in _PLAIN.items():
        text = text.replace(name, plain)
    return text


def inline(translator: Any, node: Any) -> None:
    """A formula in a line."""
    translator.body.append(tex2mathml(_tex(node), as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: Any) -> None:
    """A formula on lines of its own."""
    translator.body.append(f'<div class="formula">{tex2mathml(_tex(node), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
