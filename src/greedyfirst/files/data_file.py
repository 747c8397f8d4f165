"""Versioned files of plain data: a JSON header and arrays, sealed by a hash, never pickled.

The first line says what the file is, in which version, and the SHA-256 of the rest: an archive of
arrays as NumPy writes it. Nothing of a damaged or foreign file is looked into.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from greedyfirst.files.atomic_write import atomic_write

VERSION = 1
_HEADER = "header"
_LONGEST_LINE = 200


def pack(
    kind: str, header: dict[str, Any], arrays: dict[str, Any], *, compressed: bool = True
) -> bytes:
    """The contents of a file of this ``kind``."""
    text = json.dumps(header, allow_nan=False).encode()
    contents: dict[str, Any] = {_HEADER: np.frombuffer(text, np.uint8), **arrays}
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **contents)
    body = stream.getvalue()
    return _first_line(kind, VERSION, body) + body


def unpack(content: bytes, kind: str, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays that :func:`pack` was given; ``where`` begins errors."""
    line = content[: content.find(b"\n", 0, _LONGEST_LINE) + 1]
    body = content[len(line) :]
    words = line.decode("ascii", errors="replace").split()
    if words[:2] == ["greedyfirst", kind] and len(words) == 4 and words[2].isdigit():
        version = int(words[2])
        if line == _first_line(kind, version, body):
            if version != VERSION:
                raise ValueError(
                    f"{where} has format version {version}; this release reads version {VERSION}"
                )
            with np.load(io.BytesIO(body), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            return json.loads(bytes(arrays.pop(_HEADER))), arrays
    raise ValueError(f"{where} is not a greedyfirst {kind} file, or it is damaged")


def write(path: str | Path, kind: str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file at once, and to the disk."""
    content = pack(kind, header, arrays)
    with atomic_write(Path(path)) as temporary, open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a file that :func:`write` made with the same ``kind``."""
    return unpack(Path(path).read_bytes(), kind, str(path))


def _first_line(kind: str, version: int, body: bytes) -> bytes:
    return f"greedyfirst {kind} {version} {hashlib.sha256(body).hexdigest()}\n".encode()
