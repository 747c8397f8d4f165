"""The one file with private names of numba and llvmlite, and the switch that goes without.

With ``GREEDYFIRST_PLAIN_NUMBA=1`` nothing here is used: kernels are ordinary ``njit`` functions,
results are the same, bit for bit. What each part buys is measured by ``benchmarks/ablation.py``;
the table is in ``benchmarks/README.md``.

- **Kernels without machine code of their own** (``KernelCompiler``). Numba optimises and assembles
  each function by itself and again inside every caller. Kernels are only ever called by kernels:
  what they compile to is code for their callers to take in.
- **No reference counts** (``_nrt``). Kernels neither make nor return arrays; numba would count
  references to every view they take.
- **Calls by address** (llvmlite): :mod:`greedyfirst.compiling.routines`.
- **Fields of records** typed in one place (``AttributeTemplate``), which is what lets kernels go
  without reference counts.
- **Vector loops** (llvmlite). Contexts are short; numba's own vectorised loops suit long arrays.
  These are the same arithmetic in the same order as the plain loops of
  :mod:`greedyfirst.numerics.vectors`, as 4-wide machine instructions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic

PARTS = frozenset({"compiler", "counts", "routines", "vectors"})


def _used() -> frozenset[str]:
    """The parts in use: ``GREEDYFIRST_PLAIN_NUMBA`` is 1 for none, or names those to leave out."""
    without = os.environ.get("GREEDYFIRST_PLAIN_NUMBA", "0")
    if numba.config.DISABLE_JIT or without == "1":
        return frozenset()
    return PARTS - set(without.split(","))


USED = _used()
_NUMBERS = count(1)
_ONLY = "is for compiled callers only"


# ------------------------------------------------------------- kernels without machine code


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel's code with that of the kernels it calls, neither optimised nor made machine code.

    It stays a function of its own in its callers, unless it is to be inlined: LLVM would copy large
    kernels to every place that calls them.
    """

    def add_ir_module(self, module: Any) -> None:
        """Mark the functions, then take them in."""
        for function in module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
        super().add_ir_module(module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler without its last steps: machine code, and wrappers for calls from Python."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags.no_compile = True

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = KernelLibrary(codegen, self.state.func_id.func_qualname)
        return super()._compile_core()

    def compile_extra(self, function: Any) -> Any:
        """Compile; a call from Python is a KeyError with a sentence that says why not.

        Numba knows compiled functions by what it would call: it must be a built-in function, and a
        different one for each. This one is a template with a name that no caller fills in.
        """
        result = super().compile_extra(function)
        name = f"{function.__name__}, compiled as number {next(_NUMBERS)}"
        entry_point = f"{{kernel {name}, {_ONLY}}}".format
        context = self.state.targetctx
        context.insert_user_function(entry_point, result.fndesc, [result.library])
        return result._replace(entry_point=entry_point)


def called_kernel(error: KeyError) -> str | None:
    """The name of the kernel that was called from Python, if that is the error."""
    said = str(error.args[0]) if error.args else ""
    return said.removeprefix("kernel ").partition(",")[0] if said.endswith(_ONLY) else None


OPTIONS: dict[str, Any] = {"_nrt": False} if "counts" in USED else {}
KERNEL_OPTIONS: dict[str, Any] = {"pipeline_class": KernelCompiler} if "compiler" in USED else {}


# ------------------------------------------------------------- fields of records


def type_fields(record: type, resolve: Callable[[Any, str], Any]) -> bool:
    """Tell numba the types of a record's fields; False if that is left to its public interface."""
    if "counts" not in USED:
        return False

    @infer_getattr
    class RecordFields(AttributeTemplate):  # type: ignore[misc]
        key = record

        def generic_resolve(self, kind: Any, name: str) -> Any:
            return resolve(kind, name)

    return True


# ------------------------------------------------------------- calls by address

CALLS_BY_ADDRESS = "routines" in USED
_WORD = ir.IntType(64)


def call_with_words(builder: Any, address: Any, words: list[Any]) -> None:
    """Call the C function at an address with the address of a block of these words."""
    block = cgutils.alloca_once(builder, ir.ArrayType(_WORD, len(words)))
    for place, word in enumerate(words):
        builder.store(word, cgutils.gep_inbounds(builder, block, 0, place))
    kind = ir.FunctionType(ir.VoidType(), [_WORD])
    function = builder.inttoptr(address, kind.as_pointer())
    builder.call(function, [builder.ptrtoint(block, _WORD)])


def to_word(context: Any, builder: Any, kind: Any, number: Any) -> Any:
    """A number as a word."""
    if kind is types.boolean:
        return builder.zext(number, _WORD)
    return builder.bitcast(number, _WORD)


def from_word(context: Any, builder: Any, kind: Any, word: Any) -> Any:
    """The number that :func:`to_word` was given."""
    if kind is types.boolean:
        return builder.trunc(word, ir.IntType(1))
    return builder.bitcast(word, context.get_value_type(kind))


# ------------------------------------------------------------- vector loops

_LANES = 4
_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, _LANES)


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
    array = context.make_array(kind)(context, builder, value)
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


#: The loops by the names of :mod:`greedyfirst.numerics.vectors`.
VECTOR_LOOPS = {
    "inner": _inner,
    "inner_of_four": _inner_of_four,
    "add_multiple": _add_multiple,
    "add_multiples": _add_multiples,
}


def vector_loop(function: Any) -> Any:
    """The generated loop of the same name in place of ``function``, which is its meaning."""
    return VECTOR_LOOPS[function.__name__] if "vectors" in USED else None
