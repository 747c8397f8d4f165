"""How kernels are compiled: numba in nopython mode, cached on disk, the GIL released.

Numba's disk cache notices edits in the file of the cached function only. Kernels here call
kernels of other files, so the cache directory is keyed by a hash of the whole package's source:
any edit starts an empty cache instead of running stale code.

No fast-math: floating-point operations keep their written order, so compiled and uncompiled runs
(``NUMBA_DISABLE_JIT=1``) take the same decisions.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from greedyfirst.user_cache import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

_KEPT_CACHES = 3

if numba.config.DISABLE_JIT:
    # The 64-bit hashing of `randomness` wraps around on purpose; uncompiled, NumPy would warn.
    np.seterr(over="ignore")


def _user_cache() -> Path:
    named = os.environ.get("NUMBA_CACHE_DIR")
    return Path(named).absolute() if named else user_cache()


def _temporary_cache() -> Path:
    return Path(tempfile.gettempdir()) / f"greedyfirst-{getattr(os, 'getuid', lambda: 'user')()}"


def _source_hash() -> str:
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _make_cache(home: Path) -> Path:
    """The directory for this version of the source; older ones past the newest few are removed."""
    mine = home / "greedyfirst" / "kernels" / _source_hash()
    mine.mkdir(parents=True, exist_ok=True)
    mine.touch()
    others = sorted(
        (path for path in mine.parent.iterdir() if path != mine),
        key=lambda path: path.stat().st_mtime,
    )
    for old in others[: max(0, len(others) - _KEPT_CACHES + 1)]:
        shutil.rmtree(old, ignore_errors=True)
    return mine


def _cache_directory() -> str | None:
    """Where kernels are kept: the user's cache, else a temporary place, else nowhere."""
    for place in (_user_cache, _temporary_cache):
        try:
            return str(_make_cache(place()))
        except (OSError, RuntimeError):  # unwritable, or a user without a home
            continue
    return None


CACHE_DIRECTORY = _cache_directory()


def _remember_operations() -> None:
    """Let numba find out once what ``x[i]`` or ``a + b`` is for some types, not wherever it stands.

    It tries dozens of candidates each time. Only for what is compiled without reference counting:
    kernels, whose other options are the same as far as these operations go.
    """
    find = types.Function.get_call_type
    found: dict[Any, tuple[Any, Any]] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        if flags is None or flags.nrt:
            return find(self, context, args, kws)
        key = self, context, tuple(args), tuple(kws.items())
        if key not in found:
            signature = find(self, context, args, kws)
            found[key] = signature, self._impl_keys[signature.args]
        signature, implementation = found[key]
        self._impl_keys[signature.args] = implementation
        return signature

    types.Function.get_call_type = get_call_type


_remember_operations()


@contextmanager
def _without_collector() -> Iterator[None]:
    """Without Python's garbage collector, which would look at all of numba's objects again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_NUMBERS = count(1)


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """A kernel's code with that of the kernels it calls, neither optimised nor made machine code.

    Its callers take it in and optimise it with their own.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class RareKernelLibrary(KernelLibrary):
    """A kernel's code, to become short machine code: hardly any loop is unrolled or vectorised."""

    def add_ir_module(self, module: Any) -> None:
        """Mark the functions, then take them in."""
        for function in module.functions:
            if not function.is_declaration:
                function.attributes.add("optsize")
        super().add_ir_module(module)


#: Passes of numba's compiler for what no kernel has: closures, blocks of ``with``, loops over mixed
#: tuples, expressions of whole arrays, errors raised, variables that own memory.
UNNEEDED_PASSES = {
    "with_lifting",
    "inline_closure_likes",
    "make_function_op_code_to_jit_function",
    "Rewrite dynamic raises",
    "find_literally",
    "literal_unroll",
    "LiteralPropagation",
    "nopython_rewrites",
    "nopython_supported_feature_validation",
    "ir_legalization",
    "dump_parfor_diagnostics",
}


class ShortCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler without the passes for what kernels do not have."""

    def define_pipelines(self) -> list[Any]:
        """Numba's, shortened."""
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (each, text) for each, text in pipeline.passes if each.name() not in UNNEEDED_PASSES
            ]
            pipeline.finalize()
        return pipelines


class KernelCompiler(ShortCompiler):
    """The compiler without its last steps, optimised machine code for calls from Python.

    What kernels compile to is code for their callers to take in: machine code of their own would
    never be run.
    """

    library = KernelLibrary

    def __init__(self, *arguments: Any) -> None:
        flags = arguments[5]
        flags.no_compile = True
        super().__init__(*arguments)

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = self.library(codegen, self.state.func_id.func_qualname)
        return super()._compile_core()

    def compile_extra(self, function: Any) -> Any:
        """Compile; a call from Python gets a sentence that says why not.

        Numba knows compiled functions by what it would call: it must be a built-in function, and a
        different one for each.
        """
        result = super().compile_extra(function)
        name = f"{function.__name__}, compiled as number {next(_NUMBERS)}"
        entry_point = f"kernel {name}, is for compiled callers only".format
        context = self.state.targetctx
        context.insert_user_function(entry_point, result.fndesc, [result.library])
        return result._replace(entry_point=entry_point)


class RareKernelCompiler(KernelCompiler):
    """The kernels' compiler for what runs rarely."""

    library = RareKernelLibrary


#: Options of a kernel: without reference counting, since a kernel neither makes nor returns an
#: array, and the atomic counts of a state's arrays would cost more than its arithmetic; without the
#: wrappers for calls from Python and C.
KERNEL_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "pipeline_class": KernelCompiler,
}
INLINE_OPTIONS: dict[str, Any] = {**KERNEL_OPTIONS, "forceinline": True}
RARE_OPTIONS: dict[str, Any] = {**KERNEL_OPTIONS, "pipeline_class": RareKernelCompiler}


def kernel(function: Function) -> Function:
    """Compile ``function``, which works in place: it makes no array and returns none."""
    return cast(Function, numba.njit(**KERNEL_OPTIONS)(function))


def rare_kernel(function: Function) -> Function:
    """A kernel that few rounds run: its machine code is short, and made sooner."""
    return cast(Function, numba.njit(**RARE_OPTIONS)(function))


def inline_kernel(function: Function) -> Function:
    """A kernel whose machine code is copied into its callers: for what runs in every round."""
    return cast(Function, numba.njit(**INLINE_OPTIONS)(function))


def template_kernel(function: Function) -> Function:
    """A kernel whose source is copied into its callers, which lets it return views."""
    return cast(Function, numba.njit(**KERNEL_OPTIONS, inline="always")(function))


def _with_cache(compiler: Callable[..., Any], **options: Any) -> Any:
    """``compiler`` with these options, told to cache in our directory if there is one.

    Elsewhere nothing may be cached: numba's own choice of place is not keyed by the source.
    """
    if CACHE_DIRECTORY is None:
        return compiler(**options)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_DIRECTORY
    try:
        return compiler(**options, cache=True)
    finally:
        numba.config.CACHE_DIR = before


def _apply(decorator: Callable[..., Any], function: Any, **options: Any) -> Any:
    return decorator(**options)(function)


def entry_kernel(function: Function) -> Function:
    """A kernel for calls from Python, cached on disk with all that it calls."""
    compiler = partial(_apply, numba.njit, function)
    options = {
        "nogil": True,
        "error_model": "numpy",
        "_nrt": False,
        "no_cfunc_wrapper": True,
        "pipeline_class": ShortCompiler,
    }
    return cast(Function, _with_cache(compiler, **options))


def bind(function: Function, name: str, **functions: Any) -> Function:
    """``function`` as an entry kernel in which some names stand for these functions.

    The way to compile one loop around each policy's kernels: a function passed as an argument
    would not be found in the disk cache again.
    """
    bound = FunctionType(function.__code__, {**function.__globals__, **functions}, name)
    bound.__qualname__ = name
    return cast(Function, entry_kernel(bound))


class Routine:
    """A kernel that is compiled once, as a C function, and called by its address.

    Numba compiles all that a function calls into it, again for each caller. The models' updates are
    the bulk of the code of every policy: as routines they are compiled once for all of them.

    Parameters
    ----------
    signature
        In numba's words: int64 (addresses too) and float64; no result.
    cached
        Whether the C function is kept on disk.
    """

    def __init__(self, signature: str, *, cached: bool = True) -> None:
        self.signature, self.cached = signature, cached

    def __call__(self, function: Callable[..., None]) -> Routine:
        """Decorate ``function``; nothing is compiled before the address is asked for."""
        self.function = function
        return self

    @cached_property
    def compiled(self) -> Any:
        """The C function."""
        compiler = partial(_apply, partial(numba.cfunc, self.signature), self.function)
        if self.cached:
            compiler = partial(_with_cache, compiler)
        with _without_collector():
            return compiler(
                nopython=True, error_model="numpy", _nrt=False, pipeline_class=ShortCompiler
            )

    @property
    def address(self) -> int:
        """Where the C function is in this process; 0 when nothing is compiled."""
        return 0 if numba.config.DISABLE_JIT else int(self.compiled.address)


@intrinsic
def pointer(typingctx, array):  # type: ignore[no-untyped-def]
    """The address of a contiguous array's first element, in compiled code."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, context.get_value_type(types.int64))

    return types.int64(array), generate


def array_value(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    """The code that makes a contiguous array of this type at an address; it does not own it."""
    array = make_array(kind)(context, builder)
    itemsize = step = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    strides: list[Any] = []
    for length in reversed(lengths):
        strides.insert(0, step)
        step = builder.mul(step, length)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=lengths,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def array_at(typingctx, address, shape):  # type: ignore[no-untyped-def]
    """The contiguous float64 array of this shape at an address, in compiled code; not owned."""
    result = types.Array(types.float64, len(shape), "C")

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        lengths = [
            context.cast(builder, length, kind, types.intp)
            for length, kind in zip(cgutils.unpack_tuple(builder, args[1]), shape, strict=True)
        ]
        return array_value(context, builder, result, args[0], lengths)

    return result(address, shape), generate


@intrinsic
def call(typingctx, address, arguments):  # type: ignore[no-untyped-def]
    """Call the routine at ``address`` with a tuple of addresses and numbers, in compiled code."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        values = cgutils.unpack_tuple(builder, args[1])
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(address, arguments), generate


def entry(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """``function`` compiled for these arguments' types, without the look-up of types at each call.

    The look-up costs microseconds for records, the call itself a fraction of one. The result must
    be called with arguments of exactly the same types. A type may be given instead of an argument.
    """
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = cast(Any, function)
    signature = tuple(
        argument if isinstance(argument, types.Type) else numba.typeof(argument)
        for argument in arguments
    )
    with _without_collector():
        dispatcher.compile(signature)
    return cast(Callable[..., Any], dispatcher.overloads[signature].entry_point)
