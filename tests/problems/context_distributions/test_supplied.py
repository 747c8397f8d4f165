"""Contexts from the user's rows and functions."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import FromArray, FromFunction

FALSE_ALARM = 1e-5
ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])


def test_rows_are_drawn_equally_often_with_replacement():
    sample = FromArray(rows=ROWS).sample(np.random.default_rng(40), 40_000)
    found, counts = np.unique(sample, axis=0, return_counts=True)
    assert np.array_equal(found, ROWS)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_rows_in_order_ignore_the_generator():
    rng = np.random.default_rng(41)
    before = rng.bit_generator.state
    assert np.array_equal(FromArray(rows=ROWS, order="given").sample(rng, 3), ROWS[:3])
    assert rng.bit_generator.state == before


def test_too_many_rows_in_order_are_refused():
    contexts = FromArray(rows=ROWS, order="given")
    with pytest.raises(ValueError, match=r"^size \(a problem's horizon\) must be at most 4"):
        contexts.sample(np.random.default_rng(0), 5)


def test_a_function_is_given_the_generator_and_its_array_is_not_shared():
    kept = np.ones((3, 2))
    contexts = FromFunction(n_features=2, draw=lambda rng, size: kept)
    contexts.sample(np.random.default_rng(0), 3)[:] = 0.0
    assert (kept == 1.0).all()
    drawn = FromFunction(n_features=2, draw=lambda rng, size: rng.random((size, 2)))
    assert np.array_equal(
        drawn.sample(np.random.default_rng(1), 4), np.random.default_rng(1).random((4, 2))
    )


@pytest.mark.parametrize("output", [np.ones((3, 3)), np.ones(3), np.full((3, 2), np.nan), "text"])
def test_a_bad_output_of_a_function_is_refused(output):
    contexts = FromFunction(n_features=2, draw=lambda rng, size: output)
    with pytest.raises(ValueError, match=r"^draw\(rng, size\) must be"):
        contexts.sample(np.random.default_rng(0), 3)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: FromArray(rows=[1.0, 2.0]), "rows"),
        (lambda: FromArray(rows=np.ones((0, 2))), "rows"),
        (lambda: FromArray(rows=[[1.0, np.inf]]), "rows"),
        (lambda: FromArray(rows=ROWS, order="sorted"), "order"),
        (lambda: FromFunction(n_features=0, draw=lambda rng, size: ROWS), "n_features"),
        (lambda: FromFunction(n_features=2, draw=ROWS), "draw"),
    ],
)
def test_bad_arguments_are_refused_by_name(build, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        build()
