"""A server that answers at once, whatever it is asked: its latency is the machine's own.

python benchmarks/idle_service.py PORT
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Answering(asyncio.Protocol):
    """Requests of `load.py` come one at a time and in one piece."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answering, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
