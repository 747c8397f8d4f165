"""Services prove to each other that they are on one log; a stranger gets and decides nothing."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import psycopg
import pytest
from load_balancer import Service
from served import CONTEXT

from greedyfirst.service.http import peers
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.application import make_application
from greedyfirst.service.http.peer_connections import Proof, StrangerError, who_is_at
from greedyfirst.service.http.peers import Peers
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.service import DecisionService
from support.postgres_server import PostgresServer

SECRET = b"of the log"
KEY, COOKIES = "gf_of-the-boss", "greedyfirst_session=abc; of-another-program=private"
_FALSE = b'{"decision_id":"dose:1","arm":"poison"}'


class WebServer:
    """A web server that takes whatever comes; with a secret it proves to be on the log."""

    def __init__(self, secret: bytes | None = None) -> None:
        self.received: list[tuple[str, str, dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body, named = (
                    self.rfile.read(length),
                    {k.lower(): v for k, v in self.headers.items()},
                )
                server.received.append((self.command, self.path, named, body))
                said, status = _FALSE, 201
                if self.path == "/peer" and secret is not None:
                    said = (Proof(secret).answer(named["greedyfirst-peer"], "ab12") or "").encode()
                    status = 200
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.send_header("Set-Cookie", "greedyfirst_session=of-somebody-else")
                self.send_header("Access-Control-Allow-Origin", "*")
                self.send_header("Location", "//evil.example/")
                self.send_header("X-Log-Head", "7:ab")
                self.end_headers()
                self.wfile.write(said)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def web_server(secret: bytes | None = None) -> Iterator[WebServer]:
    server = WebServer(secret)
    yield server
    server.close()


async def decided(url: PostgresUrl, owner: str) -> httpx.Response:
    """The answer to a decision about a policy whose owner is at that address."""
    PostgresLog(url).close()
    with psycopg.connect(url.conninfo) as connection:
        connection.execute(
            "INSERT INTO greedyfirst.leases VALUES "
            "('dose', 'ab12', %s, 1, clock_timestamp() + interval '1 minute')",
            (owner,),
        )
    service = DecisionService(lambda: PostgresLog(url, address="http://127.0.0.1:1"))
    keys = [AccessKey("boss", "admin", hashed(KEY))]
    app = make_application(service, access=Access(lambda: keys), peers=Peers(service, SECRET))
    async with (
        app.lifespan(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1"
        ) as client,
    ):
        return await client.post(
            "/v1/policies/dose/decisions",
            json={"context": CONTEXT},
            headers={"Authorization": f"Bearer {KEY}", "Cookie": COOKIES, "X-Trace": "private"},
        )


def test_a_web_server_at_an_owners_address_gets_no_key_and_no_context(url: PostgresUrl) -> None:
    with web_server() as stranger:
        refused = asyncio.run(decided(url, stranger.address))
    assert refused.status_code == 503
    assert "nothing was sent" in refused.json()["detail"]
    assert refused.headers.get("set-cookie") is None
    assert {path for _, path, _, _ in stranger.received} == {"/peer"}
    for _, _, headers, body in stranger.received:
        assert not {"authorization", "cookie", "x-forwarded-for"} & headers.keys()
        assert body == b""
        assert KEY not in str(headers)


def test_of_what_an_owner_answers_only_what_is_known_is_taken(url: PostgresUrl) -> None:
    with web_server(SECRET) as owner:
        answer = asyncio.run(decided(url, owner.address))
    assert answer.status_code == 201
    assert answer.content == _FALSE
    assert not {"set-cookie", "access-control-allow-origin", "location", "server"} & {
        name.lower() for name in answer.headers
    }
    assert answer.headers.get_list("x-log-head") == ["7:ab"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    (_, path, headers, body) = owner.received[-1]
    assert path == "/v1/policies/dose/decisions"
    assert b"age" in body
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["cookie"] == "greedyfirst_session=abc"
    assert "x-trace" not in headers
    assert [asked for _, asked, _, _ in owner.received] == ["/peer", path]


def test_a_proof_is_good_for_one_question_one_service_and_one_log() -> None:
    ours, other = Proof(SECRET), Proof(b"of another log")
    number = "ab" * 16
    answer = ours.answer(ours.question(number), "ab12")
    assert answer is not None

    def heard(proof: Proof, number: str, said: str) -> str | None:
        return proof.service(number, f"HTTP/1.1 200 OK\r\nX: y\r\n\r\n{said}".encode())

    assert heard(ours, number, answer) == "ab12"
    assert heard(ours, "cd" * 16, answer) is None
    assert heard(other, number, answer) is None
    assert heard(ours, number, answer.replace("ab12", "ab13")) is None
    assert heard(ours, number, "") is None
    assert other.answer(ours.question(number), "ab12") is None
    for question in ("", number, f"{number} {'0' * 64}", "x" * 97, ours.question("no number")):
        assert ours.answer(question, "ab12") is None


def test_whoever_is_no_service_on_the_log_is_told_nothing(url: PostgresUrl) -> None:
    async def run() -> None:
        with web_server() as stranger, web_server(SECRET) as other:
            with pytest.raises(StrangerError):
                await who_is_at(stranger.address, Proof(SECRET))
            assert await who_is_at(other.address, Proof(SECRET)) == "ab12"
            with pytest.raises(StrangerError):
                await who_is_at(other.address, Proof(b"of another log"))
        with pytest.raises(httpx.ConnectError, match="failed"):
            await who_is_at(other.address, Proof(SECRET))

    asyncio.run(run())


def test_a_service_ends_whose_address_is_somebody_elses(postgres: PostgresServer) -> None:
    postgres.emptied()
    with web_server() as stranger:
        service = Service(postgres.tcp_url("postgres"), "--address", stranger.address)
        service.process.wait(60)
        assert service.end() == 2
    said = " ".join(service.said.split())
    assert re.search(f"address {stranger.address} is not this service", said), said
    assert not [each for each in stranger.received if each[1] != "/peer"]


def test_people_are_warned_of_an_address_at_which_nobody_is(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_LOOK_EVERY", 0.01)

    async def run() -> None:
        service = DecisionService(lambda: PostgresLog(url, address="http://127.0.0.1:1"))
        await service.start()
        mine = Peers(service, SECRET)
        assert not mine.warnings()
        looking = asyncio.create_task(mine.find_itself(lambda: None))
        while not mine.warnings():
            await asyncio.sleep(0.01)
        assert "does not reach itself" in mine.warnings()[0]
        assert not looking.done()
        looking.cancel()
        assert mine.wrong_address is None
        await mine.close()
        await service.stop()

    asyncio.run(asyncio.wait_for(run(), 30))
