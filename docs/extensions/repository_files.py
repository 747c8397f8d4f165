"""Links from pages to files of the repository that are no pages stay text in the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]


def as_text(app: Sphinx, document: nodes.document) -> None:
    """Links to source files become the text of the link: the site has no copy of them."""
    for node in list(document.findall(addnodes.download_reference)):
        node.replace_self(node.children)
    for node in list(document.findall(addnodes.pending_xref)):
        target = str(node.get("reftarget", "")).partition("#")[0]
        if node.get("reftype") == "myst" and target and (ROOT / target).is_file():
            node.replace_self(node.children)


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("doctree-read", as_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
