"""What runs on a Dask worker: blocks of tasks that each thread prepares once, and single calls."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from typing import Any

from distributed import get_worker

from greedyfirst.engines.engine import Arrays, Work, stacked
from greedyfirst.engines.sending import Sent
from greedyfirst.engines.software import software
from greedyfirst.files.host_lock import host_lock

#: Tasks that a thread keeps ready: those of a few programs that take turns.
KEPT_READY = 4
_READY = threading.local()
_PREPARING = threading.Lock()
#: Hashes of what this process has called to prepare for calls.
_PREPARED: set[bytes] = set()


def run_block(key: str, packed: bytes, first: int, stop: int) -> Arrays:
    """The items ``first`` to ``stop`` - 1 of a task, which is known by its ``key``."""
    work = _ready(key, packed)
    return stacked([work(item) for item in range(first, stop)])


def run_call(prepare: bytes | None, packed: bytes) -> Any:
    """A call; what prepares for it is called first, once in a process."""
    if prepare is not None:
        _prepare(prepare)
    return _unpacked(packed)()


def _prepare(packed: bytes) -> None:
    key = hashlib.sha256(packed).digest()
    with _PREPARING:
        if key not in _PREPARED:
            with host_lock("preparing"):
                _unpacked(packed)()
            _PREPARED.add(key)


def _ready(key: str, packed: bytes) -> Work:
    """The task, prepared for this thread."""
    tasks: OrderedDict[str, Work] = _READY.__dict__.setdefault("tasks", OrderedDict())
    if key not in tasks:
        task = _unpacked(packed)
        # The first process of a host compiles; the others find the machine code on the disk.
        with _PREPARING, host_lock("preparing"):
            tasks[key] = task.prepare()
        if len(tasks) > KEPT_READY:
            tasks.popitem(last=False)
    tasks.move_to_end(key)
    return tasks[key]


def _unpacked(packed: bytes) -> Any:
    """A task or a call, if this worker would do it as the program itself."""
    sent: Sent = pickle.loads(packed)
    _check(sent)
    return pickle.loads(sent.work)


def _check(sent: Sent) -> None:
    """Refuse to make numbers that the program itself might not have made."""
    here = software()
    for name, version in sent.software.items():
        if here[name] != version:
            raise ValueError(
                f"the worker {get_worker().address} has {name} {here[name]}, this program has "
                f"{version}: results could differ; install the same versions and restart it"
            )
    for part in sent.imported:
        if not part.is_same_here():
            raise ValueError(
                f"the worker {get_worker().address} does not have the same "
                f"{part.module}.{part.name} as this program; give it the file and restart it"
            )
