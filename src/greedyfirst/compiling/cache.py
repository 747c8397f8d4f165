"""Where compiled code is kept on disk, and when it may be used again.

Numba's disk cache notices edits in the file of the cached function only; kernels call kernels of
other files. So each entry has a directory of its own, keyed by the source of every module that it
can reach: an edit to one of them starts an empty cache instead of running stale code, and an edit
elsewhere (the command line, the service, the docs) changes nothing. A policy of a user's own is
followed into the user's modules in the same way.

A directory is used only if the user owns it and nobody else may write there: compiled code is
loaded and run without a look at it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable
from functools import cache, lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from greedyfirst.compiling import native_numba
from greedyfirst.files.user_cache import user_cache

#: Compiled code that was not used for this long is removed.
KEPT_SECONDS = 30 * 24 * 3600
_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time()


def directory_for(modules: Iterable[str]) -> str | None:
    """Where to keep what is compiled from these modules; None if nowhere is safe.

    A module without a source file (typed in at a prompt) cannot be keyed: nothing is kept then.
    """
    key = source_key(frozenset(modules))
    home = kernel_home()
    if key is None or home is None:
        return None
    place = home / key
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        os.utime(place)
    except OSError:
        return None
    return str(place) if _is_ours(place) else None


@lru_cache(maxsize=256)
def source_key(modules: frozenset[str]) -> str | None:
    """A hash of the source of all modules that these can reach, themselves included.

    None if one has no file, or one that was changed while this process ran: what is in memory may
    then be older than the file.
    """
    found = reached(modules)
    if not set(modules) <= set(found):
        return None
    digest = hashlib.sha256(repr(sorted(native_numba.USED)).encode())
    for path in sorted({_source(module) for module in found.values()}, key=str):
        if path is None or _changed(path) > _STARTED:
            return None
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    digest.update(repr(_constants(found)).encode())
    return digest.hexdigest()[:20]


def _changed(path: Path) -> float:
    """When a file was last changed, or put in place of another: that may keep its older date."""
    found = path.stat()
    return max(found.st_mtime, found.st_ctime)


def _constants(modules: dict[str, ModuleType]) -> list[tuple[str, str, str]]:
    """Values that users' modules give to names: compiled code has them in it.

    They need not follow from the source, as in ``CAP = float(sys.argv[1])``.
    """
    return sorted(
        (name, key, _shown(value))
        for name, module in modules.items()
        if not _is_own(name)
        for key, value in vars(module).items()
        if isinstance(value, (int, float, str, tuple, np.generic, np.ndarray))
        and not key.startswith("__")
    )


def _shown(value: Any) -> str:
    """A value as text, long arrays too."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value)


def reached(modules: Iterable[str]) -> dict[str, ModuleType]:
    """These modules and those that their names refer to, by name.

    Followed are this package, the packages of these modules and what lies beside them; not the
    standard library and not other installed packages.
    """
    followed = {name.partition(".")[0] for name in modules} | {_PACKAGE}
    starts = [_source(sys.modules.get(name)) for name in modules if not _is_own(name)]
    homes = tuple(path.parent for path in starts if path is not None)
    waiting = list(modules)
    found: dict[str, ModuleType] = {}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in found or not isinstance(module, ModuleType):
            continue
        found[name] = module
        waiting += [each for each in _named_in(module) if _is_followed(each, followed, homes)]
    return found


def _is_own(name: str) -> bool:
    """Whether a module is this package's."""
    return name.partition(".")[0] == _PACKAGE


def _named_in(module: ModuleType) -> set[str]:
    """Modules that the module's own names come from."""
    found = set()
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType):
            found.add(value.__name__)
        else:
            origin = getattr(value, "__module__", None)
            if isinstance(origin, str):
                found.add(origin)
    return found


def _source(module: ModuleType | None) -> Path | None:
    path = getattr(module, "__file__", None)
    return Path(path) if path and Path(path).is_file() else None


def _is_followed(name: str, followed: set[str], homes: tuple[Path, ...]) -> bool:
    if name.partition(".")[0] in followed:
        return True
    if not homes:
        return False
    path = _source(sys.modules.get(name))
    if path is None or any(path.is_relative_to(place) for place in _installed()):
        return False
    return any(path.is_relative_to(home) for home in homes)


@cache
def _installed() -> tuple[Path, ...]:
    """Where the standard library and other packages are."""
    places = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({Path(places[name]) for name in names})


@cache
def kernel_home() -> Path | None:
    """The directory of all keys: in the user's cache, else in a temporary place, else None."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    own = partial(Path.absolute, Path(named, "greedyfirst")) if named else user_cache
    for find in (own, _temporary):
        try:
            place = find() / "kernels"
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # not writable, or a user without a home
            continue
        # Who may write to a directory around it could put another in its place.
        around = all(_is_safe(parent) for parent in place.resolve().parents)
        if _is_ours(place) and around and os.access(place, os.W_OK):
            _prune(place)
            return place
    return None


def _temporary() -> Path:
    """A place among other users' files: its name is known to all."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    place = Path(tempfile.gettempdir()) / f"greedyfirst-{user}"
    place.mkdir(mode=0o700, exist_ok=True)
    if not _is_ours(place):
        raise PermissionError(f"{place} is not only this user's")
    return place / "greedyfirst"


def _is_ours(place: Path) -> bool:
    """Whether the user owns a directory, and nobody else may write there."""
    found = place.lstat()
    own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and own and not _others_may_write(found)


def _is_safe(parent: Path) -> bool:
    """Whether nobody but the user and root can change what a directory's entries are."""
    found = parent.stat()
    if hasattr(os, "getuid") and found.st_uid not in (0, os.getuid()):
        return False
    return not _others_may_write(found) or bool(found.st_mode & stat.S_ISVTX)


def _others_may_write(found: os.stat_result) -> bool:
    return hasattr(os, "getuid") and bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _prune(home: Path) -> None:
    """Remove what nobody has used for a while."""
    oldest = time.time() - KEPT_SECONDS
    for place in home.iterdir():
        try:
            if place.is_dir() and place.stat().st_mtime < oldest:
                shutil.rmtree(place, ignore_errors=True)
        except OSError:  # another process was faster
            continue
