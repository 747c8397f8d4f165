"""Work in a thread of its own, which nobody has to wait for at the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def beside(work: Callable[..., T], *values: Any) -> T:
    """What the work gives. Whoever leaves does not end it, and it ends with the process.

    ``asyncio.to_thread`` has threads that the end of the process waits for: a database that says
    nothing would keep it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        result, failure = None, None
        try:
            result = work(*values)
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(tell, result, failure)

    threading.Thread(target=run, name=getattr(work, "__name__", "beside"), daemon=True).start()
    return await done


async def at_most(seconds: float | None, work: Callable[..., Any], *values: Any) -> bool:
    """Do the work beside the loop, and wait for it so long, None: to its end; whether it ended."""
    doing = asyncio.ensure_future(beside(work, *values))
    ended, _ = await asyncio.wait({doing}, timeout=seconds)
    if ended:
        doing.result()
    else:
        doing.cancel()
    return bool(ended)
