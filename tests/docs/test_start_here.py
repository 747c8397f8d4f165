"""The page "Start here", from its first line to its last, in one folder."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.service_process import service_process

PAGE = Path(__file__).parents[2] / "docs" / "start-here.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.M | re.S)


def test_the_page_works_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = None
    blocks = BLOCK.findall(PAGE.read_text())
    served = next(place for place, (_, text) in enumerate(blocks) if "greedyfirst serve" in text)
    for language, text in blocks[:served]:
        run(language, text, url)
    assert (tmp_path / "figures" / "patients-replay.html").exists()
    assert (tmp_path / "dosing.gf").exists()
    with service_process("--db", "trial.db") as url:
        for language, text in blocks[served + 1 :]:
            run(language, text, url)


def run(language, text, url):
    if language == "python":
        text = text.replace("http://127.0.0.1:8000", url) if url else text
        exec(compile(text, "start-here", "exec"), {"__name__": "start_here"})
        return
    for line in text.splitlines():
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
