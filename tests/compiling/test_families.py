"""Families of kernels: the type of the first argument selects one, compiled and in Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import greedyfirst
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.failures import KernelError
from greedyfirst.compiling.families import (
    Family,
    entry_for,
    generic,
    generic_formula,
    has_kernels,
    member_of,
    members_in,
    options_of,
)
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, allocate, part


@generic
def area(shape, scale):
    raise NotImplementedError


@generic
def mark(shape, out, place):
    raise NotImplementedError


@generic_formula
def height(shape, z):
    raise NotImplementedError


@generic_formula
def both(shape, z, y):
    raise NotImplementedError


class Square(Family):
    @staticmethod
    @kernel
    def area(shape, scale):
        return scale * shape.side * shape.side

    @staticmethod
    @kernel
    def mark(shape, out, place):
        out[place] += 1.0

    @staticmethod
    def height(z):
        return z + 1.0

    @staticmethod
    def both(z, y):
        return z - y


class Disc(Family):
    @staticmethod
    @kernel
    def area(shape, scale):
        return scale * 3.0 * shape.radius * shape.radius

    @staticmethod
    @kernel
    def mark(shape, out, place):
        out[place] -= shape.radius

    @staticmethod
    def height(z):
        return 2.0 * z

    @staticmethod
    def both(z, y):
        return z * y


class Tile(Square):
    """Has its own area, and the rest of a square's kernels."""

    @staticmethod
    @kernel
    def area(shape, scale):
        return scale * shape.side * shape.side + 0.5


class Corner(Tile):
    """Has nothing of its own."""


class Pair(Record):
    first = part()
    second = part()


SHAPES = {
    "square": (Square, {"side": 2.0}, [12.0, 1.0, 6.0, 2.0]),
    "disc": (Disc, {"radius": 2}, [36.0, -2.0, 10.0, 15.0]),
    "tile": (Tile, {"side": 2.0}, [12.5, 1.0, 6.0, 2.0]),
    "corner": (Corner, {"side": 1.0}, [3.5, 1.0, 6.0, 2.0]),
}


def use(shape, out):
    out[0] = area(shape, 3.0)
    mark(shape, out, 1)
    out[2] = height(shape, 5.0)
    out[3] = both(shape, 5.0, 3.0)


def use_pair(pair, out):
    out[0] = area(pair.first, 1.0)
    out[1] = area(pair.second, 1.0)


def used(name):
    member, values, _ = SHAPES[name]
    options, out = options_of(member, values), np.zeros(4)
    assert member_of(options) is member
    run(entry_for(use, options), options, out)
    return out.tolist()


def used_in_pairs():
    """Two members in one loop."""
    square, disc = options_of(Square, {"side": 3.0}), options_of(Disc, {"radius": 1.0})
    result = []
    for first, second in [(square, disc), (disc, square)]:
        _, pair = allocate(lambda memory, a=first, b=second: Pair(memory, first=a, second=b))
        assert members_in(pair) == {Square, Disc}
        out = np.zeros(2)
        run(entry_for(use_pair, pair), pair, out)
        result.append(out.tolist())
    return result


@pytest.mark.parametrize("name", SHAPES)
def test_the_options_select_the_kernels(name):
    assert used(name) == SHAPES[name][2]


def test_options_inside_records_select_theirs():
    assert used_in_pairs() == [[9.0, 3.0], [3.0, 9.0]]


def test_without_compilation_the_same_kernels_are_selected():
    code = (
        "import json, test_families as t\n"
        "print(json.dumps([{name: t.used(name) for name in t.SHAPES}, t.used_in_pairs()]))"
    )
    paths = [str(Path(greedyfirst.__file__).parents[1]), str(Path(__file__).parent)]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    shapes, pairs = json.loads(done.stdout)
    assert shapes == {name: expected for name, (_, _, expected) in SHAPES.items()}
    assert pairs == [[9.0, 3.0], [3.0, 9.0]]


def test_functions_that_are_no_kernels_are_selected_in_python():
    class Plain(Square):
        @staticmethod
        def area(shape, scale):
            return [scale, shape.side]

    options = options_of(Plain, {"side": 4.0})
    assert area(options, 2.0) == [2.0, 4.0]
    assert height(options, 1.0) == 2.0
    assert both(options, 3.0, 1.0) == 2.0


def test_members_are_found_through_options_in_options():
    inner = options_of(Disc, {"radius": 1.0})
    assert members_in(options_of(Square, {"side": 1.0, "other": inner})) == {Square, Disc}
    assert members_in(3, np.zeros(2), inner) == {Disc}


def total_area(shape):
    return area(shape, 1.0)


def define_again(factor):
    """As a notebook's cell that is edited and run again: same module, same name."""
    source = (
        "class Again(Family):\n"
        "    @staticmethod\n"
        "    @kernel\n"
        "    def area(shape, scale):\n"
        f"        return scale * {factor} * shape.side\n"
    )
    names = {"__name__": __name__, "Family": Family, "kernel": kernel}
    exec(source, names)
    return names["Again"]


def test_a_class_that_is_defined_again_runs_the_new_code():
    found = []
    members = [define_again(factor) for factor in (2.0, 5.0)]
    for member in members:
        options = options_of(member, {"side": 1.5})
        found.append(run(entry_for(total_area, options), options))
    assert found == [3.0, 7.5]
    old = options_of(members[0], {"side": 1.5})
    assert run(entry_for(total_area, old), old) == 3.0


def made_in_a_function(factor):
    class Local(Family):
        @staticmethod
        @kernel
        def area(shape, scale):
            return scale * factor

    return Local


def test_classes_made_by_one_function_have_their_own_constants():
    found = [
        run(entry_for(total_area, options), options)
        for options in map(options_of, map(made_in_a_function, (1.0, 2.0, 3.0)))
    ]
    assert found == [1.0, 2.0, 3.0]


def test_only_what_a_name_stands_for_alone_may_be_kept_on_disk():
    assert Square.lasting
    assert Corner.lasting
    assert not made_in_a_function(4.0).lasting
    define_again(6.0)
    assert not define_again(7.0).lasting


def test_a_member_without_the_kernel_is_told():
    class Shapeless(Family):
        pass

    options = options_of(Shapeless)
    with pytest.raises(KernelError, match=r"total_area \(test_families.py, line \d+: .*area"):
        run(entry_for(total_area, options), options)
    with pytest.raises(AttributeError, match="area"):
        area(options, 1.0)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="all is Python then")
def test_whether_functions_are_kernels():
    class Plain(Square):
        @staticmethod
        def mark(shape, out, place):
            out[place] = 1.0

    assert has_kernels(Square, "area", "mark")
    assert has_kernels(Corner, "area", "mark")
    assert has_kernels(Plain, "area")
    assert not has_kernels(Plain, "area", "mark")
