"""What is not copied, and why: one sentence each, and nothing is left where the copy would be."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from log_entries import entries
from stores import FileStore, Place, Store, has_log, write
from typer.testing import CliRunner

from greedyfirst.cli import app
from greedyfirst.service.log import postgres_database
from greedyfirst.service.log.access_keys import AccessKey, add_key, remove_key
from greedyfirst.service.log.copying import copy_log
from greedyfirst.service.log.entries import Entry
from greedyfirst.service.log.events import Expired
from greedyfirst.service.log.places import open_log, place_of, reading
from greedyfirst.service.log.postgres_database import PostgresUrl
from greedyfirst.service.log.table_reader import silently
from support.postgres_server import PASSWORD, PostgresServer


def refused(*words: Any) -> str:
    """The sentence with which a command ends."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(done.exception, ValueError | OSError), done.output
    said = " ".join(str(done.exception).split())
    assert PASSWORD not in said
    return said


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def sql(url: PostgresUrl, *statements: str) -> None:
    with psycopg.connect(url.conninfo) as connection:
        for statement in statements:
            connection.execute(statement)


# -------------------------------------------------------------------- the place of the copy


def test_a_log_is_not_copied_over_itself(store: Store) -> None:
    write(store)
    assert "is the log itself" in refused("log", "copy", store.place, store.place)
    with reading(store.place) as log:
        assert log.check() == 30


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_another_name_of_a_file_is_the_same_log(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    store = FileStore(tmp_path)
    write(store)
    link(store.place, tmp_path / "other.db")
    before = store.place.read_bytes()
    assert "is the log itself" in refused("log", "copy", store.place, tmp_path / "other.db")
    assert store.place.read_bytes() == before


def test_a_log_is_not_written_over(store: Store, target: Place) -> None:
    write(store)
    copy_log(store.place, target)
    said = refused("log", "copy", store.place, target)
    assert "already" in said
    assert "take another" in said
    if not isinstance(target, Path):
        assert "a log already, with 30 entries" in said
    with reading(target) as log:
        assert log.check() == 30


def test_a_log_of_keys_alone_is_not_written_over(store: Store, target: Place) -> None:
    write(store)
    open_log(target).close()
    add_key(target, AccessKey("boss", "admin", b"hash"))
    remove_key(target, "boss")
    said = refused("log", "copy", store.place, target)
    assert "already" in said
    assert "remove it" not in said


def test_how_to_remove_an_empty_log_is_said(store: Store, target: Place) -> None:
    write(store)
    open_log(target).close()
    said = refused("log", "copy", store.place, target)
    assert "without entries and keys" in said
    if isinstance(target, Path):
        assert said.endswith(f"rm {target}")
        target.unlink()
    else:
        assert said.endswith(f"psql '{target}' -c 'DROP SCHEMA greedyfirst CASCADE'")
        sql(target, "DROP SCHEMA greedyfirst CASCADE")
    assert copy_log(store.place, target).head.seq == 30


@pytest.mark.parametrize("left", ["file", "folder", "link", "-wal", "-journal", "no folder"])
def test_something_else_is_where_the_file_would_be(store: Store, tmp_path: Path, left: str) -> None:
    write(store)
    target = tmp_path / "copy.db"
    match left:
        case "file":
            target.write_text("of somebody else")
        case "folder":
            target.mkdir()
        case "link":
            target.symlink_to(tmp_path / "nowhere")
        case "no folder":
            target = tmp_path / "nowhere" / "copy.db"
        case ending:
            Path(f"{target}{ending}").write_bytes(b"left")
    before = names(tmp_path)
    said = refused("log", "copy", store.place, target)
    assert ("there is no folder" if left == "no folder" else "is there already") in said
    assert names(tmp_path) == before


def test_a_log_that_a_service_makes_meanwhile_stays(store: Store, tmp_path: Path) -> None:
    write(store)
    other = FileStore(tmp_path / "other")
    other.place.parent.mkdir()

    def begin(doing: str, total: int) -> Any:
        if doing == "checking":
            write(other, 7)
        return silently

    with pytest.raises(ValueError, match="is there already"):
        copy_log(store.place, other.place, begin=begin)
    with reading(other.place) as log:
        assert log.check() == 7


@pytest.mark.parametrize("tables", ["CREATE TABLE greedyfirst.meta (x int)", "SELECT 1"])
def test_a_schema_of_another_program_stays(
    store: Store, fresh_url: PostgresUrl, tables: str
) -> None:
    write(store)
    sql(fresh_url, "CREATE SCHEMA greedyfirst", tables)
    assert "of another program" in refused("log", "copy", store.place, fresh_url)


def test_a_log_of_a_newer_release_stays(store: Store, fresh_url: PostgresUrl) -> None:
    write(store)
    open_log(fresh_url).close()
    sql(fresh_url, "UPDATE greedyfirst.meta SET value = '99' WHERE name = 'version'")
    assert "a log of a newer release" in refused("log", "copy", store.place, fresh_url)


def test_a_server_that_may_lose_commits_gets_no_copy(
    store: Store, postgres: PostgresServer
) -> None:
    write(store)
    name = postgres.new_database()
    url = PostgresUrl.parse(postgres.url(name))
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        assert "is read-only" in refused("log", "copy", store.place, url)
        connection.execute(f"ALTER DATABASE {name} RESET ALL")
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        try:
            time.sleep(0.5)
            assert "fsync = off" in refused("log", "copy", store.place, url)
        finally:
            connection.execute("ALTER SYSTEM RESET fsync")
            connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.5)
    assert not has_log(url)
    latin = postgres.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    assert "UTF8" in refused("log", "copy", store.place, postgres.url(latin))


def test_a_server_that_is_not_reached_is_named(store: Store, postgres: PostgresServer) -> None:
    write(store)
    for url, reason in (
        (postgres.tcp_url("postgres", "wrong"), "password authentication failed"),
        (postgres.tcp_url("nowhere"), "does not exist"),
        ("postgresql://me@127.0.0.1:1/x", "onnection refused"),
    ):
        said = refused("log", "copy", store.place, url)
        assert said.startswith(f"{place_of(url)}: ")
        assert reason in said
        assert reason in refused("log", "copy", url, "copy.db")


def test_psycopg_is_named_where_it_is_missing(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    write(store)
    program = (
        "import sys; sys.modules['psycopg'] = None; from greedyfirst.cli import main; "
        f"sys.argv = ['greedyfirst', 'log', 'copy', {str(store.place)!r}, *sys.argv[1:]]; main()"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run([*words, "postgresql://me@x/y"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'greedyfirst[serve,postgres]'" in done.stderr
    between_files = [*words, str(tmp_path / "copy.db")]
    assert subprocess.run(between_files, capture_output=True).returncode == 0


# -------------------------------------------------------------------- the log


def test_no_log_is_no_source(tmp_path: Path, fresh_url: PostgresUrl) -> None:
    missing, other = tmp_path / "missing.db", tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for source, reason in (
        (missing, "there is no log"),
        (other, "of another program"),
        (fresh_url, "has no log"),
    ):
        assert reason in refused("log", "copy", source, tmp_path / "copy.db")
    assert names(tmp_path) == ["other.db"]


def test_an_older_format_is_to_be_brought_up_to_date_first(
    tmp_path: Path, fresh_url: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        psycopg.connect(fresh_url.conninfo, autocommit=True) as connection,
        monkeypatch.context() as old,
    ):
        old.setattr(postgres_database, "MIGRATIONS", postgres_database.MIGRATIONS[:2])
        connection.execute("SET search_path = greedyfirst")
        postgres_database.prepare(connection, fresh_url)
    said = refused("log", "copy", fresh_url, tmp_path / "copy.db")
    assert "start greedyfirst serve on it once" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE entries SET at = 0 WHERE seq = 7", "entry 7 of {place} was changed"),
        ("UPDATE entries SET step = 5 WHERE seq = 7", "entry 7 of {place} was changed"),
        ("DELETE FROM entries WHERE seq = 7", "{place} lacks entry 7"),
    ],
)
def test_a_damaged_log_makes_no_copy(store: Store, target: Place, change: str, said: str) -> None:
    write(store)
    store.unguard()
    store.change(change)
    assert said.format(place=store.place) in refused("log", "copy", store.place, target)
    assert not has_log(target)


def test_damaged_pages_make_no_copy(tmp_path: Path, target: Place) -> None:
    store = FileStore(tmp_path)
    write(store, 3000)
    with open(store.place, "r+b") as file:
        file.seek(store.place.stat().st_size // 2)
        file.write(bytes(5000))
    assert str(store.place) in refused("log", "copy", store.place, target)
    assert not has_log(target)


def test_a_log_whose_end_was_cut_off_makes_no_copy(
    postgres: PostgresServer, fresh_url: PostgresUrl, tmp_path: Path
) -> None:
    log = open_log(fresh_url)
    one = Entry.of(Expired(step=1, learned=None), seq=1, at=0, policy="", key=None)
    log.append([one, one._replace(seq=2)])
    log.close()
    sql(
        fresh_url,
        "DROP TRIGGER entries_stay ON greedyfirst.entries",
        "DELETE FROM greedyfirst.entries WHERE seq = 2",
    )
    assert "lost its last entries" in refused("log", "copy", fresh_url, tmp_path / "copy.db")
    assert "lost its last entries" in refused("log", "check", fresh_url)


@pytest.mark.parametrize("where", ["policy", "key"])
def test_what_postgresql_cannot_keep_stays_in_a_file(
    tmp_path: Path, fresh_url: PostgresUrl, where: str
) -> None:
    store = FileStore(tmp_path)
    log = store.open()
    log.append([*entries(1, 2), entries(3, 3)[0]._replace(**{where: "a\0b"})])
    log.close()
    said = refused("log", "copy", store.place, fresh_url)
    assert said.startswith("entry 3 has the character NUL in its ")
    assert not has_log(fresh_url)
    assert copy_log(store.place, tmp_path / "copy.db").head.seq == 3
