"""What breaks a rule of kernels is told in one sentence: kernel, line and rule."""

import datetime
import inspect
import math

import numpy as np
import pytest

from greedyfirst.compiling import native_numba
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.failures import KernelError
from greedyfirst.compiling.families import Family, entry_for, generic, options_of
from greedyfirst.compiling.kernels import Entry, entry, kernel
from greedyfirst.compiling.records import Record, allocate, floats, integer

NO_MEMORY = "a kernel makes no array, list or text and returns none"
ONLY = "a kernel may use numbers, arrays, records, math and other kernels only"
FIELDS = "a record has only the fields that its class declares"
ONE_TYPE = "a name in a kernel keeps one type"
NAMES = "a kernel uses names of its own module only"

without_counts = pytest.mark.skipif(
    "counts" not in native_numba.USED, reason="plain numba lets kernels make arrays"
)


class State(Record):
    x = floats("n")
    k = integer()


class Another(Record):
    """A record that declares a field which ``State`` does not have."""

    elsewhere = floats("n")


def plain(x):
    return x


def makes_array(state):
    scratch = np.zeros(3)  # here
    return scratch[state.k]


def adds_arrays(state):
    doubled = state.x + state.x  # here
    return doubled[0]


def makes_list(state):
    pair = [1.0, state.x[0]]  # here
    return pair[state.k]


def makes_text(state):
    return f"{state.k}"  # here


def uses_numpy_that_allocates(state):
    return np.linalg.norm(state.x)  # here


def calls_plain_function(state):
    return plain(state.x[0])  # here


def uses_a_foreign_module(state):
    return datetime.date(state.k, 1, 1)  # here


def uses_a_generator(state):
    return sum(value for value in state.x)  # here


def uses_numpy_that_is_not_there(state):
    return np.einsum("i,i", state.x, state.x)  # here


def changes_type(state):
    result = state.x
    if state.k > 0:
        result = 0.0
    return result  # here


def reads_a_wrong_field(state):
    return state.y[0]  # here


def writes_a_wrong_field(state):
    state.count = 1  # here


def reads_a_field_of_another(state):
    return state.elsewhere[0]  # here


def writes_a_field_of_another(state):
    state.elsewhere = 1  # here


def indexes_twice(state):
    return state.x[0, 1]  # here


def writes_text(state):
    state.k = "three"  # here


def calls_with_too_few(state):
    return needs_two(state)  # here


@kernel
def needs_two(state, other):
    return state.x[other]


MISTAKES = [
    pytest.param(makes_array, NO_MEMORY, marks=without_counts),
    pytest.param(adds_arrays, NO_MEMORY, marks=without_counts),
    pytest.param(makes_list, NO_MEMORY, marks=without_counts),
    pytest.param(makes_text, NO_MEMORY, marks=without_counts),
    pytest.param(uses_numpy_that_allocates, NO_MEMORY, marks=without_counts),
    (calls_plain_function, ONLY),
    (uses_a_foreign_module, ONLY),
    (uses_a_generator, ONLY),
    (uses_numpy_that_is_not_there, ONLY),
    (changes_type, ONE_TYPE),
    (reads_a_wrong_field, FIELDS),
    (writes_a_wrong_field, FIELDS),
    (reads_a_field_of_another, FIELDS),
    (writes_a_field_of_another, FIELDS),
    (indexes_twice, "cannot index array(float64, 1d, C) with 2 indices"),
    (writes_text, "Cannot cast three to int64"),
    (calls_with_too_few, "missing a required argument: 'other'"),
]


def told(function):
    """The sentence, when an entry calls ``function`` as a kernel and that a further one down."""
    broken = kernel(function)

    def call(state):
        return broken(state)

    between = kernel(call)

    def begin(state):
        between(state)

    _, state = allocate(lambda memory: State(memory, n=3))
    with pytest.raises(KernelError) as raised:
        run(Entry(begin, None), state)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    return sentence


@pytest.mark.parametrize(("function", "rule"), MISTAKES)
def test_a_mistake_is_told_with_kernel_line_and_rule(function, rule):
    lines, first = inspect.getsourcelines(function)
    place = next(number for number, line in enumerate(lines) if line.endswith("# here\n"))
    sentence = told(function)
    where = f"{function.__name__} (test_failures.py, line {first + place}: {lines[place].strip()})"
    assert sentence.startswith(f"{where} cannot be compiled: ")
    assert rule in sentence


def uses_an_undefined_name(state):
    return no_such_name(state.x[0])  # noqa: F821


def test_an_undefined_name_is_told_with_its_kernel_and_who_calls_it():
    """Numba knows no line of it."""
    sentence = told(uses_an_undefined_name)
    assert sentence.startswith("uses_an_undefined_name (called in test_failures.py, line ")
    assert "name 'no_such_name' is not defined" in sentence
    assert sentence.endswith(NAMES)


@without_counts
def test_a_returned_view_is_told_with_its_kernel():
    def returns_view(state):
        return state.x

    sentence = told(returns_view)
    assert sentence.startswith("returns_view (called in test_failures.py, line ")
    assert NO_MEMORY in sentence


def opens_a_file(state):
    with open("nowhere") as file:
        return float(file.read())


def uses_what_math_has_not(state):
    return math.no_such_function(state.x[0])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (opens_a_file, "The 'with (context manager) as (variable):' construct is not supported; "),
        (uses_what_math_has_not, "module 'math' has no attribute 'no_such_function'; "),
    ],
)
def test_errors_that_are_not_numbas_own_kind_are_told_too(function, words):
    assert told(function) == f"begin, or a kernel that it calls, cannot be compiled: {words}{ONLY}"


@generic
def handle(task, state):
    raise NotImplementedError


class Broken(Family):
    @staticmethod
    @kernel
    def handle(task, state):
        return state.x[0] + state.nothing


@entry
def unused(state):
    return state.k


def handle_all(task, state):
    return handle(task, state)


def test_a_mistake_in_a_members_kernel_is_found_there():
    """Through the generic function that selects it."""
    _, state = allocate(lambda memory: State(memory, n=3))
    options = options_of(Broken)
    with pytest.raises(KernelError) as raised:
        run(entry_for(handle_all, options, state), options, state)
    assert str(raised.value).startswith("handle (test_failures.py, line ")
    assert "state.x[0] + state.nothing" in str(raised.value)
    assert "'nothing' of type State" in str(raised.value)


def test_after_a_mistake_other_entries_compile():
    told(reads_a_wrong_field)
    _, state = allocate(lambda memory: State(memory, n=3))
    state.k = 7
    assert run(unused, state) == 7
