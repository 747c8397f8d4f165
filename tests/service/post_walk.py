"""Run with ``NUMBA_DISABLE_JIT=1``: the files that a decision walks through, printed as JSON.

Which files count is said in ``support/walks.py``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numba
import numpy as np
from served import at_once

from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.log.access_keys import AccessKey
from support.walks import note

DECISIONS = "/v1/policies/dose/decisions"
KEY = {"Authorization": "Bearer key of anna"}
NAMES = ("age", "weight")
SPECIFICATION = {
    "name": "dose",
    "arms": ["low", "high"],
    "features": [{"kind": "numeric", "name": name} for name in NAMES],
    "policy": {"policy": "Greedy"},
    "seed": 1,
}


class Walk:
    """The package's files whose functions ran for a request, in the order of their first frames."""

    def __init__(self) -> None:
        self.files: list[str] = []
        #: The task of the request; None while there is none to follow.
        self.task: asyncio.Task[Any] | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.task is None or event != "call" or frame.f_code.co_name == "<module>":
            return
        # Other tasks look after the deployments and the keys meanwhile. Threads have no task.
        with suppress(RuntimeError):
            if asyncio.current_task() not in (self.task, None):
                return
        note(frame, self.files)


@contextmanager
def profiled(profile: Callable[..., None]) -> Iterator[None]:
    """Calls in this thread, and in threads that begin meanwhile, are reported to ``profile``."""
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def walk(path: Path, **headers: str) -> list[str]:
    """The files of a decision, after some with their rewards."""
    walked = Walk()

    async def decisions() -> None:
        keys = [AccessKey("anna", "admin", hashed("key of anna"))]
        async with at_once(path, access=Access(lambda: keys)) as (client, _):
            client.headers.update(KEY)
            created = await client.post("/v1/policies", json=SPECIFICATION)
            assert created.status_code == 201
            draws = np.random.default_rng(0).normal(size=(60, len(NAMES))).tolist()
            contexts = [dict(zip(NAMES, row, strict=True)) for row in draws]
            for context in contexts:
                made = await client.post(DECISIONS, json={"context": context})
                assert made.status_code == 201
                reward = f"/v1/decisions/{made.json()['decision_id']}/reward"
                value = context["age"] if made.json()["arm"] == "low" else context["weight"]
                assert (await client.put(reward, json={"value": value})).status_code == 200
            walked.task = asyncio.current_task()
            answer = await client.post(DECISIONS, json={"context": context}, headers=headers)
            walked.task = None
            assert answer.status_code == 201

    with profiled(walked):
        asyncio.run(decisions())
    return walked.files


if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    with tempfile.TemporaryDirectory() as folder:
        plain = walk(Path(folder, "plain.db"))
        keyed = walk(Path(folder, "keyed.db"), **{"Idempotency-Key": "once"})
    print(json.dumps({"plain": plain, "keyed": keyed}))
