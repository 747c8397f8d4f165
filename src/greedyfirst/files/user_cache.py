"""Where a user's cached files go."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """$XDG_CACHE_HOME, or the platform's own place."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return Path(named).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"
