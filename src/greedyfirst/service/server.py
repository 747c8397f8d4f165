"""Run the service: open the log, listen, stop in good order."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from signal import SIGINT, SIGTERM, raise_signal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server
from threadpoolctl import threadpool_limits

from greedyfirst.service.addresses import address_of, refuse_shared
from greedyfirst.service.connections import Connections, allowed, open_connections
from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.http.access import Access
from greedyfirst.service.http.application import LOOPBACK, PER_SECOND, make_application
from greedyfirst.service.http.proxies import Proxies
from greedyfirst.service.http.requests_in_flight import RequestsInFlight
from greedyfirst.service.http.sessions import sessions_of
from greedyfirst.service.log.access_keys import all_keys, ever_had_keys
from greedyfirst.service.log.anchors import AnchorFile
from greedyfirst.service.log.places import open_log, place_of, reading
from greedyfirst.service.service import DecisionService
from greedyfirst.service.state.timekeeping import LONGEST_PAUSE
from greedyfirst.validation import number, whole_number

if TYPE_CHECKING:  # they need what only PostgreSQL's extra installs
    from greedyfirst.service.http.peers import Peers
    from greedyfirst.service.log.postgres_database import PostgresUrl

#: Connections that may be open at a time; a connection's next request must begin, and its headers
#: end, within so many seconds.
MOST_CONNECTIONS, IDLE_SECONDS = 4096, 30
#: Seconds that requests under way have to end once the service is to stop.
_LONGEST_STOP = 6.0
#: Seconds that they have while other services cannot take the policies yet.
_LEAVING = 1.0
_log = logging.getLogger("greedyfirst.service")


def serve(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    names: tuple[str, ...] = (),
    per_second: float = PER_SECOND,
    longest_pause: float = LONGEST_PAUSE,
    connections: int = MOST_CONNECTIONS,
    proxies: tuple[str, ...] = (),
    access_log: bool = False,
    anchor: str | Path | None = None,
    anchor_key: str | Path | None = None,
    address: str | None = None,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve the log at ``path`` until SIGINT or SIGTERM.

    Parameters
    ----------
    path
        The log, made if it is not there: a file, or the URL of a PostgreSQL database, which several
        services may serve.
    host, port
        Where to listen. Other addresses than loopback need keys.
    names
        Names by which requests may call this service, beside the loopback's; they need keys.
    per_second
        Requests that a client may send in the long run.
    longest_pause
        Seconds: after a longer pause a person is asked before waits end by it.
    connections
        How many may be open at a time; when they are many, idle ones are closed.
    proxies
        Addresses or networks of proxies, whose word about clients is taken.
    access_log
        Whether the access log has decisions and rewards too, not only what is seldom or refused.
    anchor, anchor_key
        A file to note the log's head in, and one with the secret that signs it. A log that does not
        have every head in there is not served.
    address
        With PostgreSQL: the URL at which the other services reach this one, by default
        ``http://host:port``.
    ready
        Called when the log is open and the service is about to listen.
    """
    check_address(host, port)
    number("per_second", per_second, above=0)
    number("longest_pause", longest_pause, above=0)
    whole_number("connections", connections, at_least=16)
    believed = Proxies(proxies) if proxies else None
    place = place_of(path)
    address = address_of(place, address, host, port)
    anchors = None
    if anchor is not None:
        key = None if anchor_key is None else Path(anchor_key)
        anchors = AnchorFile.with_key_in(Path(anchor), key)
    elif anchor_key is not None:
        raise ValueError("anchor_key needs an anchor: the file whose lines it signs")
    if anchors is not None:
        _check_anchors(place, anchors)
    open_log(place).close()  # make it where it is not there
    refuse_shared(place, address)
    own = (host, urlsplit(address).hostname or host)
    reached_as = [*names, *(name for name in own if name not in LOOPBACK)]
    reached_as += [] if believed is None else ["a service behind a proxy"]
    sessions = sessions_of(place)
    had_keys = ever_had_keys(place)
    needed = bool(reached_as) or had_keys
    access = Access(lambda: all_keys(place), needed=needed, sessions=sessions)
    add_one = f"greedyfirst keys add NAME --role admin --db {place}"
    if not access.in_use and reached_as:
        raise ValueError(
            f"{reached_as[0]} can be reached from elsewhere, which needs keys: {add_one}"
        )
    if not access.in_use and (access.keys or had_keys):
        _log.warning("no key is in use, and nobody may do anything without one: %s", add_one)
    service = DecisionService(lambda: open_log(place, address=address), longest_pause=longest_pause)
    peers = None if isinstance(place, Path) else _peers(service, sessions.form_secret)
    app = make_application(
        service,
        access=access,
        keys_in=place,
        hosts=LOOPBACK.union(own, names),
        per_second=per_second,
        proxies=believed,
        access_log=access_log,
        connections=partial(open_connections, port),
        anchors=anchors,
        peers=peers,
    )
    # Requests make many objects that die with them: look for cycles less often than usual.
    gc.set_threshold(20_000, 20, 20)
    # The matrices here are small: threads of BLAS would only keep requests from the processors.
    with threadpool_limits(1, "blas"):
        uvloop.run(_run(service, app, host, port, connections, ready, peers))
    if peers is not None and peers.wrong_address is not None:
        raise ValueError(peers.wrong_address)


def _peers(service: DecisionService, secret: bytes) -> Peers:
    from greedyfirst.service.http.peers import Peers

    return Peers(service, secret)


def _check_anchors(place: Path | PostgresUrl, anchors: AnchorFile) -> None:
    """Refuse a log that lacks what was noted of it; it stays as it is."""
    if not anchors.path.exists():
        return
    if not isinstance(place, Path) or place.is_file():
        with reading(place) as log:
            anchors.check(log)
    elif anchors.read():
        raise DamagedLogError(
            f"{place} is not there, but {anchors.path} has entries of it; put the log back"
        )


def check_address(host: str, port: int) -> None:
    """Refuse an address that is in use: the server would share it, and answer every other call."""
    whole_number("port", port, at_least=1, at_most=65535)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except socket.gaierror:
            raise ValueError(f"host {host!r} is not known here; give an address") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ValueError(
                f"{host}:{port} cannot be used ({reason}); take another port"
            ) from None


async def _run(
    service: DecisionService,
    app: Any,
    host: str,
    port: int,
    connections: int,
    ready: Callable[[], None] | None,
    peers: Peers | None,
) -> None:
    looking: asyncio.Task[None] | None = None
    await service.start()  # before the server, so that what is wrong with the log is told
    try:
        if ready is not None:
            ready()
        if peers is not None:
            looking = asyncio.create_task(peers.find_itself(partial(raise_signal, SIGTERM)))
        await listen(app, host, port, connections, service.leave)
    finally:
        if looking is not None:
            looking.cancel()
        await service.stop()


def _give_up(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """End requests that take too long, as they are."""
    _log.warning(
        "some requests do not come to an end; ending without them", extra={"event": "cut_off"}
    )
    # What is cut off now, here and in the server, would only print tracebacks.
    logging.getLogger("_granian").setLevel(logging.CRITICAL)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    for task in list(tasks):
        task.cancel()


async def listen(
    app: Any,
    host: str,
    port: int,
    connections: int = MOST_CONNECTIONS,
    leave: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Serve an application until SIGINT or SIGTERM.

    Requests under way are met first, but not waited for longer than six seconds: a client may have
    sent half of one and then nothing more. ``leave`` is called before, after one second.
    """
    in_flight = RequestsInFlight(app)
    most = allowed(connections)
    server: Any = Server(
        in_flight,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        # Beside HTTP/1 the server would wait without end for the first byte of a connection.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * IDLE_SECONDS),
        websockets=False,
        backlog=most,
        backpressure=most,
        log_level=LogLevels.error,
    )
    loop = asyncio.get_running_loop()
    leaving: list[asyncio.Task[None]] = []
    serving = asyncio.ensure_future(server.serve())

    def stop() -> None:
        server.stop()
        if leave is not None:
            loop.call_later(_LEAVING, lambda: leaving.append(loop.create_task(leave())))
        loop.call_later(0.9 * _LONGEST_STOP, _give_up, in_flight.tasks)
        # Where only half of the headers have come there is no task: leave the server.
        loop.call_later(_LONGEST_STOP, serving.cancel)

    for ending in (SIGINT, SIGTERM):
        loop.add_signal_handler(ending, stop)
    with suppress(asyncio.CancelledError), Connections(port, most, in_flight.peers):
        await serving
