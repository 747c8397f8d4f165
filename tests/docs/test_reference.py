"""The pages that follow from the program are what the program says."""

import re
import runpy
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from litestar.testing import TestClient
from typer.main import get_command

from greedyfirst.cli import app
from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.application import make_application
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService

SCRIPT = Path(__file__).parents[2] / "docs" / "write_reference.py"
WRITER = runpy.run_path(str(SCRIPT))
PAGES = WRITER["pages"]()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_what_the_program_says(path):
    assert path.read_text() == PAGES[path], "run `make reference`"


def options(command):
    """All options of a command and of those below it."""
    for inner in getattr(command, "commands", {}).values():
        yield from options(inner)
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.name not in ("help", "version"):
            yield from parameter.opts


def test_every_option_is_on_the_page():
    text = next(text for path, text in PAGES.items() if path.name == "command-line.md")
    for option in options(get_command(app)):
        assert f"`{option}`" in text


def test_every_address_is_on_the_page():
    text = next(text for path, text in PAGES.items() if path.name == "http.md")
    for path, methods in WRITER["document"]()["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in text


def test_operations_have_short_names_and_one_tag():
    document = WRITER["document"]()
    operations = [each for path in document["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    assert {"decide", "reward", "resolve", "export"} <= set(names)
    assert max(map(len, names)) <= len("import_history")
    assert {tag for each in operations for tag in each["tags"]} == {
        "audit",
        "clock",
        "decisions",
        "evidence",
        "operations",
        "policies",
    }
    assert all(len(each["tags"]) == 1 for each in operations)


def test_the_examples_of_requests_work_one_after_the_other(tmp_path):
    text = next(text for path, text in PAGES.items() if path.name == "http.md")
    commands = re.findall(r"^(curl .*?)\n```$", text, re.M | re.S)
    access = Access(lambda: [AccessKey("admin", "admin", hashed("KEY"))])
    service = DecisionService(lambda: SqliteLog(tmp_path / "log.db"))
    app = make_application(service, access=access)
    answers = []
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for command in commands:
            _, _, method, url, *options = shlex.split(command.replace("\\\n", ""))
            given = list(zip(options[::2], options[1::2], strict=True))
            assert {option for option, _ in given} == {"-H", "-d"}
            headers = dict(value.split(": ") for option, value in given if option == "-H")
            (body,) = [value for option, value in given if option == "-d"]
            answer = client.request(method, urlsplit(url).path, headers=headers, content=body)
            assert answer.is_success, answer.text
            answers.append(answer.json())
    assert len(answers) == 4
    assert answers[1]["decision_id"] == "warfarin:1"
    assert answers[2]["outcome"] == "counted"
