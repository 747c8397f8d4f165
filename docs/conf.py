"""How Sphinx makes the documentation site of the Markdown beside this file: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from greedyfirst.version import __version__

project = "greedyfirst"
author = "the authors of greedyfirst"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "docstrings",
    "gallery",
    "mathml",
    "public_names",
    "repository_files",
]
exclude_patterns = ["extensions"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # parameters are described in words; annotations are for type checkers
html_theme = "furo"
html_title = f"greedyfirst {__version__}"
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": [], "footer_icons": []}
html_static_path = ["extensions/static"]
html_css_files = ["site.css"]
html_use_opensearch = ""
templates_path = ["extensions/templates"]
