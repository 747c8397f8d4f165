"""Contexts supplied by the user: an array of rows, or a function that draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.context_distributions.context_distribution import check_size
from greedyfirst.problems.frozen_array import frozen_array
from greedyfirst.validation import FloatArray, array, choice, whole_number, wrong


@dataclass(frozen=True, kw_only=True, eq=False)
class FromArray:
    """Contexts that are rows of an array.

    Parameters
    ----------
    rows : array (n, d)
        The contexts to choose from.
    order : {"random", "given"}
        "random" draws rows uniformly with replacement; "given" takes the first rows in their
        order, without randomness, and refuses a sample longer than the array.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import FromArray
    >>> rows = FromArray(rows=[[1.0, 2.0], [3.0, 4.0]], order="given")
    >>> rows.sample(np.random.default_rng(0), 2).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """

    rows: ArrayLike
    order: str = "random"
    _rows: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = frozen_array("rows", self.rows, (None, None))
        choice("order", self.order, ("random", "given"))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "_rows", rows)

    @property
    def n_features(self) -> int:
        """The number of columns of ``rows``."""
        return int(self._rows.shape[1])

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        n_rows = len(self._rows)
        if self.order == "random":
            return self._rows.take(rng.integers(n_rows, size=check_size(size)), axis=0)
        if check_size(size) > n_rows:
            expected = f"at most {n_rows}, the number of rows given in order"
            raise wrong("size (a problem's horizon)", size, expected)
        return self._rows[:size].copy()


@dataclass(frozen=True, kw_only=True)
class FromFunction:
    """Contexts drawn by the user's own function; what it returns is checked at every call.

    Parameters
    ----------
    n_features : int
        The dimension d.
    draw : callable
        ``draw(rng, size)`` returns finite numbers of shape (size, n_features). It should take
        all its randomness from ``rng``, or runs will not repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import FromFunction
    >>> draw = lambda rng, size: rng.exponential(size=(size, 2))
    >>> contexts = FromFunction(n_features=2, draw=draw)
    >>> contexts.sample(np.random.default_rng(0), 5).shape
    (5, 2)
    """

    n_features: int
    draw: Callable[[np.random.Generator, int], ArrayLike]

    def __post_init__(self) -> None:
        n_features = whole_number("n_features", self.n_features, at_least=1)
        object.__setattr__(self, "n_features", n_features)
        if not callable(self.draw):
            raise wrong("draw", self.draw, "a function draw(rng, size)")

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        drawn = self.draw(rng, check_size(size))
        # Copied, since the function may hand out an array that it keeps.
        return array("draw(rng, size)", drawn, (size, self.n_features)).copy()
