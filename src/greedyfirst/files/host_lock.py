"""A lock that one process of a user on a host has at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from greedyfirst.files.user_cache import user_cache

try:
    import fcntl
except ImportError:  # not POSIX: no lock, so that work may be done twice, never wrongly
    fcntl = None  # type: ignore[assignment]


@contextmanager
def host_lock(name: str) -> Iterator[None]:
    """Wait until no other process has the lock of this name; without one where files cannot be."""
    try:
        place = user_cache() / "greedyfirst"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = open(place / f"{name}.lock", "w")  # noqa: SIM115
    except (OSError, RuntimeError):  # not writable, or a user without a home
        yield
        return
    with file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # ends when the file is closed
        yield
