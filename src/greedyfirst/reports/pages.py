"""Pages from templates: each is one self-contained HTML file, without outside addresses."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from greedyfirst.files.pictures import save_picture
from greedyfirst.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_page(path: Path, template: str, **content: Any) -> None:
    """Write the page that a template makes of its ``content``."""
    text = environment.get_template(template).render(version=__version__, **content)
    path.write_text(text + "\n", encoding="utf-8")


def picture(draw: Callable[[Axes], object]) -> str:
    """A picture that ``draw`` makes, as the address of an image."""
    content = BytesIO()
    save_picture(lambda figure: draw(figure.add_subplot()), content)
    return image(content.getvalue())


def image(png: bytes) -> str:
    """A picture that is there already, as the address of an image: its bytes themselves."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def number_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """For each column, whether most of its cells are numbers; blank ones do not count."""
    return [_has_numbers(column) for column in zip(*rows, strict=True)]


def _has_numbers(column: Sequence[str]) -> bool:
    filled = [text for text in column if text]
    return 2 * sum(map(_is_number, filled)) > len(filled)


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%"))
    except ValueError:
        return False
    return True


environment = Environment(
    loader=PackageLoader("greedyfirst.reports"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
environment.filters |= {"number_columns": number_columns}
