"""The walk of one decision through the service: few files, in one direction."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from served import CONTEXT, SPECIFICATION, at_once

import greedyfirst.service
from greedyfirst.service.http.middleware import Access, hashed
from greedyfirst.service.log.access_keys import AccessKey

SERVICE = Path(greedyfirst.service.__file__).parent
DECISIONS = "/v1/policies/dose/decisions"
#: Where the walk is written down.
TABLE = Path(__file__).parents[2] / "ARCHITECTURE.md"
MOST_FILES = 9
KEY = {"Authorization": "Bearer key of anna"}


class Walk:
    """The service's files whose functions ran for a request, in the order of their first frames."""

    def __init__(self) -> None:
        self.files: list[str] = []
        #: The task of the request; None while there is none to follow.
        self.task: asyncio.Task[Any] | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if self.task is None or event != "call" or code.co_name == "<module>":
            return
        # Other tasks look after the deployments and the keys meanwhile. Threads have no task.
        with suppress(RuntimeError):
            if asyncio.current_task() not in (self.task, None):
                return
        path = Path(code.co_filename)
        if path.is_relative_to(SERVICE):
            name = path.relative_to(SERVICE).as_posix()
            if name not in self.files:
                self.files.append(name)


@contextmanager
def profiled(profile: Callable[..., None]) -> Iterator[None]:
    """Calls in this thread, and in threads that begin meanwhile, are reported to ``profile``."""
    before = sys.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def walk(path: Path, **headers: str) -> list[str]:
    """The files of a decision, after a first one."""
    walked = Walk()

    async def decisions() -> None:
        keys = [AccessKey("anna", "admin", hashed("key of anna"))]
        async with at_once(path, access=Access(lambda: keys)) as (client, _):
            client.headers.update(KEY)
            created = await client.post("/v1/policies", json=SPECIFICATION)
            assert created.status_code == 201
            assert (await client.post(DECISIONS, json={"context": CONTEXT})).status_code == 201
            walked.task = asyncio.current_task()
            answer = await client.post(DECISIONS, json={"context": CONTEXT}, headers=headers)
            walked.task = None
            assert answer.status_code == 201

    with profiled(walked):
        asyncio.run(decisions())
    return walked.files


def test_a_decision_walks_through_the_files_of_the_table(path: Path) -> None:
    table = re.findall(r"^\| `([\w/]+\.py)` \|", TABLE.read_text(), re.MULTILINE)
    assert walk(path) == table
    assert len(table) <= MOST_FILES


def test_an_idempotency_key_leads_to_no_other_file(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert {*walk(other, **{"Idempotency-Key": "once"})} == {*walk(path)}
