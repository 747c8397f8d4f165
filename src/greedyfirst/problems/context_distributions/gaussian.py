"""Gaussian contexts made bounded, by truncation or by clipping (§2.2, example 2)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.context_distributions.context_distribution import check_size
from greedyfirst.problems.covariance import read_covariance, scale_normals, take_root
from greedyfirst.validation import FloatArray, choice, number, whole_number, wrong

# A bound that keeps fewer proposals than this is refused: each context would cost over 10^4 draws.
LEAST_ACCEPTANCE = 1e-4
# Proposals before the acceptance is judged; at 2 * LEAST_ACCEPTANCE a false refusal has a chance
# of about 0.3 % (fewer than 13.1 of an expected 26.2), at 4 * LEAST_ACCEPTANCE below 1e-9.
JUDGED_AFTER = 2**17
# Rows in one batch of proposals: large enough for NumPy's loops, small enough for the cache.
SMALLEST_BATCH, LARGEST_BATCH = 64, 2**15


@dataclass(frozen=True, kw_only=True, eq=False)
class _Gaussian:
    """The shared part of the bounded Gaussians: N(0, covariance) and its bound."""

    n_features: int
    bound: float
    covariance: ArrayLike = 1.0
    _root: float | FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_features = whole_number("n_features", self.n_features, at_least=1)
        covariance = read_covariance("covariance", self.covariance, n_features)
        object.__setattr__(self, "n_features", n_features)
        object.__setattr__(self, "bound", number("bound", self.bound, above=0))
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_root", take_root(covariance))

    def _sample_unbounded(self, rng: np.random.Generator, size: int) -> FloatArray:
        return scale_normals(rng.standard_normal((size, self.n_features)), self._root)


@dataclass(frozen=True, kw_only=True, eq=False)
class TruncatedGaussian(_Gaussian):
    r"""N(0, Σ) conditioned on a norm at most ``bound`` (§2.2, example 2).

    .. math:: p_X(x) \propto \exp(-x^\top \Sigma^{-1} x / 2)\ \text{for}\ \|x\| \le x_{\max} .

    Exact, by rejection: whole vectors are proposed from N(0, Σ) and kept inside the bound. A
    sample costs about size / P(‖x‖ ≤ bound) proposals.

    Parameters
    ----------
    n_features : int
        The dimension d.
    bound : float
        x_max.
    covariance : float, array (n_features,) or array (n_features, n_features)
        Σ before truncation: ``v`` for v·I, a vector for the diagonal, or the matrix (positive
        semi-definite).
    norm : {"l2", "linf"}
        The norm that is bounded: the Euclidean one of §2.2, or the largest absolute coordinate
        of the text on Figure 2.

    Raises
    ------
    ValueError
        By `sample`, when fewer than about one proposal in 10 000 falls inside the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import TruncatedGaussian
    >>> contexts = TruncatedGaussian(n_features=2, bound=1.0)
    >>> rows = contexts.sample(np.random.default_rng(0), 1000)
    >>> bool(np.linalg.norm(rows, axis=1).max() <= 1.0)
    True
    """

    norm: str = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("norm", self.norm, ("l2", "linf"))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = np.empty((check_size(size), self.n_features))
        filled = proposed = accepted = 0
        while filled < size:
            # One imaginary acceptance keeps the guess finite before the first real one.
            guess = (accepted + 1) / (proposed + 1)
            wanted = int(1.05 * (size - filled) / guess)
            batch = min(max(wanted, SMALLEST_BATCH), LARGEST_BATCH)
            proposals = self._sample_unbounded(rng, batch)
            inside = proposals[self._is_inside(proposals)]
            proposed += batch
            accepted += len(inside)
            self._refuse_hopeless_bound(proposed, accepted)
            taken = min(len(inside), size - filled)
            points[filled : filled + taken] = inside[:taken]
            filled += taken
        return points

    def _is_inside(self, points: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if self.norm == "l2":
            squares: FloatArray = np.einsum("ij,ij->i", points, points)
            return squares <= self.bound**2
        return np.asarray((np.abs(points) <= self.bound).all(axis=1))

    def _refuse_hopeless_bound(self, proposed: int, accepted: int) -> None:
        if proposed >= JUDGED_AFTER and accepted < LEAST_ACCEPTANCE * proposed:
            raise wrong(
                "bound",
                self.bound,
                f"large enough to keep a fraction {LEAST_ACCEPTANCE:g} of N(0, covariance) in the "
                f"{self.norm} norm ({accepted} of {proposed} proposals were kept)",
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class ClippedGaussian(_Gaussian):
    r"""N(0, Σ) with each coordinate clipped to [-bound, bound].

    .. math:: x_i = \min(\max(z_i, -b), b), \qquad z \sim N(0, \Sigma) ,

    and, when ``ball_radius`` r is given, ``x`` is then multiplied by min(1, r / ‖x‖₂). One call
    of the generator, then in-place passes over the array.

    Parameters
    ----------
    n_features : int
        The dimension d.
    bound : float
        b, the largest absolute value of a coordinate.
    covariance : float, array (n_features,) or array (n_features, n_features)
        Σ before clipping: ``v`` for v·I, a vector for the diagonal, or the matrix (positive
        semi-definite).
    ball_radius : float or None
        r, the radius of the ball onto which longer rows are scaled; None leaves them.

    Departure from the paper
    ------------------------
    The text truncates (`TruncatedGaussian`). The published Figure 2 clips coordinates, and
    Figure 3 clips and then scales onto a ball: this is the law of those figures. It puts atoms
    on the faces of the box.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import ClippedGaussian
    >>> contexts = ClippedGaussian(n_features=2, bound=0.5)
    >>> bool(np.abs(contexts.sample(np.random.default_rng(0), 1000)).max() <= 0.5)
    True
    """

    ball_radius: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ball_radius is not None:
            radius = number("ball_radius", self.ball_radius, above=0)
            object.__setattr__(self, "ball_radius", radius)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = self._sample_unbounded(rng, check_size(size))
        np.clip(points, -self.bound, self.bound, out=points)
        if self.ball_radius is not None:
            norms = np.sqrt(np.einsum("ij,ij->i", points, points))
            # The factor is exactly 1 for rows inside the ball, so they are left as they are.
            points *= (self.ball_radius / np.maximum(norms, self.ball_radius))[:, np.newaxis]
        return points
