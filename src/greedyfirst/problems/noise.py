"""Laws of the noise ε in a reward, each with mean 0 and sub-Gaussian as in §2 of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from greedyfirst.validation import FloatArray, number, whole_number, wrong


@runtime_checkable
class Noise(Protocol):
    """A law of independent noises with mean 0.

    Examples
    --------
    Anything with ``sigma`` and ``sample(rng, size)`` is one:

    >>> from greedyfirst.problems import TwoPointNoise
    >>> TwoPointNoise(magnitude=0.5).sigma
    0.5
    """

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw noises as a float64 array (size,)."""
        ...


def check_noise(name: str, value: Any) -> Noise:
    """Return ``value`` if it has ``sigma`` and ``sample``, and name the argument if not."""
    if not isinstance(value, Noise) or isinstance(value, type):
        raise wrong(name, value, "a noise (with sigma and sample(rng, size))")
    return value


@dataclass(frozen=True, kw_only=True)
class GaussianNoise:
    """ε ~ N(0, sigma²), the noise of the paper's simulations.

    Parameters
    ----------
    sigma : float
        The standard deviation; 0 gives rewards without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import GaussianNoise
    >>> noise = GaussianNoise(sigma=2.0).sample(np.random.default_rng(0), 10_000)
    >>> bool(abs(noise.std() - 2.0) < 0.05)
    True
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", number("sigma", self.sigma, at_least=0))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw noises (size,)."""
        noises = rng.standard_normal(whole_number("size", size, at_least=0))
        noises *= self.sigma
        return noises


@dataclass(frozen=True, kw_only=True)
class UniformNoise:
    """ε uniform on [-half_width, half_width]: bounded, with sigma = half_width / √3.

    Parameters
    ----------
    half_width : float
        The largest noise; 0 gives rewards without noise.

    Examples
    --------
    >>> from greedyfirst.problems import UniformNoise
    >>> round(UniformNoise(half_width=3.0).sigma, 4)  # 3/√3
    1.7321
    """

    half_width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_width", number("half_width", self.half_width, at_least=0))

    @property
    def sigma(self) -> float:
        """The standard deviation half_width / √3."""
        return self.half_width / math.sqrt(3)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw noises (size,)."""
        noises = rng.random(whole_number("size", size, at_least=0))
        noises -= 0.5
        noises *= 2.0 * self.half_width
        return noises


@dataclass(frozen=True, kw_only=True)
class TwoPointNoise:
    """ε is +magnitude or -magnitude with equal chance, so sigma = magnitude.

    Parameters
    ----------
    magnitude : float
        The absolute value of every noise; 0 gives rewards without noise.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import TwoPointNoise
    >>> noise = TwoPointNoise(magnitude=0.5).sample(np.random.default_rng(0), 100)
    >>> sorted(set(noise.tolist()))
    [-0.5, 0.5]
    """

    magnitude: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "magnitude", number("magnitude", self.magnitude, at_least=0))

    @property
    def sigma(self) -> float:
        """The standard deviation, equal to magnitude."""
        return self.magnitude

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw noises (size,)."""
        bits = rng.integers(0, 2, size=whole_number("size", size, at_least=0), dtype=np.int8)
        noises = bits.astype(np.float64)
        noises -= 0.5
        noises *= 2.0 * self.magnitude
        return noises
