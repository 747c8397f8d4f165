"""The benchmarks' own call of the compiled loop plays what ``simulate`` plays."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from greedyfirst import Greedy, simulate


def test_playing_is_simulating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    playing = importlib.import_module("playing")
    problem = importlib.import_module("figure2").clipped_gaussian_problem(3)

    loop = playing.Playing(Greedy(), 3)
    rng = np.random.default_rng(np.random.SeedSequence(playing.SEED, spawn_key=(0,)))
    loop.run([problem.draw(rng, playing.HORIZON)])

    settings = {"n_instances": 1, "horizon": playing.HORIZON, "seed": playing.SEED}
    result = simulate(problem, {"Greedy": Greedy()}, **settings, progress=False)
    assert loop.curve[-1] == result.final[0, 0]
