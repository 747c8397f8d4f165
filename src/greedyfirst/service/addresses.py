"""The address at which other services on the same log reach this one."""

from __future__ import annotations

import re
import socket
import time
from contextlib import suppress
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from greedyfirst.validation import wrong

if TYPE_CHECKING:  # it needs what only PostgreSQL's extra installs
    from greedyfirst.service.log.postgres_database import PostgresUrl

_EVERYWHERE = ("0.0.0.0", "::")
#: Seconds: a lease of a service that died has ended then.
_LONGEST_WAIT, _PAUSE = 6.0, 0.25
_NAME = r"[a-z0-9_](?:[a-z0-9_\-]{0,61}[a-z0-9_])?"
_HOST = rf"{_NAME}(?:\.{_NAME})*\.?|\[[0-9a-f:.]+\]"
_ADDRESS = re.compile(rf"https?://(?:{_HOST})(?::[0-9]{{1,5}})?/?", re.IGNORECASE | re.ASCII)


def address_of(place: object, address: str | None, host: str, port: int) -> str:
    """The URL at which other services reach this one; refused where there are no others."""
    if address is None:
        if host in _EVERYWHERE and not isinstance(place, Path):
            raise ValueError(f"address is needed: other services do not reach this one at {host}")
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if isinstance(place, Path):
        raise ValueError("address is for a log in PostgreSQL: nobody else serves a file")
    if not can_be_asked(address):
        expected = "http://HOST:PORT with a port from 1 to 65535 and nothing else (serve --address)"
        raise wrong("address", address, expected)
    return address.rstrip("/")


def refuse_shared(place: Path | PostgresUrl, address: str) -> None:
    """Refuse an address that another service has, which would get this one's requests.

    One that died a moment ago, as this one may have, still has leases, but nobody answers there.
    """
    if isinstance(place, Path):
        return
    from greedyfirst.service.log.leases import owner_at

    end = time.monotonic() + _LONGEST_WAIT
    while (policy := owner_at(place, address)) is not None and _is_heard(address):
        if time.monotonic() > end:
            owns = f", which owns policy {policy}" if policy else ""
            raise ValueError(
                f"address {address} is that of another service on this log{owns}; "
                "give each service an --address of its own"
            )
        time.sleep(_PAUSE)


def _is_heard(address: str) -> bool:
    """Whether anybody listens there."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((str(parts.hostname), port), timeout=_PAUSE).close()
    except OSError:
        return False
    return True


def can_be_asked(address: str) -> bool:
    """Whether requests can be sent to it."""
    if not _ADDRESS.fullmatch(address):
        return False
    with suppress(ValueError):
        parts = urlsplit(address)
        if ":" in str(parts.hostname):
            IPv6Address(parts.hostname)
        return parts.port is None or parts.port > 0
    return False
