"""Contexts on the corners of the cube {-1, +1}^d (§2.2, example 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.context_distributions.context_distribution import check_size
from greedyfirst.problems.frozen_array import frozen_array
from greedyfirst.validation import FloatArray, number, whole_number, wrong

# The table of probabilities has 2^d entries; 2^16 corners of 16 coordinates take 8 MB.
LARGEST_ENUMERATED_DIMENSION = 16


@dataclass(frozen=True, kw_only=True)
class Rademacher:
    r"""Contexts with independent fair signs: uniform on {-s, +s}^d (§2.2, example 3 with J = 0).

    .. math:: p_X(x) = 2^{-d}, \qquad E[x x^\top] = s^2 I_d .

    Parameters
    ----------
    n_features : int
        The dimension d.
    scale : float
        s, the size of each feature.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import Rademacher
    >>> rows = Rademacher(n_features=2, scale=0.5).sample(np.random.default_rng(0), 100)
    >>> sorted(set(rows.ravel().tolist()))
    [-0.5, 0.5]
    """

    n_features: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        n_features = whole_number("n_features", self.n_features, at_least=1)
        object.__setattr__(self, "n_features", n_features)
        object.__setattr__(self, "scale", number("scale", self.scale, above=0))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        bits = rng.integers(0, 2, size=(check_size(size), self.n_features), dtype=np.int8)
        signs = bits.astype(np.float64)
        signs *= 2.0 * self.scale
        signs -= self.scale
        return signs


@dataclass(frozen=True, kw_only=True, eq=False)
class Gibbs:
    r"""Contexts on {-1, +1}^d with pairwise couplings (§2.2, example 3).

    .. math:: p_X(x) = \frac{1}{Z} \exp\Bigl( \sum_{1 \le i,j \le d} J_{ij} x_i x_j \Bigr) .

    The sum runs over ordered pairs, so a symmetric J counts each pair twice, and the diagonal
    only changes Z. Sampling is exact: the 2^d probabilities are computed once, and a context is
    one uniform number looked up in their cumulative sums, O(d) each.

    Parameters
    ----------
    couplings : array (d, d)
        J; symmetric or not, d at most 16.

    Attributes
    ----------
    states : array (2^d, d)
        The corners, read-only; coordinate i of corner s is +1 where bit i of s is set.
    probabilities : array (2^d,)
        Their probabilities, read-only.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import Gibbs
    >>> contexts = Gibbs(couplings=np.zeros((2, 2)))
    >>> contexts.probabilities.round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    couplings: ArrayLike
    states: FloatArray = field(init=False, repr=False)
    probabilities: FloatArray = field(init=False, repr=False)
    _cumulative: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        J = frozen_array("couplings", self.couplings, (None, None))
        d = J.shape[0]
        if J.shape != (d, d):
            raise wrong("couplings", J.shape, "a square array (d, d)")
        if d > LARGEST_ENUMERATED_DIMENSION:
            expected = (
                f"of dimension at most {LARGEST_ENUMERATED_DIMENSION}, "
                "since sampling enumerates all 2^d states"
            )
            raise wrong("couplings", J.shape, expected)
        bits = (np.arange(2**d)[:, np.newaxis] >> np.arange(d)) & 1
        states = 2.0 * bits - 1.0
        exponents = ((states @ J) * states).sum(axis=1)
        weights = np.exp(exponents - exponents.max())
        probabilities = weights / weights.sum()
        cumulative = np.cumsum(probabilities)
        # The last entry becomes exactly 1, so a uniform number below 1 always finds a state.
        cumulative /= cumulative[-1]
        for table in (states, probabilities):
            table.flags.writeable = False
        object.__setattr__(self, "couplings", J)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "probabilities", probabilities)
        object.__setattr__(self, "_cumulative", cumulative)

    @property
    def n_features(self) -> int:
        """The dimension d."""
        return int(self.states.shape[1])

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        drawn = np.searchsorted(self._cumulative, rng.random(check_size(size)), side="right")
        return self.states.take(drawn, axis=0)
