"""Contexts uniform on a ball or a box (§2.2, example 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.context_distributions.context_distribution import check_size
from greedyfirst.problems.frozen_array import count_dimensions, frozen_array
from greedyfirst.validation import FloatArray, number, whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class UniformBall:
    r"""Contexts uniform on the Euclidean ball of radius R around the origin (§2.2, example 1).

    .. math:: p_X(x) = 1/\mathrm{vol}(B_R^d)\ \text{for}\ \|x\|_2 \le R,
              \qquad E[x x^\top] = \frac{R^2}{d+2}\, I_d .

    A point is a uniform direction (a normalised Gaussian vector) times R·U^{1/d} with U uniform
    on [0, 1).

    Parameters
    ----------
    n_features : int
        The dimension d.
    radius : float
        R, the paper's x_max for this law.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import UniformBall
    >>> rows = UniformBall(n_features=3, radius=2.0).sample(np.random.default_rng(0), 1000)
    >>> bool(np.linalg.norm(rows, axis=1).max() <= 2.0)
    True
    """

    n_features: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        n_features = whole_number("n_features", self.n_features, at_least=1)
        object.__setattr__(self, "n_features", n_features)
        object.__setattr__(self, "radius", number("radius", self.radius, above=0))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = rng.standard_normal((check_size(size), self.n_features))
        lengths = rng.random(size)
        lengths **= 1.0 / self.n_features
        lengths *= self.radius
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        # A vector of exact zeros has no direction; it stays at the origin instead of becoming nan.
        lengths /= np.maximum(norms, np.finfo(np.float64).tiny)
        points *= lengths[:, np.newaxis]
        return points


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformBox:
    r"""Contexts with independent coordinates, x_i uniform on [-w_i, w_i] (§2.2, example 1).

    .. math:: E[x x^\top] = \mathrm{diag}(w_1^2, \dots, w_d^2) / 3 .

    Parameters
    ----------
    n_features : int
        The dimension d.
    half_width : float or array (n_features,)
        w, one number for all coordinates or one for each; above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import UniformBox
    >>> contexts = UniformBox(n_features=2, half_width=[1.0, 3.0])
    >>> rows = contexts.sample(np.random.default_rng(0), 1000)
    >>> (np.abs(rows).max(axis=0) <= [1.0, 3.0]).tolist()
    [True, True]
    """

    n_features: int
    half_width: ArrayLike = 1.0

    def __post_init__(self) -> None:
        n_features = whole_number("n_features", self.n_features, at_least=1)
        object.__setattr__(self, "n_features", n_features)
        if count_dimensions("half_width", self.half_width) == 0:
            width: float | FloatArray = number("half_width", self.half_width, above=0)
        else:
            width = frozen_array("half_width", self.half_width, (n_features,))
            if (width <= 0).any():
                raise wrong("half_width", self.half_width, "above 0 in every coordinate")
        object.__setattr__(self, "half_width", width)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = rng.random((check_size(size), self.n_features))
        points -= 0.5
        points *= 2.0 * np.asarray(self.half_width)
        return points
