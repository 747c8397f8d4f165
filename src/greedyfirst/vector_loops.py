"""The inner loops of all arithmetic on vectors, four numbers at a time.

Numba's own vectorised loops suit long arrays: they check for overlap, take sixteen numbers at a
time and the rest one by one. Contexts are short. These loops are the same arithmetic in the same
order as the plain Python written here, as 4-wide machine instructions: compiled and uncompiled
results agree bit for bit. Where kernels are compiled, the names stand for the generated loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from greedyfirst.validation import FloatArray

_LANES = 4
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, _LANES)


def inner(x: FloatArray, y: FloatArray) -> float:
    """x·y, in four interleaved partial sums."""
    d = len(x)
    s = [0.0, 0.0, 0.0, 0.0]
    blocks = d - d % _LANES
    for i in range(blocks):
        s[i % _LANES] += x[i] * y[i]
    for i in range(blocks, d):
        s[0] += x[i] * y[i]
    return (s[0] + s[1]) + (s[2] + s[3])


def inner_of_four(
    rows: tuple[FloatArray, FloatArray, FloatArray, FloatArray], x: FloatArray
) -> tuple[float, float, float, float]:
    """Four :func:`inner` products with x at once: none waits for the sums of another."""
    return inner(rows[0], x), inner(rows[1], x), inner(rows[2], x), inner(rows[3], x)


def add_multiple(y: FloatArray, w: float, x: FloatArray) -> None:
    """y += w·x."""
    for i in range(len(x)):
        y[i] += w * x[i]


def add_multiples(
    y: FloatArray, w: tuple[float, ...], x: tuple[FloatArray, FloatArray, FloatArray, FloatArray]
) -> None:
    """y += (w₀x₀ + w₁x₁) + (w₂x₂ + w₃x₃)."""
    for i in range(len(y)):
        y[i] += (w[0] * x[0][i] + w[1] * x[1][i]) + (w[2] * x[2][i] + w[3] * x[3][i])


def _each(
    builder: Any, length: Any, body: Callable[[Any, Any], None], between: Callable[[], None]
) -> None:
    """Generate ``body(index, kind)`` for whole vectors, then for the 0 to 3 numbers left over."""
    kind = length.type
    whole = builder.and_(length, ir.Constant(kind, -_LANES))
    zero, step = ir.Constant(kind, 0), ir.Constant(kind, _LANES)
    with cgutils.for_range_slice(builder, zero, whole, step, kind) as (index, _):
        body(index, _VECTOR)
    between()
    rest = builder.sub(length, whole)
    for k in range(_LANES - 1):
        with builder.if_then(builder.icmp_signed(">", rest, ir.Constant(kind, k))):
            body(builder.add(whole, ir.Constant(kind, k)), _DOUBLE)


def _load(builder: Any, data: Any, index: Any, kind: Any) -> Any:
    return builder.load(_place(builder, data, index, kind), align=8)


def _place(builder: Any, data: Any, index: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _spread(builder: Any, value: Any) -> Any:
    """A number in all lanes."""
    lanes = ir.Constant(_VECTOR, ir.Undefined)
    for lane in range(_LANES):
        lanes = builder.insert_element(lanes, value, _lane(lane))
    return lanes


def _array(context: Any, builder: Any, kind: Any, value: Any) -> tuple[Any, Any]:
    array = make_array(kind)(context, builder, value)
    return array.data, builder.extract_value(array.shape, 0)


def _inner_products(builder: Any, rows: list[Any], x: Any, length: Any) -> list[Any]:
    """The inner products of vectors with x, in one loop."""
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in rows]
    first = [cgutils.alloca_once(builder, _DOUBLE) for _ in rows]
    for total in sums:
        builder.store(ir.Constant(_VECTOR, [0.0] * _LANES), total)
    lanes: list[list[Any]] = []

    def body(index: Any, kind: Any) -> None:
        factor = _load(builder, x, index, kind)
        for row, total in zip(rows, sums if kind is _VECTOR else first, strict=True):
            product = builder.fmul(_load(builder, row, index, kind), factor)
            builder.store(builder.fadd(builder.load(total), product), total)

    def between() -> None:
        for total, start in zip(sums, first, strict=True):
            vector = builder.load(total)
            lanes.append([builder.extract_element(vector, _lane(k)) for k in range(_LANES)])
            builder.store(lanes[-1][0], start)

    _each(builder, length, body, between)
    return [
        builder.fadd(builder.fadd(builder.load(start), lane[1]), builder.fadd(lane[2], lane[3]))
        for start, lane in zip(first, lanes, strict=True)
    ]


@intrinsic
def _inner(typingctx, x, y):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        left, length = _array(context, builder, signature.args[0], args[0])
        right, _ = _array(context, builder, signature.args[1], args[1])
        return _inner_products(builder, [left], right, length)[0]

    return types.float64(x, y), generate


@intrinsic
def _inner_of_four(typingctx, rows, x):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        arrays = zip(signature.args[0], cgutils.unpack_tuple(builder, args[0]), strict=True)
        sources = [_array(context, builder, kind, array)[0] for kind, array in arrays]
        right, length = _array(context, builder, signature.args[1], args[1])
        products = _inner_products(builder, sources, right, length)
        return context.make_tuple(builder, signature.return_type, products)

    return types.UniTuple(types.float64, 4)(rows, x), generate


@intrinsic
def _add_multiple(typingctx, y, w, x):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        target, _ = _array(context, builder, signature.args[0], args[0])
        source, length = _array(context, builder, signature.args[2], args[2])
        weights = {_DOUBLE: args[1], _VECTOR: _spread(builder, args[1])}

        def body(index: Any, kind: Any) -> None:
            product = builder.fmul(weights[kind], _load(builder, source, index, kind))
            total = builder.fadd(_load(builder, target, index, kind), product)
            builder.store(total, _place(builder, target, index, kind), align=8)

        _each(builder, length, body, lambda: None)
        return context.get_dummy_value()

    return types.void(y, w, x), generate


@intrinsic
def _add_multiples(typingctx, y, w, x):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        target, length = _array(context, builder, signature.args[0], args[0])
        numbers = cgutils.unpack_tuple(builder, args[1])
        arrays = zip(signature.args[2], cgutils.unpack_tuple(builder, args[2]), strict=True)
        sources = [_array(context, builder, kind, array)[0] for kind, array in arrays]
        weights = {_DOUBLE: numbers, _VECTOR: [_spread(builder, number) for number in numbers]}

        def body(index: Any, kind: Any) -> None:
            terms = [
                builder.fmul(weight, _load(builder, source, index, kind))
                for weight, source in zip(weights[kind], sources, strict=True)
            ]
            pair, other = builder.fadd(terms[0], terms[1]), builder.fadd(terms[2], terms[3])
            total = builder.fadd(_load(builder, target, index, kind), builder.fadd(pair, other))
            builder.store(total, _place(builder, target, index, kind), align=8)

        _each(builder, length, body, lambda: None)
        return context.get_dummy_value()

    return types.void(y, w, x), generate


if not numba.config.DISABLE_JIT:
    inner, inner_of_four = _inner, _inner_of_four
    add_multiple, add_multiples = _add_multiple, _add_multiples
