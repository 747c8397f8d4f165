"""Pictures as PNG files, without a display; names from outside shown as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (7.2, 4.6)  # inches, of one panel
NAME_LENGTH = 30  # characters that a legend has room for
#: What matplotlib says of writing that its font lacks: the user cannot change that.
MISSING_GLYPHS = r"Glyph \d+|Matplotlib currently does not support"


def save_picture(
    draw: Callable[[Figure], object],
    target: Path | IO[bytes],
    *,
    size: tuple[float, float] = SIZE,
) -> None:
    """Write what ``draw`` makes of an empty figure."""
    # Half a second to import, and only needed once there is something to draw.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=MISSING_GLYPHS)
        figure.savefig(target, dpi=150, format="png")


def shortened(name: str, length: int = NAME_LENGTH) -> str:
    """A name on one line; of a long one the beginning and the end, where names differ."""
    line = " ".join(name.split())
    if len(line) <= length:
        return line
    end = length // 3
    return f"{line[: length - end - 1].rstrip()}…{line[-end:].lstrip()}"


def add_legend(axes: Axes, handles: Sequence[Any], names: Sequence[str], **options: Any) -> None:
    """A legend in which each handle has its name, whatever characters that is made of."""
    # The names come second: among labels matplotlib leaves out those that begin with "_".
    legend = axes.legend(
        handles, ["name"] * len(names), framealpha=0.8, edgecolor="none", **options
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)  # $ is no formula
        text.set_text(shortened(name))
