"""The README and "Start here", each from its first line to its last, in one empty folder."""

import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.service_process import service_process

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.M | re.S)
MADE = {
    "README.md": ["patients.csv", "figures/patients-replay.html", "figures/fig2a.csv", "trial.db"],
    "docs/start-here.md": ["figures/patients-replay.html", "dosing.gf", "trial.db"],
}


@pytest.mark.parametrize("page", MADE)
def test_a_page_works_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ExitStack() as until_the_end:
        address = None
        for language, text in BLOCK.findall((ROOT / page).read_text()):
            if language == "python":
                snippet = text.replace("http://127.0.0.1:8000", address) if address else text
                exec(compile(snippet, page, "exec"), {"__name__": "snippet"})
                continue
            for line in text.splitlines():
                if line.startswith("greedyfirst serve"):
                    options = shlex.split(line)[2:]
                    address = until_the_end.enter_context(service_process(*options))
                else:
                    run(line)
    for name in MADE[page]:
        assert (tmp_path / name).exists(), name


def run(line):
    words = [sys.executable, "-m", *shlex.split(line)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{line}: {done.stderr}"
    assert done.stdout.strip()
