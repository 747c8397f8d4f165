"""Frozen arrays: copied, closed and never empty."""

import numpy as np
import pytest

from greedyfirst.problems.frozen_array import count_dimensions, frozen_array


def test_it_is_a_read_only_copy():
    given = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    kept = frozen_array("rows", given, (None, 3))
    given[0, 0] = 99.0
    assert kept[0, 0] == 0.0
    assert kept.flags.c_contiguous
    assert kept.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 1.0


def test_a_closed_array_is_kept_and_a_view_of_an_open_one_is_not():
    closed = np.ones((2, 3))
    view = closed[:1]
    for each in (closed, view):
        each.flags.writeable = False
    assert frozen_array("rows", closed, (None, 3)) is closed
    assert frozen_array("rows", view, (None, 3)) is not view


def test_empty_arrays_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^rows must be a non-empty array"):
        frozen_array("rows", np.ones((0, 3)), (None, 3))


def test_dimensions_are_counted_and_ragged_rows_refused_by_name():
    assert [count_dimensions("x", value) for value in (1.0, [1.0], [[1.0]])] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^x must be a number or an array"):
        count_dimensions("x", [[1.0], [1.0, 2.0]])
