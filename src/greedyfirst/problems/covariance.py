"""One way to say a covariance: a number, a diagonal or a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.frozen_array import count_dimensions, frozen_array
from greedyfirst.validation import FloatArray, number, wrong

# Relative size of the asymmetry and of the negative eigenvalues that rounding alone can produce.
ROUNDING = 1e-10


def read_covariance(name: str, value: ArrayLike, n_features: int) -> float | FloatArray:
    """Check a covariance for ``n_features`` coordinates.

    Parameters
    ----------
    name : str
        The argument's name, for the error.
    value : float, array (n_features,) or array (n_features, n_features)
        ``v`` for v·I, a vector for the diagonal, or a symmetric positive semi-definite matrix.
    n_features : int
        The dimension d.

    Returns
    -------
    float, array (n_features,) or array (n_features, n_features)
        In the form it was given; arrays are read-only copies.
    """
    n_dimensions = count_dimensions(name, value)
    if n_dimensions == 0:
        return number(name, value, at_least=0)
    if n_dimensions == 1:
        diagonal = frozen_array(name, value, (n_features,))
        if (diagonal < 0).any():
            raise wrong(name, value, "a vector of variances at least 0")
        return diagonal
    matrix = frozen_array(name, value, (n_features, n_features))
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > ROUNDING * scale:
        raise wrong(name, value, "a symmetric matrix")
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest < -ROUNDING * n_features * scale:
        raise wrong(
            name, value, f"positive semi-definite (its smallest eigenvalue is {smallest:.3g})"
        )
    return matrix


def take_root(covariance: float | FloatArray) -> float | FloatArray:
    """Find the symmetric root S with S·S = ``covariance``, in the form of ``covariance``.

    The symmetric root, unlike an eigenvector factor, does not depend on the signs that LAPACK
    happens to choose, so a seed gives the same numbers on every machine up to rounding.

    Parameters
    ----------
    covariance : float, array (d,) or array (d, d)
        As returned by `read_covariance`.

    Returns
    -------
    float, array (d,) or array (d, d)
        Standard deviation, standard deviations, or the symmetric matrix root.
    """
    if isinstance(covariance, float):
        return float(np.sqrt(covariance))
    if covariance.ndim == 1:
        return np.sqrt(covariance)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root: FloatArray = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return root


def scale_normals(normals: FloatArray, root: float | FloatArray) -> FloatArray:
    """Turn rows of N(0, I) into rows of N(0, root·root).

    Parameters
    ----------
    normals : array (n, d)
        Independent standard normals; overwritten unless ``root`` is a matrix.
    root : float, array (d,) or array (d, d)
        As returned by `take_root`.

    Returns
    -------
    array (n, d)
        ``normals`` itself, or a new array when ``root`` is a matrix.
    """
    if isinstance(root, float) or root.ndim == 1:
        normals *= root
        return normals
    return normals @ root
