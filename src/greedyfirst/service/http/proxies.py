"""Proxies before the service: whom to believe about who the client is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

from greedyfirst.validation import wrong


class Proxies:
    """Addresses, or networks like ``10.0.0.0/8``, whose ``X-Forwarded-`` headers are believed."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._networks = []
        for address in addresses:
            try:
                self._networks.append(ip_network(address))
            except ValueError:
                raise wrong("proxy", address, "an address or a network like 10.0.0.0/8") from None
        self.trusts = lru_cache(10_000)(self._trusts)

    def _trusts(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def believe(self, scope: Any, headers: dict[bytes, bytes]) -> None:
        """Give a request the client and the scheme that a proxy tells of."""
        peer, port = scope.get("client") or ("", 0)
        if not self.trusts(peer):
            return
        scope["client"] = self._client(peer, headers), port
        if headers.get(b"x-forwarded-proto") in (b"http", b"https"):
            scope["scheme"] = headers[b"x-forwarded-proto"].decode()

    def _client(self, peer: str, headers: dict[bytes, bytes]) -> str:
        """The last in ``X-Forwarded-For`` that is no proxy itself.

        What stands before that, the client may have written.
        """
        for named in reversed(headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")):
            address = named.strip()
            try:
                ip_address(address)
            except ValueError:
                return peer
            if not self.trusts(address):
                return address
        return peer
