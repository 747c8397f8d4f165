"""Where a user's cached files go."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path


def user_cache() -> Path:
    """The package's directory in ``$XDG_CACHE_HOME``, or where the platform has caches.

    Raises
    ------
    RuntimeError
        If the user has no home.
    """
    return user_cache_path("greedyfirst", appauthor=False)
