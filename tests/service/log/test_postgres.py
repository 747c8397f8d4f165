"""The log in PostgreSQL: its leases, its migrations, and what is wrong with a database."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from log_entries import entries

from greedyfirst.service.errors import DamagedLogError, LogFailedError, LostLeaseError
from greedyfirst.service.log import leases, postgres_database
from greedyfirst.service.log.places import place_of, reading
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.postgres_log import PostgresLog
from greedyfirst.service.log.postgres_sessions import form_secret
from support.postgres_server import PASSWORD, PostgresServer
from support.stopped_wire import StoppedWire


@pytest.fixture
def settable(postgres: PostgresServer) -> tuple[str, PostgresUrl]:
    """The name and URL of a database of its own, whose settings a test may change."""
    name = postgres.new_database()
    return name, PostgresUrl.parse(postgres.url(name))


def sql(url: PostgresUrl, *statements: str) -> None:
    with psycopg.connect(url.conninfo) as connection:
        for statement in statements:
            connection.execute(statement)


def opened(url: PostgresUrl, *policies: str) -> PostgresLog:
    log = PostgresLog(url)
    for policy in policies:
        assert log.leases.take(policy)
    return log


def stand_still(log: PostgresLog) -> None:
    """Have its leases renewed no more."""
    log.leases._ended.set()
    log.leases._thread.join()


def end_leases(url: PostgresUrl) -> None:
    sql(url, "UPDATE greedyfirst.leases SET until = clock_timestamp() - interval '1 second'")


# -------------------------------------------------------------------- order and leases


def test_numbers_are_in_the_order_of_commits_whoever_writes(url: PostgresUrl) -> None:
    logs = {policy: opened(url, policy) for policy in ("a", "b", "c")}

    def write(policy: str) -> None:
        for step in range(1, 41):
            one = [each._replace(policy=policy) for each in entries(step, step)]
            first = logs[policy].append(one)
            assert logs[policy].last()[0] >= first

    threads = [threading.Thread(target=write, args=(policy,)) for policy in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert logs["a"].check() == 120
    for policy, log in logs.items():
        assert [entry.step for entry in log.read(policy)] == [*range(1, 41)]
        log.close()


def test_only_the_owner_of_a_policy_writes_about_it(url: PostgresUrl) -> None:
    one, other = opened(url, "p"), opened(url)
    assert not other.leases.take("p")
    with pytest.raises(LostLeaseError, match="not this service's"):
        other.append(entries(1, 1))
    assert one.append(entries(1, 1)) == 1
    assert one.leases.owns("p")
    assert not other.leases.owns("p")
    other.leases.look()
    assert other.leases.owner("p") == one.leases.me
    one.close()
    assert other.leases.take("p")  # it was given back
    assert other.append(entries(2, 2)) == 2
    other.close()


def test_an_owner_whose_lease_was_taken_writes_nothing(url: PostgresUrl) -> None:
    old, new = opened(url, "p", "q"), opened(url)
    old.append(entries(1, 3))
    old.save_snapshot("p", 3, b"old")
    stand_still(old)
    end_leases(url)
    assert new.leases.take("p")
    assert new.leases.epochs == {"p": 2}
    before = new.head_at(3)
    both = [entries(4, 4)[0]._replace(policy="q"), entries(5, 5)[0]]
    for attempt in (
        lambda: old.append(entries(4, 4)),
        lambda: old.append(both),
        lambda: old.erase([(1, b"{}")], entries(4, 4)[0]),
        lambda: old.save_snapshot("p", 3, b"late"),
    ):
        with pytest.raises(LostLeaseError, match="has another owner now"):
            attempt()
    assert new.last() == (3, 3.0)
    assert new.head_at(3) == before
    assert new.snapshot("p") == (3, b"old")
    assert new.append(entries(4, 4)) == 4
    assert new.check() == 4
    with pytest.raises(LostLeaseError):
        old.leases.look()
    old.close()
    assert new.leases.owns("p")  # what the old owner gave back was not its own any more
    new.leases.look()
    new.close()


@pytest.mark.parametrize("first", ["append", "take"])
def test_an_append_is_in_the_log_before_the_lease_is_taken_or_not_at_all(
    url: PostgresUrl, first: str
) -> None:
    """Both wait for the log's head, one behind the other."""
    old, new = opened(url, "p"), opened(url)
    stand_still(old)
    end_leases(url)
    done: list[str] = []

    def append() -> None:
        try:
            old.append(entries(1, 1))
            done.append("append")
        except LostLeaseError:
            done.append("refused")

    def take() -> None:
        assert new.leases.take("p")
        done.append("take")

    both = [append, take] if first == "append" else [take, append]
    threads = [threading.Thread(target=each) for each in both]
    with psycopg.connect(url.conninfo) as holding:
        holding.execute("SELECT FROM greedyfirst.head FOR UPDATE")
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda number=number: waiting_for_locks(url) == number)
        assert not done
    for thread in threads:
        thread.join()
    assert sorted(done) == (["append", "take"] if first == "append" else ["refused", "take"])
    assert new.last()[0] == (first == "append")
    assert new.append(entries(2, 2)) == 1 + (first == "append")
    assert new.check() == new.last()[0]
    old.close()
    new.close()


def waiting_for_locks(url: PostgresUrl) -> int:
    with psycopg.connect(url.conninfo) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        ).fetchone()
    assert found is not None
    return int(found[0])


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


#: The end of what is sent for one statement, by which PostgreSQL knows that it is all.
_SYNC = 5


@pytest.mark.parametrize("lacking", [_SYNC, 1, 400, 0])
@pytest.mark.parametrize("write", ["append", "erase", "save_snapshot", "take"])
def test_an_owner_that_stands_still_in_a_write_keeps_nobody_waiting(
    postgres: PostgresServer, url: PostgresUrl, write: str, lacking: int
) -> None:
    """What it sends comes to a standstill that many bytes before its end, and so does it."""
    with StoppedWire(postgres.port) as wire:
        through = postgres.tcp_url("postgres").replace(f":{postgres.port}/", f":{wire.port}/")
        old, new = opened(PostgresUrl.parse(through), "p"), opened(url)
        old.append(entries(1, 3))
        stand_still(old)
        wire.stop_before_end = lacking
        calls: dict[str, Callable[[], object]] = {
            "append": lambda: old.append(entries(4, 4)),
            "erase": lambda: old.erase([(1, b"{}")], entries(4, 4)[0]._replace(key=None)),
            "save_snapshot": lambda: old.save_snapshot("p", 3, bytes(1000)),
            "take": lambda: old.leases.take("q"),
        }
        failed: list[Exception] = []

        def attempt() -> None:
            try:
                calls[write]()
            except LogFailedError as error:
                failed.append(error)

        thread = threading.Thread(target=attempt)
        thread.start()
        assert wire.stopped.wait(10)
        end_leases(url)
        began = time.monotonic()
        assert new.leases.take("p")
        new.leases.take("q")  # the old one may have it
        first = new.append(entries(5, 5))
        new.save_snapshot("p", first, b"new")
        assert time.monotonic() - began < 1.0
        assert new.check() == first if write != "erase" else first in (4, 5)
    thread.join()
    assert len(failed) == 1  # the wire was cut
    old.close()
    new.close()


def test_a_lease_is_not_waited_for_without_end(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LONGEST_QUESTION", 0.3)
    log = opened(url)
    with psycopg.connect(url.conninfo) as holding:
        holding.execute("SELECT FROM greedyfirst.head FOR UPDATE")
        began = time.monotonic()
        with pytest.raises(LogFailedError, match="statement timeout"):
            log.leases.take("p")
        assert time.monotonic() - began < 2.0
    assert log.leases.take("p")
    log.close()


def test_leases_are_renewed_and_an_owner_that_cannot_stops_by_itself(
    url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LENGTH", 1.5)
    monkeypatch.setattr(leases, "_EARLY", 0.5)
    monkeypatch.setattr(leases, "_RENEW_EVERY", 0.2)
    log, other = opened(url, "p"), opened(url)
    time.sleep(2)
    assert log.leases.owns("p")
    assert not other.leases.take("p")
    sql(url, "ALTER TABLE greedyfirst.leases RENAME TO hidden")
    time.sleep(0.6)
    assert not log.leases.owns("p")
    with pytest.raises(LogFailedError, match="leases"):
        log.check_place()
    sql(url, "ALTER TABLE greedyfirst.hidden RENAME TO leases")
    again = log.reopened()
    assert again.leases.take("p")
    assert again.leases.epochs == {"p": 2}
    again.close()
    other.close()


def test_what_belongs_to_no_policy_is_written_by_every_service(url: PostgresUrl) -> None:
    one, other = opened(url), opened(url)
    for number, log in enumerate((one, other), 1):
        entry = entries(number, number)[0]._replace(policy="", key=None)
        assert log.append([entry]) == number
    assert one.check() == 2
    one.close()
    other.close()


# -------------------------------------------------------------------- the same log again


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT])
def test_a_log_is_opened_again_after_the_server_went(
    postgres: PostgresServer, url: PostgresUrl, how: int
) -> None:
    log = opened(url, "p")
    log.append(entries(1, 3))
    postgres.end(how)
    with pytest.raises(LogFailedError):
        log.append(entries(4, 4))
    with pytest.raises(LogFailedError, match="connection"):
        log.check_place()
    with pytest.raises(LogFailedError):
        log.reopened()
    postgres.start()
    again = log.reopened()
    assert again.leases.take("p")
    assert again.last() == (3, 3.0)
    assert again.append(entries(4, 4)) == 4
    again.close()


@pytest.mark.parametrize("what", ["another", "older"])
def test_another_log_in_its_place_is_refused(url: PostgresUrl, what: str) -> None:
    log = opened(url, "p")
    log.append(entries(1, 3))
    if what == "another":
        sql(url, "UPDATE greedyfirst.meta SET value = 'x' WHERE name = 'identity'")
    else:
        sql(
            url,
            "DROP TRIGGER entries_stay ON greedyfirst.entries",
            "DELETE FROM greedyfirst.entries WHERE seq = 3",
            "UPDATE greedyfirst.head SET seq = 2, "
            "seal = (SELECT seal FROM greedyfirst.entries WHERE seq = 2)",
        )
    expected = "another log now" if what == "another" else "lacks entries that were acknowledged"
    with pytest.raises(LogFailedError, match=expected):
        log.reopened()


def test_the_check_misses_entries_that_are_gone_from_the_end(url: PostgresUrl) -> None:
    log = opened(url, "p")
    log.append(entries(1, 3))
    log.close()
    sql(
        url,
        "DROP TRIGGER entries_stay ON greedyfirst.entries",
        "DELETE FROM greedyfirst.entries WHERE seq = 3",
    )
    with pytest.raises(DamagedLogError, match="lost its last entries"), reading(url) as found:
        found.check()


# -------------------------------------------------------------------- migrations


@pytest.mark.parametrize("version", range(1, len(postgres_database.MIGRATIONS)))
def test_older_formats_are_brought_up_to_date(
    url: PostgresUrl, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(url.conninfo, autocommit=True) as connection, monkeypatch.context() as old:
        old.setattr(postgres_database, "MIGRATIONS", postgres_database.MIGRATIONS[:version])
        connection.execute("SET search_path = greedyfirst")
        postgres_database.prepare(connection, url)
    with pytest.raises(DamagedLogError, match=f"format version {version}"), reading(url):
        pass
    identity = "SELECT value FROM greedyfirst.meta WHERE name = 'identity'"
    with psycopg.connect(url.conninfo) as connection:
        before = connection.execute(identity).fetchone()
    log = opened(url, "p")
    log.append(entries(1, 3))
    assert (log.identity,) == before
    assert len(form_secret(url)) == 32
    assert log.check() == 3
    log.close()


def test_a_newer_format_is_refused_and_left_alone(url: PostgresUrl) -> None:
    PostgresLog(url).close()
    newer = len(postgres_database.MIGRATIONS) + 1
    sql(url, f"UPDATE greedyfirst.meta SET value = '{newer}' WHERE name = 'version'")
    for attempt in (lambda: PostgresLog(url), lambda: reading(url).__enter__()):
        with pytest.raises(DamagedLogError, match=f"format version {newer}"):
            attempt()
    sql(url, f"UPDATE greedyfirst.meta SET value = '{newer - 1}' WHERE name = 'version'")
    PostgresLog(url).close()


def test_services_that_start_at_once_make_the_tables_once(url: PostgresUrl) -> None:
    logs: list[PostgresLog] = []
    threads = [threading.Thread(target=lambda: logs.append(PostgresLog(url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({log.identity for log in logs}) == 1
    assert len(logs) == 4
    for log in logs:
        log.close()


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "tables",
    [
        ["CREATE TABLE greedyfirst.t (x int)"],
        ["CREATE TABLE greedyfirst.meta (x int)"],
        ["CREATE TABLE greedyfirst.meta (name text, value text)"],
    ],
)
def test_tables_of_another_program_are_refused(url: PostgresUrl, tables: list[str]) -> None:
    sql(url, "CREATE SCHEMA greedyfirst", *tables)
    for attempt in (lambda: PostgresLog(url), lambda: reading(url).__enter__()):
        with pytest.raises(DamagedLogError, match="of another program"):
            attempt()


def test_a_database_without_a_log_is_not_read(url: PostgresUrl) -> None:
    with pytest.raises(DamagedLogError, match="has no log"), reading(url):
        pass


def altered(url: PostgresUrl, statement: str) -> None:
    """Change a setting of the whole server, as an administrator does while services run."""
    with psycopg.connect(url.conninfo, autocommit=True) as connection:
        connection.execute(statement)
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)


@pytest.fixture
def server_settings(url: PostgresUrl) -> Iterator[None]:
    yield
    altered(url, "ALTER SYSTEM RESET ALL")


def shown(log: PostgresLog, setting: str) -> str:
    row = log._writer.execute(f"SHOW {setting}").fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.usefixtures("server_settings")
def test_what_a_commit_promises_does_not_follow_settings(
    url: PostgresUrl, settable: tuple[str, PostgresUrl]
) -> None:
    name, weak = settable
    sql(weak, f"ALTER DATABASE {name} SET synchronous_commit = off")
    sql(weak, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    for log, change in (
        (opened(weak, "p"), "ALTER SYSTEM SET synchronous_commit = off"),
        (opened(url, "p"), "ALTER SYSTEM SET default_transaction_isolation = 'serializable'"),
    ):
        altered(url, change)
        assert shown(log, "synchronous_commit") == "on"
        assert shown(log, "default_transaction_isolation") == "read committed"
        log.close()
    sql(weak, f"ALTER DATABASE {name} SET synchronous_commit = remote_apply")
    stronger = opened(weak)
    assert shown(stronger, "synchronous_commit") == "remote_apply"
    stronger.close()


@pytest.mark.usefixtures("server_settings")
def test_a_server_whose_commits_may_be_lost_is_refused_also_later(url: PostgresUrl) -> None:
    log = opened(url, "p")
    altered(url, "ALTER SYSTEM SET fsync = off")
    wait_until(lambda: log.leases.problem is not None)
    assert not log.leases.owns("p")
    with pytest.raises(LogFailedError, match="fsync = off"):
        log.check_place()
    with pytest.raises(DamagedLogError, match="fsync = off"):
        log.reopened()
    altered(url, "ALTER SYSTEM RESET fsync")
    log.reopened().close()


@pytest.mark.usefixtures("server_settings")
def test_people_are_warned_of_pages_that_may_be_torn(url: PostgresUrl) -> None:
    log = opened(url, "p")
    assert not log.leases.warnings
    altered(url, "ALTER SYSTEM SET full_page_writes = off")
    wait_until(lambda: bool(log.leases.warnings))
    assert "full_page_writes = off" in log.leases.warnings[0]
    log.append(entries(1, 1))  # a disk may write pages whole
    log.close()


def test_a_read_only_database_is_refused(settable: tuple[str, PostgresUrl]) -> None:
    name, url = settable
    PostgresLog(url).close()
    sql(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(DamagedLogError, match="read-only"):
        PostgresLog(url)
    with reading(url) as log:
        assert log.check() == 0


def test_another_encoding_is_refused(postgres: PostgresServer) -> None:
    name = postgres.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(DamagedLogError, match="UTF8"):
        PostgresLog(PostgresUrl.parse(postgres.url(name)))


def test_no_sentence_has_the_password(postgres: PostgresServer) -> None:
    secret = "wrong-and-secret"
    said = []
    for text in (
        postgres.tcp_url("postgres", secret),
        postgres.tcp_url("nowhere"),
        postgres.tcp_url("postgres", user="nobody-knows"),
        f"postgresql://me:{secret}@127.0.0.1:1/x",
        f"postgresql://me:{secret}@host.invalid/x",
    ):
        url = place_of(text)
        assert isinstance(url, PostgresUrl)
        with pytest.raises(LogFailedError) as caught:
            PostgresLog(url)
        said += [str(caught.value), str(url), repr(url), f"{url}"]
        assert str(caught.value).startswith(f"{url}: ")
    assert "it can be given by PGPASSWORD or ~/.pgpass" in said[0]
    for text in (f"postgresql://me:{secret}@[::", f"postgresql://me:{secret}@h/x?pass={secret}"):
        with pytest.raises(ValueError, match="expected postgresql") as wrong:
            place_of(text)
        said.append(str(wrong.value))
    word = PASSWORD.replace(" ", "%20")
    assert not [sentence for sentence in said if secret in sentence or word in sentence]
    assert not [sentence for sentence in said if PASSWORD in sentence]


def test_nothing_is_lost_on_a_full_disk(small_disk: Path, postgres: PostgresServer) -> None:
    server = PostgresServer(small_disk, "max_wal_size=32MB", "min_wal_size=32MB", "wal_recycle=off")
    try:
        url = PostgresUrl.parse(server.url(server.new_database()))
        log = opened(url, "p")
        log.append(entries(1, 3))
        filler = small_disk / "filler"
        free = shutil.disk_usage(small_disk).free
        filler.write_bytes(bytes(free // 4096 * 4096))
        assert shutil.disk_usage(small_disk).free < 10_000
        known, failure = 3, None
        while failure is None:
            try:
                log.append(entries(known + 1, known + 500))
                known += 500
            except LogFailedError as error:
                failure = str(error)
        filler.unlink()
        if server.process.poll() is not None:
            server.start()
        for _ in range(100):
            try:
                again = log.reopened()
                break
            except LogFailedError:
                time.sleep(0.2)
        assert again.last()[0] == known
        assert again.leases.take("p")
        assert again.append(entries(known + 1, known + 1)) == known + 1
        assert again.check() == known + 1
        again.close()
    finally:
        server.remove()
