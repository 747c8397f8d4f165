"""Every snippet and command of the README and the docs is run."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.links import LINKS
from greedyfirst.policies import POLICIES
from greedyfirst.service.log.access_keys import AccessKey, add_key
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.sqlite_log import SqliteLog
from support.service_process import service_process

ROOT = Path(__file__).parents[1]
#: Run from top to bottom, in docs/test_pages_in_order.py.
IN_ORDER = (ROOT / "README.md", ROOT / "docs" / "start-here.md")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
PAGES = [page for page in PAGES if page.parent.name != "made"]  # those are made of scripts


def blocks(language):
    for page in PAGES:
        if page in IN_ORDER:
            continue
        found = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)
        for number, text in enumerate(found):
            yield pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")


def commands():
    for block in blocks("console"):
        for line in block.values[0].splitlines():
            yield pytest.param(line, id=f"{block.id}: {line}")


SERVICE = [block for block in blocks("python") if block.id.startswith("docs/service.md")]
ALONE = [block for block in blocks("python") if block not in SERVICE]


@pytest.mark.parametrize("snippet", ALONE)
def test_python_snippets_run(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    links = dict(LINKS)
    exec(compile(snippet, "snippet", "exec"), {"__name__": "snippet"})
    for name in set(LINKS) - set(links):  # a snippet may define one
        del LINKS[name]


def test_snippets_of_the_service_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "snippet"}
    with service_process("--db", "trial.db") as url:
        for block in SERVICE:
            snippet = block.values[0].replace("http://127.0.0.1:8000", url)
            exec(compile(snippet, block.id, "exec"), names)
        names["client"].close()
        greedyfirst("backup trial.db copy.db")
    for log in ("trial.db", "copy.db"):
        said = greedyfirst(f"log check {log}")
        assert "3 decisions recomputed, 0 differ from the log" in said
        assert "1 not recomputed: features that it follows from were erased" in said


def greedyfirst(line):
    """What a command prints."""
    words = [sys.executable, "-m", "greedyfirst", *shlex.split(line)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


SERVING = [p for p in commands() if p.values[0].startswith("greedyfirst serve")]
OWN = [p for p in commands() if p.values[0].startswith("greedyfirst") and p not in SERVING]
OTHERS = [p for p in commands() if p not in OWN and p not in SERVING]


@pytest.mark.parametrize("line", OWN)
def test_commands_run(line, tmp_path):
    (tmp_path / "arms.csv").write_text("1,0\n-0.5,0.866\n-0.5,-0.866\n")
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{int(a > b)}" for a, b in rng.normal(size=(200, 2))]
    SqliteLog(tmp_path / "trial.db").close()
    if "restore" in line:
        back_up(tmp_path / "trial.db", tmp_path / "copy.db")
    if "keys remove" in line or "keys rotate" in line:
        add_key(tmp_path / "trial.db", AccessKey("clinic", "decider", b"hash"))
    (tmp_path / "anchors.txt").write_text("")
    specification = {
        "name": "warfarin",
        "arms": ["low", "high"],
        "features": [{"kind": "numeric", "name": "age"}],
        "seed": 7,
    }
    (tmp_path / "trial.json").write_text(json.dumps(specification))
    (tmp_path / "secret.txt").write_text("a secret of the auditor")
    (tmp_path / "patients.csv").write_text("\n".join(["age,weight,dose", *rows]) + "\n")
    doses = rng.normal(size=(200, 2))
    logged = [f"{a:.3f},{'high' if b > 0 else 'low'},{a * b:.3f},0.5" for a, b in doses]
    (tmp_path / "log.csv").write_text("\n".join(["age,dose,outcome,p", *logged]) + "\n")
    words = [sys.executable, "-m", *shlex.split(line)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", SERVING)
def test_services_start_and_end_when_told_to(line, tmp_path):
    words = [sys.executable, "-u", "-m", *shlex.split(line), "--port", str(free_port())]
    (tmp_path / "secret.txt").write_text("a secret of the auditor")
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            for said in process.stdout:
                if "serves" in said:
                    break
            address = re.search(r"http://\S+", said).group()
            wait_until_ready(f"{address}/readyz")
        finally:
            process.terminate()
    assert process.returncode == 0


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_until_ready(address, seconds=120):
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.mark.parametrize("line", OTHERS)
def test_other_commands_are_make_targets_or_programs_that_exist(line):
    """Long ones are not run inside the suite: make says what it would do, programs explain."""
    words = shlex.split(line)
    if words[0] == "make":
        shown = subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, capture_output=True, text=True)
        assert shown.returncode == 0, shown.stderr
    else:
        assert words[0] == "python"
        environment = {**os.environ, "COLUMNS": "100"}
        done = subprocess.run(
            [sys.executable, words[1], "--help"], cwd=ROOT, capture_output=True, env=environment
        )
        assert done.returncode == 0, done.stderr


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_policy_and_its_options_are_documented():
    text = (ROOT / "docs" / "policies.md").read_text()
    for name, policy in POLICIES.items():
        if ":" in name:  # of another test
            continue
        row = re.search(rf"^\| `{name}` .*$", text, re.M)
        assert row, name
        for option in fields(policy):
            assert f"`{option.name}`" in row.group(), f"{name}.{option.name}"


def test_every_figure_is_documented():
    text = (ROOT / "docs" / "figures.md").read_text()
    for name in EXPERIMENTS:
        assert f"`{name}`" in text, name


def test_demo_reproduces_the_main_figure():
    shown = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True)
    assert "greedyfirst figure fig2c" in shown.stdout
