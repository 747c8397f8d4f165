"""The gallery: each script of docs/gallery is run, and becomes a page with what it shows.

A script begins with a docstring: a title, an empty line, and what the example is about. It prints
what is to be read and saves one picture under its own name. Pages and pictures go to
docs/gallery/made, which is not kept; a page is made again when its script has changed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

MADE = "made"


def make_pages(app: Sphinx) -> None:
    """Run what has changed, and write its page."""
    folder = Path(app.srcdir) / "gallery"
    (folder / MADE).mkdir(exist_ok=True)
    scripts = sorted(folder.glob("*.py"))
    for script in scripts:
        page = folder / MADE / f"{script.stem}.md"
        if not page.exists() or page.stat().st_mtime < script.stat().st_mtime:
            page.write_text(page_of(script))
    for page in (folder / MADE).glob("*.md"):
        if page.stem not in {script.stem for script in scripts}:
            page.unlink()


def page_of(script: Path) -> str:
    """The page of a script, once it has run."""
    folder = script.parent / MADE
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(script)]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        raise ExtensionError(f"{script} failed:\n{ran.stderr}")
    title, about, code = parts_of(script)
    return "\n".join(
        [
            f"# {title}",
            "",
            about,
            "",
            f"![{title}]({script.stem}.png)",
            "",
            "```python",
            code,
            "```",
            "",
            "It prints:",
            "",
            "```text",
            ran.stdout.rstrip(),
            "```",
            "",
        ]
    )


def parts_of(script: Path) -> tuple[str, str, str]:
    """A script's title, what it says about itself, and its code."""
    text = script.read_text()
    docstring = ast.get_docstring(ast.parse(text))
    if docstring is None:
        raise ExtensionError(f"{script} does not begin with a title and what it is about")
    title, _, about = docstring.partition("\n\n")
    code = text.split('"""', 2)[2].strip()
    return title.rstrip("."), about, code


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("builder-inited", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
