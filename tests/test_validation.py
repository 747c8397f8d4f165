"""Argument checks: what is taken, and errors that name the argument, the value and the wish."""

import re

import numpy as np
import pytest

from greedyfirst.validation import (
    amount,
    array,
    choice,
    flag,
    listed,
    names,
    number,
    whole_number,
    wrong,
)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int8(1), np.float64(2)])
def test_numbers_are_floats(value):
    assert number("x", value) == float(value)
    assert type(number("x", value)) is float


@pytest.mark.parametrize(
    "value", [None, True, np.bool_(True), "1", b"1", [], [1, 2], {}, 1j, float("nan"), float("inf")]
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match=re.escape(f"x must be a finite number, got {value!r}")):
        number("x", value)


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match=r"^x must be a finite number, got 1000"):
        number("x", 10**400)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "wish"),
    [
        ({"above": 0}, 1e-300, 0, "above 0"),
        ({"at_least": 0}, 0, -1e-300, "at least 0"),
        ({"below": 1}, 0.999, 1, "below 1"),
        ({"at_most": 1}, 1, 1.001, "at most 1"),
        ({"above": 0, "below": 1}, 0.5, 1.0, "above 0 and below 1"),
    ],
)
def test_bounds_of_numbers(bounds, inside, outside, wish):
    assert number("x", inside, **bounds) == inside
    message = f"x must be a finite number {wish}, got {outside!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        number("x", outside, **bounds)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_are_ints(value):
    assert type(whole_number("n", value, at_least=3, at_most=3)) is int


@pytest.mark.parametrize("value", [3.0, np.float64(3), "3", None, True, np.bool_(False), [3]])
def test_what_is_not_whole_is_refused(value):
    with pytest.raises(ValueError, match=re.escape(f"n must be a whole number, got {value!r}")):
        whole_number("n", value)


@pytest.mark.parametrize("value", [0, 11])
def test_bounds_of_whole_numbers(value):
    message = rf"^n must be a whole number at least 1 and at most 10, got {value}$"
    with pytest.raises(ValueError, match=message):
        whole_number("n", value, at_least=1, at_most=10)


def test_choices():
    assert choice("c", "a", ("a", "b")) == "a"
    for value in ("A", "", None, 0, ["a"]):
        with pytest.raises(
            ValueError, match=re.escape(f"c must be one of 'a', 'b', got {value!r}")
        ):
            choice("c", value, ("a", "b"))


def test_flags():
    assert flag("f", True) is True
    assert flag("f", np.bool_(False)) is False
    for value in (0, 1, "True", None):
        with pytest.raises(ValueError, match=re.escape(f"f must be True or False, got {value!r}")):
            flag("f", value)


@pytest.mark.parametrize("value", [[[1, 2], [3, 4]], np.eye(2, dtype=np.float32), np.eye(2).T])
def test_arrays_are_contiguous_floats(value):
    result = array("a", value, (None, 2))
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    assert np.array_equal(result, np.asarray(value, float))


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ([1.0], "got shape (1,)"),
        ([[1.0, 2.0, 3.0]], "got shape (1, 3)"),
        ([[1.0, float("nan")]], "got a[0, 1] = nan"),
        ([[1.0, 2.0], [float("-inf"), 0.0]], "got a[1, 0] = -inf"),
        ([["1", "2"]], "got [['1', '2']]"),
        ([[True, False]], "got [[True, False]]"),
        ([[1.0], [1.0, 2.0]], "got [[1.0], [1.0, 2.0]]"),
        ([[1j, 2]], "got [[1j, 2]]"),
        (None, "got None"),
    ],
)
def test_what_is_no_such_array_is_refused(value, got):
    message = f"a must be an array of finite numbers of shape (n, 2), {got}"
    with pytest.raises(ValueError, match=re.escape(message)):
        array("a", value, (None, 2))


def test_the_shape_of_a_vector_is_shown_as_python_does():
    with pytest.raises(ValueError, match=r"of shape \(3,\), got shape \(2,\)"):
        array("a", [1.0, 2.0], (3,))


def test_names():
    assert names("labels", ["a", "b"], 2) == ("a", "b")
    for value in (["a"], ["a", "a"], ["a", ""], ["a", 1], "ab", None, {"a", "b"}):
        with pytest.raises(ValueError, match=r"^labels must be 2 different names"):
            names("labels", value, 2)


def test_long_values_are_cut():
    message = str(wrong("x", "a" * 1000, "short"))
    assert len(message) < 120
    assert message.endswith("...")


@pytest.mark.parametrize(
    ("value", "items"),
    [
        (["a", 1], ["a", 1]),
        (("a",), ["a"]),
        (range(2), [0, 1]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array(["a", None], dtype=object), ["a", None]),
        (np.zeros((1, 1)), None),
        (np.float64(1), None),
        ("ab", None),
        (b"ab", None),
        ({"a"}, None),
        ({"a": 1}, None),
        (3, None),
    ],
)
def test_listed(value, items):
    assert listed(value) == items


def test_amounts_may_be_true_and_false():
    assert [amount("reward", value) for value in (True, np.False_, 2, 0.5)] == [1.0, 0.0, 2.0, 0.5]
    with pytest.raises(ValueError, match=r"^reward must be a finite number, got '1'$"):
        amount("reward", "1")
