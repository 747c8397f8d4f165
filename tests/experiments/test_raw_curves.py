"""Curves of single instances: what is in the file, and what is not held in memory."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from greedyfirst.experiments import EXPERIMENTS, raw_curves
from greedyfirst.version import __version__


def by_policy(frame, label):
    """(n_instances, n_points)"""
    rows = frame[frame.policy == label]
    return rows.regret.to_numpy().reshape(rows.instance.nunique(), -1)


def test_means_and_half_widths_of_the_file_are_the_figures(tmp_path):
    """By pandas, from the file alone."""
    experiment, path = EXPERIMENTS["fig2c"], tmp_path / "raw.parquet"
    result = experiment.run(n_instances=7, seed=3, raw=path)
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["policy", "instance", "t", "regret"]
    assert len(frame) == len(result.policies) * 7 * len(result.steps)
    groups = frame.groupby(["policy", "t"], observed=True).regret.agg(["mean", "std"])
    for place, label in enumerate(result.policies):
        assert groups.loc[label].index.tolist() == result.steps.tolist()
        np.testing.assert_allclose(groups.loc[label, "mean"], result.mean[place], rtol=1e-12)
        half_width = 2 * groups.loc[label, "std"] / np.sqrt(7)
        np.testing.assert_allclose(half_width, result.half_width[place], rtol=1e-9)
    metadata = pq.read_schema(path).metadata
    assert metadata[b"figure"] == b"fig2c"
    assert metadata[b"seed"] == b"3"
    assert metadata[b"version"] == __version__.encode()


def test_one_instance_is_the_same_in_a_run_of_many(tmp_path):
    few, many = tmp_path / "few.parquet", tmp_path / "many.parquet"
    EXPERIMENTS["fig3a"].run(n_instances=2, raw=few)
    EXPERIMENTS["fig3a"].run(n_instances=5, n_jobs=2, raw=many)
    frame = pd.read_parquet(many)
    assert sorted(frame.instance.unique()) == [0, 1, 2, 3, 4]
    first = frame[frame.instance < 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, pd.read_parquet(few))


def test_experiments_of_several_simulations(tmp_path):
    experiment, path = EXPERIMENTS["k5-dimension"], tmp_path / "raw.parquet"
    result = experiment.run(n_instances=2, raw=path)
    frame = pd.read_parquet(path)
    assert list(frame.policy.unique()) == list(experiment.policies)
    for place, label in enumerate(experiment.policies):
        np.testing.assert_allclose(by_policy(frame, label).mean(axis=0), result.mean[place])


def test_rows_are_written_in_groups_and_few_are_held(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_curves, "ROWS_HELD", 250)
    steps, curves = np.arange(1, 51), np.arange(100.0).reshape(2, 50)
    with raw_curves.raw_curves(tmp_path / "x.parquet", figure="f", seed=1) as file:
        for instance in range(10):
            file.add(["a", "b"], steps, instance, curves + instance)
            assert file._rows < 250
    parts = pq.ParquetFile(tmp_path / "x.parquet")
    sizes = [parts.metadata.row_group(g).num_rows for g in range(parts.num_row_groups)]
    assert sizes == [300, 300, 300, 100]
    frame = parts.read().to_pandas()
    expected = np.array([curves[1] + i for i in range(10)])
    np.testing.assert_array_equal(by_policy(frame, "b"), expected)


def test_nothing_is_left_of_a_run_that_fails(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"an older file")

    def break_off():
        with raw_curves.raw_curves(path, figure="f", seed=1) as file:
            file.add(["a"], np.arange(1, 3), 0, np.ones((1, 2)))
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        break_off()
    assert path.read_bytes() == b"an older file"
    assert list(tmp_path.iterdir()) == [path]
