"""Every script of the gallery runs, prints something and saves its picture."""

import runpy
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

from greedyfirst.policies import POLICIES

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def test_there_are_eight():
    assert len(SCRIPTS) >= 8
    index = (FOLDER / "index.md").read_text()
    for script in SCRIPTS:
        assert f"made/{script.stem}.png" in index
        assert f"\nmade/{script.stem}\n" in index


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    matplotlib.use("Agg")
    known = dict(POLICIES)
    try:
        runpy.run_path(str(script), run_name=f"gallery_{script.stem}")
    finally:
        plt.close("all")
        for name in set(POLICIES) - set(known):  # a script may define one
            del POLICIES[name]
    assert capsys.readouterr().out.strip()
    picture = tmp_path / f"{script.stem}.png"
    assert plt.imread(picture).std() > 0.05  # not one colour
