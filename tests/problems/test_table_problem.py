"""Problems made of the user's own arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from greedyfirst.problems import TableProblem

FALSE_ALARM = 1e-5
CONTEXTS = np.arange(12.0).reshape(6, 2)
REWARDS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_rows_come_in_order_and_regrets_are_wrong_decisions():
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS)
    assert (problem.n_arms, problem.n_features, problem.n_rows) == (3, 2, 6)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    draw = problem.draw(rng, 4)
    assert rng.bit_generator.state == before
    assert np.array_equal(draw.contexts, CONTEXTS[:4])
    assert np.array_equal(draw.rewards, REWARDS[:4])
    assert np.array_equal(draw.regrets, 1 - REWARDS[:4])


def test_expected_rewards_decide_the_regrets():
    expected = np.array([[0.2, 0.5, 0.1]] * 6)
    draw = TableProblem(contexts=CONTEXTS, rewards=REWARDS, expected=expected).draw(
        np.random.default_rng(0), 6
    )
    assert np.array_equal(draw.rewards, REWARDS)
    np.testing.assert_allclose(draw.regrets, [[0.3, 0.0, 0.4]] * 6)


@settings(max_examples=30, deadline=None)
@given(horizon=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_shuffling_permutes_whole_rows_by_the_seed(horizon, seed):
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS, shuffle=True)
    draw = problem.draw(np.random.default_rng(seed), horizon)
    taken = (draw.contexts[:, 0] / 2).astype(int)
    assert len(set(taken)) == horizon
    assert np.array_equal(draw.contexts, CONTEXTS[taken])
    assert np.array_equal(draw.rewards, REWARDS[taken])
    assert np.array_equal(draw.regrets, 1 - REWARDS[taken])
    again = problem.draw(np.random.default_rng(seed), horizon)
    for one, other in zip(draw, again, strict=True):
        assert one.dtype == np.float64
        assert one.flags.c_contiguous
        assert np.array_equal(one, other)


def test_shuffling_puts_every_row_first_equally_often():
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS, shuffle=True)
    rng = np.random.default_rng(80)
    firsts = [int(problem.draw(rng, 1).contexts[0, 0]) for _ in range(6_000)]
    _, counts = np.unique(firsts, return_counts=True)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_resampling_takes_every_row_equally_often_and_more_rows_than_there_are():
    """χ² over 6 rows in 6000 steps, and pairs of neighbours over 36; false alarms 2e-5 together."""
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS, resample=True)
    draw = problem.draw(np.random.default_rng(3), 6000)
    assert draw.contexts.shape == (6000, 2)
    rows = (draw.contexts[:, 0] / 2).astype(int)
    np.testing.assert_array_equal(draw.contexts, CONTEXTS[rows])
    np.testing.assert_array_equal(draw.rewards, REWARDS[rows])
    np.testing.assert_array_equal(draw.regrets, 1 - REWARDS[rows])
    assert stats.chisquare(np.bincount(rows, minlength=6)).pvalue > FALSE_ALARM
    pairs = np.bincount(6 * rows[:-1:2] + rows[1::2], minlength=36)
    assert stats.chisquare(pairs).pvalue > FALSE_ALARM
    np.testing.assert_array_equal(problem.order(np.random.default_rng(3), 6000), rows)
    again = problem.draw(np.random.default_rng(3), 6000)
    np.testing.assert_array_equal(again.contexts, draw.contexts)


def test_rows_are_shuffled_or_resampled():
    with pytest.raises(ValueError, match="resample must be False where rows are shuffled"):
        TableProblem(contexts=CONTEXTS, rewards=REWARDS, shuffle=True, resample=True)
    with pytest.raises(ValueError, match="resample must be"):
        TableProblem(contexts=CONTEXTS, rewards=REWARDS, resample="yes")


def test_a_draw_can_be_written_without_touching_the_table():
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS)
    for part in problem.draw(np.random.default_rng(0), 6):
        part[:] = -1.0
    assert np.array_equal(problem.draw(np.random.default_rng(0), 6).contexts, CONTEXTS)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"contexts": CONTEXTS[:, 0]}, "contexts"),
        ({"contexts": np.ones((0, 2))}, "contexts"),
        ({"rewards": REWARDS[:5]}, "rewards"),
        ({"rewards": np.full((6, 3), np.nan)}, "rewards"),
        ({"expected": REWARDS[:, :2]}, "expected"),
        ({"shuffle": "yes"}, "shuffle"),
    ],
)
def test_bad_arguments_are_refused_by_name(changed, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        TableProblem(**({"contexts": CONTEXTS, "rewards": REWARDS} | changed))


@pytest.mark.parametrize("horizon", [0, 7, 1.5])
def test_a_bad_horizon_is_refused_by_name(horizon):
    problem = TableProblem(contexts=CONTEXTS, rewards=REWARDS)
    with pytest.raises(ValueError, match=r"^horizon must be"):
        problem.draw(np.random.default_rng(0), horizon)
