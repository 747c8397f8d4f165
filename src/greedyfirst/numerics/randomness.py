"""Random draws as pure functions of (seed, step, index): no generator to store or share.

A *stream* is a 64-bit key made from (seed, step). Draw number ``index`` of a stream is the
SplitMix64 output for that position: ``mix(stream + (index + 1) * golden)`` (Steele, Lea and Flood,
*Fast splittable pseudorandom number generators*, 2014; the mixing constants are Stafford's
variant 13). Any draw can be made again from three integers, in any order and on any thread.
"""

from __future__ import annotations

import math

import numpy as np

from greedyfirst.compiling.kernels import inline_kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@inline_kernel
def mix(z: np.uint64) -> np.uint64:
    """A bijection of the 64-bit integers in which each input bit flips half the output bits."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@inline_kernel
def stream(seed: int, step: int) -> np.uint64:
    """The key of the draws that belong to ``step`` of the run with this ``seed``."""
    return mix(mix(np.uint64(seed) + _GOLDEN) ^ (np.uint64(step) * _GOLDEN))


@inline_kernel
def uniform(rng: np.uint64, index: int) -> float:
    """Draw ``index`` of the stream: uniform on [0, 1) with 53 bits."""
    return float(mix(rng + (np.uint64(index) + _ONE) * _GOLDEN) >> _11) * _UNIT


@inline_kernel
def normal(rng: np.uint64, index: int) -> float:
    """Draw ``index`` of the stream, standard normal (Box-Muller on uniforms 2i and 2i+1)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(rng, 2 * index)))
    return radius * math.cos(2.0 * math.pi * uniform(rng, 2 * index + 1))
