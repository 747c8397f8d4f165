"""Regrets measured from expected rewards."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from greedyfirst.problems import Draw, Problem, TableProblem, measure_regrets


@settings(max_examples=100, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(0, 20), st.integers(1, 6)),
        elements=st.floats(-1e6, 1e6),
    )
)
def test_regrets_are_distances_to_the_best_arm(expected):
    before = expected.copy()
    regrets = measure_regrets(expected)
    assert np.array_equal(expected, before)
    assert regrets.flags.c_contiguous
    assert (regrets >= 0).all()
    for row, regret in zip(expected, regrets, strict=True):
        assert np.array_equal(regret, max(row) - row)
        assert regret[np.argmax(row)] == 0.0


def test_a_draw_unpacks_in_order():
    draw = Draw(contexts=np.zeros(1), rewards=np.ones(1), regrets=np.full(1, 2.0))
    contexts, rewards, regrets = draw
    assert (contexts[0], rewards[0], regrets[0]) == (0.0, 1.0, 2.0)


def test_the_protocol_knows_a_problem():
    assert isinstance(TableProblem(contexts=[[1.0]], rewards=[[0.0, 1.0]]), Problem)
    assert not isinstance(3, Problem)
