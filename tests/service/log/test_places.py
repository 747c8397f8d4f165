"""Where users say that a log is: what is taken, and that no sentence has a URL's password."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from greedyfirst.cli.application import main
from greedyfirst.service.log.places import place_of
from greedyfirst.service.log.postgres_database import PostgresUrl

SECRET = "s3cr3t"
URL = f"postgresql://boss:{SECRET}@127.0.0.1:1/none"


def said(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> str:
    """The sentence with which a command refuses."""
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://boss:a%2Fb%40c@h:5432/trial", "postgresql://boss@h:5432/trial"),
        ("PostgreSQL://boss:x@h/trial", "postgresql://boss@h/trial"),
        ("POSTGRES://h:1/trial", "postgresql://h:1/trial"),
        ("postgresql://boss:a:b@[::1]:5432/trial", "postgresql://boss@::1:5432/trial"),
        ("postgresql:///trial?host=/run/pg", "postgresql:///trial?host=/run/pg"),
    ],
)
def test_a_url_is_shown_without_its_password(text: str, shown: str) -> None:
    place = place_of(text)
    assert isinstance(place, PostgresUrl)
    assert str(place) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://boss:x/{SECRET}@h/none",
        f"postgresql://boss:1/{SECRET}@h/none",
        f"postgresql://boss:x@{SECRET}@h:1/none",
        f"postgresql://boss:{SECRET}/none",
        f"postgresql://boss%3A{SECRET}@h/none",
    ],
)
def test_a_password_is_not_taken_for_a_host_or_a_database(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be read; .* percent-encoded") as caught:
        place_of(text)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "text", [f"postgre://boss:{SECRET}@h/x", f"postgresql:/boss:{SECRET}@h/x", "sqlite:///x.db"]
)
def test_a_url_of_another_kind_is_no_file(text: str) -> None:
    with pytest.raises(ValueError, match="a URL of another kind; expected a file") as caught:
        place_of(text)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["log.db", "C:/log.db", "/a:/log.db", "a:b"])
def test_anything_else_is_a_file(text: str) -> None:
    assert place_of(text) == Path(text)


@pytest.mark.parametrize(
    "words",
    [
        ["restore", URL, "--db", "y.db"],
        ["restore", "x.db", "--db", URL],
        ["backup", URL, "x.db"],
        ["backup", "x.db", URL],
        ["log", "check", URL],
        ["log", "copy", URL, "x.db"],
        ["log", "copy", URL.replace("://", ":/"), "x.db"],
        ["log", "copy", "x.db", URL.replace("sql", "sq")],
        ["log", "copy", URL, "x.db", URL],
        ["keys", "list", URL],
        ["keys", "list", "--db", URL],
        ["keys", "add", "ward", "--db", URL.replace("//", "/")],
        ["serve", "--demo", "--port", "0", "--db", URL],
        ["serve", "--db", URL.replace("sql", "")],
    ],
)
def test_no_command_prints_a_password(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.db").touch()
    assert SECRET not in said(words, monkeypatch, capfd)


@pytest.mark.parametrize("words", [["log", "copy", "", "q.db"], ["log", "copy", "q.db", ""]])
def test_no_place_is_said_to_be_empty(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.db").touch()
    assert "the place of the log is empty; expected a file" in said(words, monkeypatch, capfd)
