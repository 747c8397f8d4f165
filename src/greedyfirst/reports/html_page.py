"""One self-contained HTML file: headings, sentences, tables and pictures, no outside addresses."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from greedyfirst.files.pictures import save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.verdict { font-size: 1.15rem; border-left: .3rem solid #0b6e4f; padding: .2rem 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd; text-align: left; }
th:first-child, td:first-child { min-width: 11.5rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; }
footer { color: #666; font-size: .85rem; margin-top: 3rem; }
"""


class HtmlPage:
    """A page that is built from top to bottom."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts = [f"<h1>{escape(title)}</h1>"]

    def heading(self, text: str) -> None:
        """A section's heading."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """A sentence or more."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def verdict(self, text: str) -> None:
        """What a reader in a hurry must see."""
        self._parts.append(f'<p class="verdict">{escape(text)}</p>')

    def items(self, texts: Sequence[str]) -> None:
        """A list."""
        self._parts.append(f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>")

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table whose columns of numbers stand at the right, with their headings."""
        numbers = [_has_numbers(column) for column in zip(*rows, strict=True)]
        head = _row(headings, numbers, cell="th", scope=' scope="col"')
        body = "".join(_row(row, numbers, cell="td") for row in rows)
        self._parts.append(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")

    def picture(self, draw: Callable[[Axes], object], *, text: str) -> None:
        """A picture that ``draw`` makes, with a text for those who cannot see it."""
        content = BytesIO()
        save_picture(lambda figure: draw(figure.add_subplot()), content)
        self.image(content.getvalue(), text=text)

    def image(self, png: bytes, *, text: str) -> None:
        """A picture that is there already, with a text for those who cannot see it."""
        data = base64.b64encode(png).decode()
        self._parts.append(f'<img src="data:image/png;base64,{data}" alt="{escape(text)}">')

    def write(self, path: Path, *, footer: str) -> None:
        """Write the page."""
        path.write_text(
            "<!doctype html>\n"
            '<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head><body>\n"
            + "\n".join(self._parts)
            + f"\n<footer>{escape(footer)}</footer></body></html>\n",
            encoding="utf-8",
        )


def _row(texts: Sequence[str], numbers: Sequence[bool], *, cell: str, scope: str = "") -> str:
    cells = []
    for text, number in zip(texts, numbers, strict=True):
        mark = ' class="number"' if number else ""
        cells.append(f"<{cell}{scope}{mark}>{escape(text)}</{cell}>")
    return f"<tr>{''.join(cells)}</tr>"


def _has_numbers(column: Sequence[str]) -> bool:
    """Whether most of its cells are numbers; blank ones do not count."""
    filled = [text for text in column if text]
    return 2 * sum(map(_is_number, filled)) > len(filled)


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%"))
    except ValueError:
        return False
    return True
