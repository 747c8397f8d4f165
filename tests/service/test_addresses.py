"""The address by which services reach each other: what is taken, and what is refused."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest

from greedyfirst.service import addresses
from greedyfirst.service.addresses import address_of, refuse_shared
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:abc",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://a b:1",
        "http://h:1?x",
        "http://h:1#y",
        "http://h:1/x",
        "http://boss:secret@h:1",
        "http://[::1",
        "http://[::g]:1",
        "http://a..b:1",
        "http://é:1",
        "http://:1",
        "http://",
        "ftp://h:1",
        "h:1",
        "",
        " http://h:1",
        "http://h:1\n",
    ],
)
def test_an_address_that_nobody_can_ask_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"address must be http://HOST:PORT .*--address.*, got "):
        address_of("a database", address, "127.0.0.1", 8000)


@pytest.mark.parametrize(
    "address", ["http://h:1", "https://ward-7.example.org", "http://[::1]:8000/", "http://10.0.0.2"]
)
def test_others_can_ask_at_an_address_that_is_taken(address: str) -> None:
    taken = address_of("a database", address, "0.0.0.0", 8000)
    assert taken == address.rstrip("/")
    assert httpx.URL(taken).host


def test_without_one_it_is_where_the_service_listens() -> None:
    assert address_of("a database", None, "::1", 8000) == "http://[::1]:8000"
    with pytest.raises(ValueError, match="address is needed"):
        address_of("a database", None, "0.0.0.0", 8000)
    with pytest.raises(ValueError, match="nobody else serves a file"):
        address_of(Path("x.db"), "http://h:1", "::1", 8000)


@pytest.mark.parametrize("policy", ["dose", ""])
def test_two_services_do_not_have_one_address(
    url: PostgresUrl, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "_LONGEST_WAIT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one, two = (f"http://127.0.0.1:{port}" for port in (listening.getsockname()[1], 1))
        log = PostgresLog(url, address=one)
        refuse_shared(url, one)  # it owns nothing yet
        assert log.leases.take(policy)
        with pytest.raises(ValueError, match=r"is that of another service .* --address of its own"):
            refuse_shared(url, one)
        refuse_shared(url, two)
    refuse_shared(url, one)  # it has died: its leases are still there, and nobody answers
    log.close()
