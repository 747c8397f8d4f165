"""References to a name where it is defined lead to the page that has it under its public name.

A docstring says ``greedyfirst.policies.greedy.Greedy``, users say ``greedyfirst.Greedy``. A
reference to a module or a name that no page has stays text: it is for readers of the source.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PACKAGE = "greedyfirst"


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """The public name with the same ending, or the text alone if the package keeps it inside."""
    target = str(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or not target.startswith(f"{PACKAGE}."):
        return None
    domain = env.domains.python_domain
    ending = target.rpartition(".")[2]
    found = [name for name in domain.objects if name.rpartition(".")[2] == ending]
    if len(found) == 1 and node["reftype"] != "mod":
        entry = domain.objects[found[0]]
        page = app.builder.get_relative_uri(node["refdoc"], entry.docname)
        return nodes.reference("", "", content, refuri=f"{page}#{entry.node_id}", internal=True)
    return content


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
