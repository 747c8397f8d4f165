"""Rows whose columns depend on one another exactly."""

import numpy as np


def dependent_rows(rng, n, d, rank):
    """Whole numbers: what is dependent is so exactly, what is not is well conditioned."""
    mixing = np.hstack([np.eye(rank), rng.integers(-1, 2, size=(rank, d - rank))])
    return rng.integers(-3, 4, size=(n, rank)) @ mixing @ np.eye(d)[rng.permutation(d)]
