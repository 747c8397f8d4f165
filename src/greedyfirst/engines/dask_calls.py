"""Calls on the workers of a Dask cluster; those of a worker that died are made again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import dask
from distributed import Client, Future

from greedyfirst.engines.dask_cluster import (
    LARGE_CONTENT,
    on_worker,
    one_sentence,
    wait_for_a_worker,
)
from greedyfirst.engines.sending import packed

Result = TypeVar("Result")
HINT = "nothing was changed; run it again"


class DaskCalls:
    """Where calls run that a client submits.

    Parameters
    ----------
    client
        Of the cluster.
    prepare
        Called once in each worker, before its first call.
    """

    def __init__(self, client: Client, prepare: Callable[[], object] | None) -> None:
        self._client, self._run = client, on_worker("run_call")
        self._prepare = None if prepare is None else packed(prepare)
        self._has_worker = False

    def submit(self, call: Callable[[], Result]) -> OnCluster[Result]:
        """Begin a call soon."""
        content = packed(call)
        with one_sentence(self._client, hint=HINT):
            if not self._has_worker:
                wait_for_a_worker(self._client)
                self._has_worker = True
            key = f"greedyfirst-{uuid.uuid4().hex}"
            with dask.config.set(LARGE_CONTENT):
                future = self._client.submit(self._run, self._prepare, content, key=key)
        return OnCluster(self._client, future)


class OnCluster(Generic[Result]):
    """A call that the scheduler knows of."""

    def __init__(self, client: Client, future: Future) -> None:
        self._client, self._future = client, future

    def result(self) -> Result:
        """What it returns, once it has."""
        with one_sentence(self._client, hint=HINT):
            result: Any = self._future.result()
        return result  # type: ignore[no-any-return]

    def cancel(self) -> None:
        """End it where it is not done yet."""
        if self._client.status == "running":
            self._future.cancel()
