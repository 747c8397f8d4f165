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


def test_batches_of_one_are_the_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """And batches of a tenth grow as they should; decisions of one batch hear of no rewards."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    staleness = importlib.import_module("staleness")
    experiment = staleness.prepared("fig2c", None)
    policies = staleness.policies_of(experiment)
    result = simulate(
        experiment.problem,
        policies,
        n_instances=1,
        horizon=experiment.horizon,
        seed=staleness.SEED,
        progress=False,
    )
    for place, policy in enumerate(policies.values()):
        lost, _ = staleness.play(experiment, policy, 0, staleness.FRESH)
        assert lost.sum() == pytest.approx(result.final[0, place], rel=1e-12)
    all_at_once = [
        staleness.play(experiment, policy, 0, staleness.Schedule(experiment.horizon))[0]
        for policy in policies.values()
    ]
    for lost in all_at_once[1:]:  # nothing is known: ties, broken by the same draws
        np.testing.assert_array_equal(lost, all_at_once[0])
    growing = staleness.Schedule(1, growing=True)
    assert [growing.size(n) for n in (0, 19, 20, 1000)] == [1, 1, 2, 100]
    warm = staleness.Schedule(100, warm=1000)
    assert [warm.size(n) for n in (0, 999, 1000)] == [1, 1, 100]
