"""Versioned files of plain data: a JSON header and arrays, checked by a hash, never pickled."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

VERSION = 1
_HEADER = "header"


def write(path: str | Path, kind: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file at once: readers see the old one or the new one, never half of it."""
    target = Path(path)
    hashes = {name: _hash(np.asarray(array)) for name, array in arrays.items()}
    top = {"greedyfirst": kind, "version": VERSION, "hashes": hashes, "header": header}
    text = json.dumps(top, allow_nan=False).encode()
    stream = io.BytesIO()
    contents: dict[str, Any] = {_HEADER: np.frombuffer(text, np.uint8), **arrays}
    np.savez_compressed(stream, **contents)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(stream.getvalue())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that :func:`write` made with the same ``kind``."""
    foreign = f"{path} is not a greedyfirst {kind} file, or it is damaged"
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        top = json.loads(bytes(arrays.pop(_HEADER)))
        if top["greedyfirst"] != kind:
            raise ValueError(foreign)
        if top["version"] != VERSION:
            raise ValueError(
                f"{path} has format version {top['version']}; this release reads version {VERSION}"
            )
        if top["hashes"] != {name: _hash(array) for name, array in arrays.items()}:
            raise ValueError(foreign)
    except (zipfile.BadZipFile, KeyError, TypeError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(foreign) from error
    except (json.JSONDecodeError, OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        if str(error).startswith(str(path)):
            raise
        raise ValueError(foreign) from error
    return top["header"], arrays


def _hash(array: np.ndarray) -> str:
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
