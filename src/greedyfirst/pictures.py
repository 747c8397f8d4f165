"""Pictures as PNG files, without a display."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (7.2, 4.6)  # inches, of one panel


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
    figure.savefig(target, dpi=150, format="png")
