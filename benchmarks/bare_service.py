"""The yardstick of `service.py`: a Litestar handler that only appends a row, durably.

python benchmarks/bare_service.py LOG FEATURES PORT

The same server, the same group commit and the same table as those of the decision service; rows and
answers are those of a decision, made beforehand.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Annotated

import msgspec
import uvloop
from litestar import Litestar, Response, post
from litestar.datastructures import State
from litestar.params import Parameter

from greedyfirst.service.log.events import Created, Decided
from greedyfirst.service.log.journal import Journal
from greedyfirst.service.log.places import open_log, place_of
from greedyfirst.service.server import listen
from greedyfirst.service.state import rewards
from greedyfirst.service.state.deployment import Deployment
from greedyfirst.service.state.specification import Specification
from load import POLICY, contexts, specification

Key = Annotated[str | None, Parameter(header="Idempotency-Key")]


@post("/v1/policies/{policy:str}/decisions")
async def append(state: State, policy: str, body: bytes, key: Key = None) -> Response[bytes]:
    """Append the row and answer."""
    journal: Journal = state.journal
    state.step += 1
    answer = msgspec.structs.replace(state.decided.answer, step=state.step)
    row = msgspec.structs.replace(state.decided, answer=answer)
    journal.add(row, at=time.time(), policy=policy, key=key)
    await journal.durable()
    return Response(state.answer, media_type="application/json")


def example(n_features: int) -> Decided:
    """A decision after a few rewards, so that its numbers are as long as usual."""
    created = Created(
        specification=msgspec.convert(specification(n_features), Specification), seed=1
    )
    made: list[Decided] = []
    deployment = Deployment.begin(created, lambda step: [made[step - 1]])
    for step, context in enumerate(islice(contexts(n_features, seed=1), 200), start=1):
        made.append(deployment.decide(context, None, time.time()))
        rewards.reward(deployment, step, "", 0.1 * step, time.time())
    return made[-1]


def main() -> None:
    path, n_features, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    decided = example(n_features)
    state = State({"decided": decided, "answer": msgspec.json.encode(decided.answer), "step": 0})

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        log = open_log(place_of(path))
        if log.leases is not None:
            log.leases.take(POLICY)
        app.state.journal = Journal(log)
        yield
        app.state.journal.close()
        log.close()

    app = Litestar([append], lifespan=[lifespan], state=state, openapi_config=None)
    uvloop.run(listen(app, "127.0.0.1", port))


if __name__ == "__main__":
    main()
