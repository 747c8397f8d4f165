"""Figure 1: its curves, their order, and its files."""

import csv
import json

import numpy as np
import pytest

from greedyfirst.experiments import figure1
from greedyfirst.version import __version__


@pytest.fixture(scope="module")
def result():
    return figure1.compute(
        bound_sigmas=[1e-4, 1e-3, 3e-3, 1e-2],
        simulated_sigmas=[1e-2, 1.0],
        n_samples=20_000,
        n_contexts=200_000,
        n_runs=50,
        horizon=1100,
        seed=1,
    )


def test_example_1(result):
    values = result.curve("printed", 20).value
    assert values[1:3] == pytest.approx([0.9989, 0.611], abs=0.02)
    assert result.lead.lambda1 == pytest.approx(0.0255, abs=0.0008)


def test_curves_keep_their_order(result):
    for m in figure1.INITIAL_PULLS:
        printed, proved = result.curve("printed", m), result.curve("proved", m)
        assert np.all(proved.value <= printed.value + 1e-4)
        assert np.all(np.diff(printed.value) <= 1e-4)
        assert np.all(printed.half_width >= -1e-4)
        assert np.all(result.curve("mild", m).value >= result.curve("inside", m).value)
    by_pulls = [result.curve("printed", m).value for m in figure1.INITIAL_PULLS]
    assert np.all(np.diff(by_pulls, axis=0) >= -2e-4)
    for lambda0 in figure1.LAMBDA0:
        assert np.all(result.curve("printed", 20, lambda0).value <= by_pulls[2] + 2e-4)
        assert np.all(result.curve("stays greedy", 20, lambda0).value >= 0.9)
    with pytest.raises(KeyError):
        result.curve("printed", 3)


def test_files(result, tmp_path):
    paths = figure1.write(result, tmp_path)
    assert [path.name for path in paths] == ["fig1.csv", "fig1.png", "fig1.json"]
    with open(paths[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["policy", "t", "mean", "half_width"]
    assert len(rows) == sum(len(curve.sigma) for curve in result.curves)
    first = result.curves[0]
    assert rows[0]["policy"] == first.label
    assert float(rows[0]["mean"]) == first.value[0]
    assert paths[1].stat().st_size > 10_000
    facts = json.loads(paths[2].read_text())
    assert (facts["seed"], facts["version"], facts["settings"]["h"]) == (1, __version__, 0.3)
