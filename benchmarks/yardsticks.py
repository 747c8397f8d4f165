"""What the library is measured against: greedy loops in C and NumPy, and the machine itself."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from greedyfirst.problems import Draw
from measure import SkippedError

FloatArray = NDArray[np.float64]

C_SOURCE = Path(__file__).resolve().parents[1].parent / "shared" / "yardstick" / "greedy_loop.c"
C_FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")  # as its comment says
PYTHON_LOOP_LENGTH = 5_000_000  # some tenths of a second
HASHED_BLOCKS, HASHED_BLOCK = 64, 2**20


@cache
def c_library() -> ctypes.CDLL:
    """``greedy_loop.c``, compiled now."""
    compiler = shutil.which(os.environ.get("CC") or "gcc")
    if compiler is None:
        raise SkippedError("no C compiler: neither $CC nor gcc is there")
    if not C_SOURCE.exists():
        raise SkippedError(f"no file {C_SOURCE}")
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "greedy_loop.so"
        subprocess.run([compiler, *C_FLAGS, str(C_SOURCE), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def c_greedy(draws: Iterable[Draw]) -> Callable[[], None]:
    """A call that plays Greedy on each instance with the C loop."""
    greedy = c_library().greedy
    pointer, long, integer = ctypes.POINTER(ctypes.c_double), ctypes.c_long, ctypes.c_int
    greedy.argtypes = [pointer] * 3 + [long] * 2 + [integer] * 2 + [pointer]
    greedy.restype = None
    calls = []
    for draw in draws:
        horizon, n_arms = draw.rewards.shape
        arrays = [part.ctypes.data_as(pointer) for part in draw]
        regret = np.empty(horizon).ctypes.data_as(pointer)  # the pointer keeps the array alive
        calls.append((*arrays, 1, horizon, n_arms, draw.contexts.shape[1], regret))

    def run() -> None:
        for arguments in calls:
            greedy(*arguments)

    return run


def numpy_draw(source: np.random.SeedSequence, horizon: int, n_features: int) -> Draw:
    """An instance of the benchmark's problem for two arms, in plain NumPy."""
    rng = np.random.default_rng(source)
    parameters = rng.standard_normal((2, n_features))
    contexts = rng.standard_normal((horizon, n_features))
    contexts *= np.sqrt(0.5)
    np.clip(contexts, -1.0, 1.0, out=contexts)
    noise = 0.5 * rng.standard_normal(horizon)
    expected = contexts @ parameters.T
    regrets = np.maximum(expected[:, 0], expected[:, 1])[:, np.newaxis] - expected
    expected += noise[:, np.newaxis]
    return Draw(contexts=contexts, rewards=expected, regrets=regrets)


def numpy_greedy(
    contexts: list[FloatArray],
    rewards: list[list[float]],
    estimates: FloatArray,
    inverses: FloatArray,
) -> None:
    """Greedy by Sherman-Morrison, one round at a time, in place.

    ``contexts`` are n vectors, ``rewards`` n lists with an entry for each arm, ``estimates``
    (n_arms, d) the arms' coefficients, ``inverses`` (n_arms, d, d) those of their Gram matrices.
    """
    coefficients, matrices = list(estimates), list(inverses)
    # `dot` and no `out`: at d = 3 the calls are what takes time, and these are the cheapest ones.
    for x, reward in zip(contexts, rewards, strict=True):
        scores = estimates.dot(x)
        arm = scores.argmax()
        matrix = matrices[arm]
        v = matrix.dot(x)
        gain = v / (1.0 + v.dot(x))
        matrix -= gain[:, np.newaxis] * v
        gain *= reward[arm] - scores[arm]
        coefficients[arm] += gain


def python_loop() -> int:
    """A fixed amount of pure Python, by which seconds of different machines can be compared."""
    total = 0
    for i in range(PYTHON_LOOP_LENGTH):
        total += i & 7
    return total


def hash_in_threads(n_threads: int) -> None:
    """A fixed amount of work without the GIL and without memory traffic, in threads."""
    block = bytes(HASHED_BLOCK)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda _: hashlib.sha256(block).digest(), range(HASHED_BLOCKS)))
