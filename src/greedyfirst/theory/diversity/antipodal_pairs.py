"""Rows of a sample whose negatives are rows too: Lemma 1 for an empirical distribution."""

from __future__ import annotations

import numpy as np

from greedyfirst.validation import FloatArray

# The most different rows (up to sign) that are counted; for continuous rows counting stops before.
MOST_DISTINCT = 2**16
# Counting stops when more rows differ than this, and more than half of those seen.
PATIENCE = 1024


class AntipodalPairs:
    r"""Counts, for each x up to its sign, how often x and how often -x is a row.

    Of x and -x every half-space {xᵀu ≥ 0} keeps at least one, so for every u

    .. math:: \sum_i x_i x_i^\top 1\{x_i^\top u \ge 0\}
              \succeq \sum_{\{x,-x\}} \min(m_x, m_{-x})\, xx^\top .

    This is Lemma 1 for the sample itself, with W the rows that have an antipode and the rarer side
    as the mass. Samples of discrete laws have such pairs, those of continuous laws do not.
    """

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        self._seen = 0
        #: Row (its bytes, first non-zero entry positive) -> how often it and its negative occur.
        self._counts: dict[bytes, FloatArray] | None = {}

    def add(self, rows: FloatArray) -> None:
        """Count these rows (n, d), unless counting has stopped: too many were different."""
        if self._counts is None:
            return
        self._seen += len(rows)
        first = rows[np.arange(len(rows)), (rows != 0.0).argmax(axis=1)]
        signs = np.where(first < 0.0, -1.0, 1.0)
        # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
        turned = np.ascontiguousarray(rows * signs[:, np.newaxis] + 0.0)
        keys = turned.view(np.dtype((np.void, turned.dtype.itemsize * turned.shape[1])))[:, 0]
        distinct, places = np.unique(keys, return_inverse=True)
        positive = np.bincount(places, weights=signs > 0, minlength=len(distinct))
        negative = np.bincount(places, weights=signs < 0, minlength=len(distinct))
        for key, pair in zip(distinct, np.stack([positive, negative], axis=1), strict=True):
            name = key.tobytes()
            self._counts[name] = self._counts[name] + pair if name in self._counts else pair
        if len(self._counts) > min(MOST_DISTINCT, max(PATIENCE, self._seen // 2)):
            self._counts = None

    def n_distinct(self) -> int | None:
        """How many different rows were added; None if counting has stopped."""
        if self._counts is None:
            return None
        return sum(int((pair > 0).sum()) for pair in self._counts.values())

    def moment(self) -> FloatArray:
        """Σ min(m_x, m_{-x}) xxᵀ over the pairs (d, d)."""
        d = self._n_features
        if not self._counts:
            return np.zeros((d, d))
        rows = np.frombuffer(b"".join(self._counts), dtype=np.float64).reshape(-1, d)
        rarer = np.array(list(self._counts.values())).min(axis=1)
        result: FloatArray = (rows * rarer[:, np.newaxis]).T @ rows
        return result
