"""Records: fields by name in compiled code and in Python, all in one buffer."""

import copy
import gc
import pickle

import numpy as np
import pytest

from greedyfirst.compiling.calls import argument, compiled, run
from greedyfirst.compiling.failures import KernelError
from greedyfirst.compiling.kernels import entry, kernel
from greedyfirst.compiling.records import (
    LINE,
    Memory,
    Options,
    Record,
    allocate,
    arrays_in,
    copy_record,
    flag,
    flags,
    floats,
    integer,
    integers,
    number,
    part,
    parts_of,
)


class Inner(Record):
    table = floats("n_rows", 3)
    factor = number()


class Outer(Record):
    count = integer()
    row = floats("d")
    inner = part()
    cube = floats(2, "n_arms", "d")
    seen = flags("n_arms")
    marks = integers("n_arms")
    ready = flag()


def build(memory, n_rows=2, n_arms=5, d=4):
    inner = Inner(memory, n_rows=n_rows)
    return Outer(memory, inner=inner, n_arms=n_arms, d=d)


@kernel
def work(outer):
    """Reads and writes every field."""
    outer.count = outer.count * 2 - 1
    outer.ready = not outer.ready
    outer.inner.factor /= -4.0
    for i in range(outer.row.shape[0]):
        outer.row[i] += outer.inner.factor * i
    table = outer.inner.table
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = 10 * i + j
    for block in range(outer.cube.shape[0]):
        for arm in range(outer.cube.shape[1]):
            for i in range(outer.cube.shape[2]):
                outer.cube[block, arm, i] = 100 * block + 10 * arm + i
    for arm in range(outer.seen.shape[0]):
        outer.seen[arm] = outer.seen[arm] or arm % 2 == 1
        outer.marks[arm] = outer.count - arm


@entry
def work_on(outer):
    work(outer)


def filled():
    """A record with something in every field."""
    buffer, outer = allocate(build)
    outer.count, outer.ready = -(2**60), True
    outer.inner.factor = 2.0
    outer.row[:] = np.arange(4) + 0.5
    outer.seen[:] = [True, False, False, False, False]
    return buffer, outer


def assert_worked(outer):
    """What :func:`work` makes of :func:`filled`."""
    assert outer.count == -(2**61) - 1
    assert outer.ready is False
    assert outer.inner.factor == -0.5
    assert outer.row.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert outer.inner.table.tolist() == [[0, 1, 2], [10, 11, 12]]
    block, arm, i = np.ogrid[:2, :5, :4]
    assert (outer.cube == 100 * block + 10 * arm + i).all()
    assert outer.seen.tolist() == [True, True, False, True, False]
    assert outer.marks.tolist() == [outer.count - arm for arm in range(5)]


# ---------------------------------------------------------------- fields


def test_declared_fields_have_their_types_shapes_and_zeros():
    _, outer = allocate(build)
    assert {path: (array.dtype.name, array.shape) for path, array in outer.arrays()} == {
        "count": ("int64", ()),
        "row": ("float64", (4,)),
        "inner.table": ("float64", (2, 3)),
        "inner.factor": ("float64", ()),
        "cube": ("float64", (2, 5, 4)),
        "seen": ("bool", (5,)),
        "marks": ("int64", (5,)),
        "ready": ("bool", ()),
    }
    assert not any(array.any() for _, array in outer.arrays())


@pytest.mark.parametrize("name", ["values", "words", "kind", "address", "places", "arrays"])
def test_a_field_cannot_have_a_name_that_records_use(name):
    with pytest.raises(TypeError, match=rf"Own.{name}: records have that name for something else"):
        type("Own", (Record,), {name: floats(2)})


def test_a_length_that_is_not_given_is_told():
    with pytest.raises(TypeError, match=r"Outer\.cube has the length .n_arms. that is not given"):
        allocate(lambda memory: Outer(memory, inner=Inner(memory, n_rows=1), d=2))


def test_compiled_code_reads_and_writes_every_field():
    _, outer = filled()
    run(work_on, outer)
    assert_worked(outer)


def test_uncompiled_code_does_the_same():
    _, outer = filled()
    work.py_func(outer)
    assert_worked(outer)


def test_single_numbers_are_numbers_in_python():
    _, outer = filled()
    assert type(outer.count) is int
    assert type(outer.inner.factor) is float
    assert type(outer.ready) is bool
    outer.count += 1
    outer.inner.factor *= 3
    assert (outer.count, outer.inner.factor) == (1 - 2**60, 6.0)
    with pytest.raises((TypeError, ValueError)):
        outer.count = "three"


def test_two_sizes_of_a_record_are_one_type():
    """Lengths are read where they are needed: other sizes need no new compilation."""
    _, small = allocate(lambda memory: build(memory, n_arms=1, d=1))
    _, large = allocate(lambda memory: build(memory, n_rows=7, n_arms=3, d=9))
    assert small.kind == large.kind
    function = compiled(work_on, small)
    assert compiled(work_on, large) is function
    function(argument(large))
    assert large.inner.table[6].tolist() == [60, 61, 62]
    assert large.cube[1, 2].tolist() == [120 + i for i in range(9)]


def test_records_of_other_fields_are_other_types():
    class Inner(Record):
        table = floats("n_rows", 3)
        factor = integer()

    _, one = allocate(lambda memory: Inner(memory, n_rows=1))
    _, other = allocate(build)
    assert one.kind != other.inner.kind


def test_fields_are_inherited():
    class Longer(Inner):
        extra = integers(2)

    _, longer = allocate(lambda memory: Longer(memory, n_rows=1))
    assert [path for path, _ in longer.arrays()] == ["table", "factor", "extra"]
    assert "extra" not in Inner.declared


# ---------------------------------------------------------------- one buffer


def test_the_buffer_is_the_whole_state():
    """To copy, reset or compare a state is to do it to one array."""
    buffer, outer = filled()
    before = buffer.copy()
    run(work_on, outer)
    assert (buffer != before).any()
    after = buffer.copy()
    buffer[:] = before
    assert outer.count == -(2**60)
    assert not outer.cube.any()
    buffer[:] = after
    assert_worked(outer)
    buffer[:] = 0
    assert not any(array.any() for _, array in outer.arrays())


def test_fields_do_not_overlap_and_start_at_cache_lines():
    buffer, outer = allocate(build)
    ends = 0
    spans = []
    for _, array in outer.arrays():
        start = array.ctypes.data - buffer.ctypes.data
        assert array.ctypes.data % LINE == 0
        spans.append((start, start + array.nbytes))
    for start, end in sorted(spans):
        assert start >= ends
        ends = end
    assert ends <= buffer.nbytes


def test_a_state_that_takes_nothing():
    class Nothing(Record):
        pass

    buffer, nothing = allocate(Nothing)
    assert buffer.size == 0
    assert list(nothing.arrays()) == []


def test_room_for_rows_is_told_to_the_builder():
    class Rows(Record):
        x = floats("n")

    _, rows = allocate(lambda memory: Rows(memory, n=memory.rows), rows=17)
    assert rows.x.shape == (17,)


def test_memory_hands_out_neighbours():
    buffer = np.zeros(4 * LINE, np.uint8)
    memory = Memory(0, buffer)
    first, second = memory.take("float64", (3,)), memory.take("bool", (2, 2))
    first[:], second[:] = 1.0, True
    assert memory.used == 2 * LINE
    assert buffer[: 3 * 8].view(np.float64).tolist() == [1.0] * 3
    assert buffer[LINE : LINE + 4].tolist() == [1] * 4
    assert buffer.sum() == np.ones(3).view(np.uint8).sum() + 4


def test_places_tell_where_each_array_is():
    """Plain data, such as a file may hold: another process finds the arrays of a copied buffer."""
    buffer, outer = filled()
    run(work_on, outer)
    places = outer.places(buffer)
    assert places["cube"][0] == "float64"
    assert places["cube"][2:] == [2, 5, 4]
    found = arrays_in(buffer.copy(), places)
    assert list(found) == [path for path, _ in outer.arrays()]
    for path, array in outer.arrays():
        assert found[path].dtype == array.dtype
        assert np.array_equal(found[path], array)
        assert not np.shares_memory(found[path], array)


# ---------------------------------------------------------------- copies


@entry
def copy_compiled(source, target):
    copy_record(source, target)


@pytest.mark.parametrize("how", ["compiled", "python"])
def test_a_copied_record_has_all_fields_and_stays_apart(how):
    (source_buffer, source), (buffer, target) = filled(), allocate(build)
    run(work_on, source)
    if how == "compiled":
        run(copy_compiled, source, target)
    else:
        copy_record(source, target)
    assert_worked(target)
    assert np.array_equal(buffer, source_buffer)
    target.inner.table[0, 0] = -1.0
    target.count = 5
    assert_worked(source)


def test_records_of_two_types_are_not_copied():
    (_, outer), (_, inner) = allocate(build), allocate(lambda memory: Inner(memory, n_rows=2))
    with pytest.raises(KernelError, match="records of two types cannot be copied"):
        run(copy_compiled, outer, inner)
    with pytest.raises(ValueError, match="shape"):
        copy_record(outer, inner)


def test_constants_are_left_out_of_a_copy():
    class Holder(Record):
        constant = part()
        own = number()

    def holder(limit):
        constant = Options("tests.Limit", {"limit": limit})
        return allocate(lambda memory: Holder(memory, constant=constant))[1]

    source, target = holder(1.5), holder(7.0)
    source.own = 3.0
    run(copy_compiled, source, target)
    assert target.own == 3.0
    assert target.constant.limit == 7.0
    assert run(read_limit, target) == 7.0


@entry
def read_limit(holder):
    return holder.constant.limit


@pytest.mark.parametrize(
    "way", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda way: way.__name__
)
def test_records_refuse_to_be_copied_by_python(way):
    """The copy's addresses would be the original's."""
    _, outer = allocate(build)
    for each in (outer, Options("tests.Limit", {"limit": 1.0})):
        with pytest.raises(TypeError, match="a record cannot be copied: copy the buffer"):
            way(each)


def test_parts_are_the_records_inside():
    _, outer = allocate(build)
    options = Options("tests.Both", {"link": Options("tests.Link", {}), "size": 3})
    assert parts_of(outer) == [outer.inner]
    assert parts_of(outer.inner) == []
    assert parts_of(options) == [options.link]


# ---------------------------------------------------------------- how long it is there


def test_a_record_stays_right_without_its_buffer_and_builder():
    """What it holds keeps its memory: nothing else is needed, and nothing else is written to."""
    records = [allocate(lambda memory, n=n: build(memory, n_rows=n))[1] for n in range(1, 50)]
    gc.collect()
    filler = [np.full(size, 7.0) for size in range(1, 500)]
    for n, outer in enumerate(records, start=1):
        outer.row[:] = 1.0
        outer.inner.factor = 0.0
        run(work_on, outer)
        assert outer.inner.table[-1].tolist() == [10 * (n - 1) + j for j in range(3)]
        assert outer.row.tolist() == [1.0] * 4
    assert all((array == 7.0).all() for array in filler)


# ---------------------------------------------------------------- options


@entry
def read_options(options, out):
    out[0] = options.rate
    out[1] = options.pulls
    out[2] = 1.0 if options.on else 0.0
    out[3] = 1.0 if options.off else 0.0
    out[4] = options.inner.rate
    for i in range(options.matrix.shape[0]):
        for j in range(options.matrix.shape[1]):
            out[5] += (1 + 10 * i + j) * options.matrix[i, j]
    out[6] = options.vector.shape[0]


def test_options_are_constants_by_name():
    matrix = np.arange(6.0).reshape(2, 3)
    values = {
        "rate": -0.25,
        "pulls": 2**40,
        "on": True,
        "off": np.bool_(False),
        "matrix": matrix.T,
        "vector": [1, 2, 3, 4],
        "inner": Options("tests.Inner", {"rate": 9.0}),
    }
    options, out = Options("tests.Options", values), np.zeros(7)
    run(read_options, options, out)
    weights = 1 + 10 * np.arange(3)[:, None] + np.arange(2)
    assert out.tolist() == [-0.25, 2.0**40, 1.0, 0.0, 9.0, (weights * matrix.T).sum(), 4.0]
    assert (options.rate, options.on, options.inner.rate) == (-0.25, True, 9.0)
    other = Options("tests.Options", {**values, "rate": 4.0, "matrix": np.ones((1, 1))})
    assert other.kind == options.kind
    run(read_options, other, out)
    assert out[0] == 4.0


def test_an_option_of_another_type_is_another_type_of_options():
    kinds = {Options("tests.One", {"x": value}).kind for value in (1, 1.0, True, [1.0], [[1.0]])}
    assert len(kinds) == 5


def test_an_option_that_there_is_not_is_told():
    with pytest.raises(AttributeError, match=r"tests.One has no option 'y'"):
        Options("tests.One", {"x": 1}).y  # noqa: B018


# ---------------------------------------------------------------- mistakes


@entry
def read_wrong_field(outer):
    return outer.inner.tabel[0, 0]


@entry
def write_wrong_field(outer):
    outer.cuont = 3


@entry
def set_array(outer):
    outer.row = outer.inner.table[0]


@entry
def set_record(outer):
    outer.inner = outer.inner


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            read_wrong_field,
            r"read_wrong_field \(test_records.py, line \d+: .*'tabel' of type Inner",
        ),
        (write_wrong_field, r"write_wrong_field \(test_records.py, line \d+: .*cuont = 3"),
    ],
    ids=["read", "written"],
)
def test_a_wrong_field_is_told_in_one_sentence(function, words):
    _, outer = allocate(build)
    with pytest.raises(KernelError, match=words) as raised:
        run(function, outer)
    assert "a record has only the fields that its class declares" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("function", "name"), [(set_array, "row"), (set_record, "inner")])
def test_arrays_and_records_are_changed_in_place_only(function, name):
    _, outer = allocate(build)
    with pytest.raises(KernelError, match=rf"'{name}' is an array or a record: .* never set"):
        run(function, outer)


def test_an_option_that_kernels_cannot_read_is_told_by_name():
    with pytest.raises(TypeError, match="option mood must be a number"):
        Options("own", {"mood": "good"})
    made = Options("own", {"small": np.int32(3), "row": [1, 2], "on": True})
    assert made.words.dtype == np.int64
