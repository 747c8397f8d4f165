"""Which code makes the numbers: the versions that must agree for the same bits."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

import numba
import numpy as np

from greedyfirst.version import __version__


@cache
def software() -> dict[str, str]:
    """Versions of what computes; of this package its source too, since that may be edited."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode())
        digest.update(path.read_bytes())
    return {
        "greedyfirst": f"{__version__} (source {digest.hexdigest()[:12]})",
        "numpy": np.__version__,
        "numba": numba.__version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }
