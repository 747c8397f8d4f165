"""The files in deploy/: what they name exists, and the runbook is carried out (nightly)."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from litestar.testing import TestClient

from greedyfirst.cli import app
from greedyfirst.service.http.access import Access
from greedyfirst.service.http.application import make_application
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()


COMMAND: Any = typer.main.get_command(app)


def serve_options() -> set[str]:
    return {name for each in COMMAND.commands["serve"].params for name in each.opts}


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("metrics") / "log.db"
    service = DecisionService(lambda: SqliteLog(path))
    described = make_application(service, access=Access(list), connections=lambda: 1)
    with TestClient(described, base_url="http://127.0.0.1") as client:
        client.post("/v1/policies/nix/decisions", json={"context": {}})
        return client.get("/metrics").text


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"greedyfirst_\w+", expression))


def test_alerts_name_metrics_that_exist_and_steps_of_the_runbook(metrics: str) -> None:
    known = set(re.findall(r"^# TYPE (\w+) ", metrics, re.M))
    known |= {f"{name}{end}" for name in known for end in ("_bucket", "_count", "_sum")}
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    assert len(rules) >= 8
    for rule in rules:
        assert names_in(rule["expr"]) <= known, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
    paging = {rule["alert"] for rule in rules if rule["labels"]["severity"] == "page"}
    for alert in paging - {"GreedyfirstSlow"} | {"GreedyfirstClockJumped", "GreedyfirstArmStarves"}:
        assert f"`{alert}`" in RUNBOOK, alert


def test_a_route_that_an_alert_is_about_exists(metrics: str) -> None:
    routes = set(re.findall(r'route="([^"]+)"', (DEPLOY / "alerts.yml").read_text()))
    assert routes
    for route in routes:
        assert f'route="{route}"' in metrics


def test_every_metric_of_the_docs_exists(metrics: str) -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    section = text.partition("## Metrics")[2].partition("## Logs")[0]
    known = set(re.findall(r"^# TYPE (\w+) ", metrics, re.M))
    shown = set(re.findall(r"`(?:greedyfirst)?(_\w+)`", section))
    assert len(shown) > 12
    assert {f"greedyfirst{name}" for name in shown} <= known


def test_the_unit_runs_the_command_with_options_that_it_has() -> None:
    unit = (DEPLOY / "greedyfirst.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    words = shlex.split(line)
    assert words[0].endswith("/bin/greedyfirst")
    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= serve_options()
    for hardened in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=\n"):
        assert hardened in unit
    assert re.search(r"^User=(?!root)\w+$", unit, re.M)


def test_the_image_copies_files_that_exist_and_runs_the_command_as_nobody_special() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            for name in line.split()[1:-1]:
                assert (ROOT / name).exists(), name
    text = "\n".join(lines)
    assert "--constraint constraints.txt" in text
    (user,) = re.findall(r"^USER (\w+)$", text, re.M)
    assert f"useradd --system --uid 10001 --create-home --home-dir /data {user}" in text
    command: list[str] = yaml.safe_load(re.findall(r"^CMD (\[.*\])$", text, re.M)[0])
    assert command[0] == "serve"
    assert {word for word in command if word.startswith("--")} <= serve_options()
    (health,) = re.findall(r"^HEALTHCHECK .*? CMD (\[.*\])$", text, re.M)
    compile(yaml.safe_load(health)[2], "health check", "exec")


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    words += ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    subprocess.run(words, check=True, capture_output=True)
    site = (DEPLOY / "nginx.conf").read_text().replace("/etc/ssl/greedyfirst", str(tmp_path))
    (tmp_path / "site.conf").write_text(site.replace("listen 443", "listen 127.0.0.1:44443"))
    (tmp_path / "nginx.conf").write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ include {tmp_path}/site.conf; }}"
    )
    checked = subprocess.run(
        ["nginx", "-t", "-c", tmp_path / "nginx.conf", "-e", tmp_path / "errors"],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


def test_commands_of_the_runbook_exist() -> None:
    used = re.findall(r"(?:\$RUN|bin/greedyfirst) ((?:keys |log )?\w+)", RUNBOOK)
    assert len(used) > 8
    for words in used:
        found = COMMAND
        for word in words.split():
            found = found.commands[word]


@pytest.mark.nightly
def test_the_runbook_is_carried_out_from_nothing() -> None:
    done = subprocess.run(
        [sys.executable, DEPLOY / "runbook.py"], capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "== done" in done.stdout
    assert "refused, as it should be" in done.stdout


def test_the_compose_file_starts_two_services_that_reach_each_other() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
    commands = {name: each["command"] for name, each in services.items() if "command" in each}
    assert len(commands) == 2
    for name, words in commands.items():
        options = {word for word in words if word.startswith("--")}
        assert options <= serve_options()
        assert words[words.index("--address") + 1] == f"http://{name}:8000"
    assert len({words[words.index("--db") + 1] for words in commands.values()}) == 1
