"""The kept ridge inverse, against a fresh solution of the same rows."""

import numpy as np
import pytest

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import allocate
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import REFRESH_ROWS, RIDGE
from support.real_data import DATA, load_rows

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the shared data sets are not at {DATA}")


@entry
def observe_rows(model, rows, rewards):
    for n in range(rows.shape[0]):
        least_squares.observe(model, RIDGE, 0, rows[n], rewards[n])


def assert_follows_the_closed_form(rows, rewards, counts):
    """(G + p²I)⁻¹m with p = ‖X‖₂/n, by way of the singular values of X."""
    d = rows.shape[1]
    _, model = allocate(lambda memory: least_squares.init(memory, 1, d))
    seen = 0
    for n in counts:
        run(observe_rows, model, rows[seen:n], rewards[seen:n])
        seen = n
        assert model.rank[0] < d
        left, values, right = np.linalg.svd(rows[:n], full_matrices=False)
        penalty = (values[0] / n) ** 2
        want = right.T @ (values / (values**2 + penalty) * (left.T @ rewards[:n]))
        np.testing.assert_allclose(
            model.estimate[0], want, rtol=0, atol=1e-8 * np.linalg.norm(want), err_msg=f"{n} rows"
        )


@needs_data
@pytest.mark.parametrize("normalised", [False, True], ids=["raw", "normalised"])
@pytest.mark.parametrize("name", ["cardiotocography", "warfarin"])
def test_real_data_that_stay_singular(name, normalised):
    rows, rewards = load_rows(name, normalised=normalised)
    rows[:, 0] = 0.0
    d, n = rows.shape[1], len(rows)
    assert_follows_the_closed_form(rows, rewards, [1, 2, 10, d, d + 1, 5 * d, 1000, n])


def test_all_directions_alike_and_a_column_never_seen():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(3 * REFRESH_ROWS, 20))
    rows[:, 7] = 0.0
    rewards = rows @ rng.normal(size=20) + rng.normal(size=len(rows))
    counts = [1, 5, 30, 1000, REFRESH_ROWS, REFRESH_ROWS + 1, 3 * REFRESH_ROWS]
    assert_follows_the_closed_form(rows, rewards, counts)


def test_penalties_that_jump_and_moments_that_vanish():
    """A row much longer than the others raises λ_max, and rewards may cancel to m = 0."""
    rng = np.random.default_rng(6)
    rows = np.repeat(rng.normal(size=(100, 4)), 2, axis=0)
    rows[:, 3] = rows[:, 0]
    rows[100:102] *= 1e4
    rewards = np.tile([1.0, -1.0], 100)
    assert_follows_the_closed_form(rows, rewards, range(1, 201, 2))
    _, model = allocate(lambda memory: least_squares.init(memory, 1, 4))
    run(observe_rows, model, rows, rewards)
    assert np.abs(model.estimate[0]).max() < 1e-12
