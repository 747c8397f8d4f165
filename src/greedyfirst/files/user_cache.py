"""Where a user's cached files go."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path


def user_cache() -> Path:
    """The package's directory among the user's caches, in ``$XDG_CACHE_HOME`` or the platform's own.

    Raises
    ------
    RuntimeError
        If the user has no home.
    """
    return user_cache_path("greedyfirst", appauthor=False)
