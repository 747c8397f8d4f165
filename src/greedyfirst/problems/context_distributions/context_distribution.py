"""What every context distribution offers."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from greedyfirst.validation import FloatArray, whole_number, wrong


@runtime_checkable
class ContextDistribution(Protocol):
    """A law p_X of contexts on R^d (§2 of the paper); contexts of a run are drawn from it.

    Examples
    --------
    Anything with ``n_features`` and ``sample(rng, size)`` is one:

    >>> import numpy as np
    >>> from greedyfirst.problems import UniformBall
    >>> UniformBall(n_features=3).sample(np.random.default_rng(0), 10).shape
    (10, 3)
    """

    @property
    def n_features(self) -> int:
        """The dimension d of a context."""
        ...

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw ``size`` contexts as a C-contiguous float64 array (size, n_features)."""
        ...


def check_distribution(name: str, value: Any) -> ContextDistribution:
    """Return ``value`` if it has ``n_features`` and ``sample``, and name the argument if not."""
    if not isinstance(value, ContextDistribution) or isinstance(value, type):
        raise wrong(name, value, "a context distribution (with n_features and sample(rng, size))")
    whole_number(f"{name}.n_features", value.n_features, at_least=1)
    return value


def check_size(size: int) -> int:
    """Return ``size`` if it is a whole number at least 0."""
    return whole_number("size", size, at_least=0)
