"""Held values: what compiled code finds at their address, and how long it is there."""

import copy
import gc
from typing import NamedTuple

import numpy as np
import pytest
from greedyfirst.compilation import entry, entry_kernel
from greedyfirst.held import Held, hold, opened


class Inner(NamedTuple):
    factor: float
    table: np.ndarray


class Outer(NamedTuple):
    count: int
    row: np.ndarray
    inner: Inner
    cube: np.ndarray
    nothing: tuple
    last: int


@entry_kernel
def work(held, out):
    count, row, inner, cube, _, last = opened(held)
    out[0] = count + last
    for i in range(row.shape[0]):
        out[1] += inner.factor * row[i]
    for i in range(inner.table.shape[0]):
        for j in range(inner.table.shape[1]):
            inner.table[i, j] = 10 * i + j
    for k in range(cube.shape[2]):
        cube[cube.shape[0] - 1, 0, k] = k


def example(rows=2):
    return Outer(
        -(2**60),
        np.arange(4.0),
        Inner(-0.5, np.zeros((rows, 3))),
        np.zeros((2, 1, 3)),
        (),
        2**63 - 1,
    )


def run(held):
    out = np.zeros(2)
    entry(work, held, out)(held, out)
    return out


def test_compiled_code_reads_the_numbers_and_writes_to_the_arrays():
    value = example()
    out = run(hold(value))
    assert out.tolist() == [float(2**63 - 1 - 2**60), -3.0]
    assert value.inner.table.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert value.cube.tolist() == [[[0, 0, 0]], [[0, 1, 2]]]


def test_the_value_lives_as_long_as_it_is_held():
    held = [Held(example(rows)) for rows in range(1, 50)]
    gc.collect()
    filler = [np.full((rows, 3), 7.0) for rows in range(1, 50)]
    for rows, one in enumerate(held, start=1):
        run(one)
        assert one.value.inner.table[-1].tolist() == [10 * (rows - 1) + j for j in range(3)]
    assert all((array == 7.0).all() for array in filler)


def test_a_copy_has_arrays_of_its_own():
    held = Held(example())
    other = copy.deepcopy(held)
    assert isinstance(other, Held)
    assert other != held
    run(other)
    assert not held.value.inner.table.any()
    assert other.value.inner.table.any()


def test_copies_of_the_arrays_beside_a_held_value_are_those_it_holds():
    value = example()
    arrays, held = copy.deepcopy(([value.row, value.inner.table], Held(value)))
    assert arrays[0] is held.value.row
    assert arrays[1] is held.value.inner.table


@pytest.mark.parametrize("value", [np.zeros((3, 4)).T, np.zeros(6)[::2]], ids=["turned", "strided"])
def test_arrays_with_gaps_are_refused(value):
    with pytest.raises(TypeError, match="contiguous"):
        Held((1, value))


@pytest.mark.parametrize("value", [True, np.float32(1), "text", None], ids=repr)
def test_what_is_not_a_number_of_8_bytes_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        Held((1, value))
