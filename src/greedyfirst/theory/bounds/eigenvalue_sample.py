"""P[λ_min(X₁:ₘ' X₁:ₘ) ≥ δ] for m random contexts, by simulation, with confidence bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from greedyfirst.problems.context_distributions.context_distribution import (
    ContextDistribution,
    check_distribution,
)
from greedyfirst.theory.bounds.assumption_errors import POSITIVE, required_by
from greedyfirst.validation import FloatArray, array, number, whole_number, wrong

# Numbers drawn at a time: 32 MB of contexts.
LARGEST_BATCH = 4 * 10**6
# A smallest eigenvalue below this share of the largest is rounding error: it is set to 0.
SINGULAR = 1e-13
# Successive ranks at which a lower confidence bound is taken differ by this factor.
RANK_FACTOR = 1.08


@dataclass(frozen=True, kw_only=True, eq=False)
class EigenvalueSample:
    """Independent draws of λ_min of m contexts' Gram matrix.

    Parameters
    ----------
    rows : int
        m, contexts in each Gram matrix.
    values : array (n,)
        The draws; kept sorted.

    Examples
    --------
    Two contexts that are signs are parallel with probability 1/2:

    >>> from greedyfirst.problems import Rademacher
    >>> from greedyfirst.theory import EigenvalueSample
    >>> law = Rademacher(n_features=2)
    >>> sample = EigenvalueSample.draw(law, rows=2, n_samples=10_000, seed=1)
    >>> bool(abs(sample.positive_share - 0.5) < 0.02)
    True
    """

    rows: int
    values: FloatArray

    def __post_init__(self) -> None:
        whole_number("rows", self.rows, at_least=1)
        values = np.sort(array("values", self.values, (None,)))
        if not len(values):
            raise wrong("values", self.values, "at least one draw")
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    @classmethod
    def draw(
        cls, contexts: ContextDistribution, *, rows: int, n_samples: int = 50_000, seed: int
    ) -> EigenvalueSample:
        """Draw ``n_samples`` Gram matrices of ``rows`` contexts each. Cost n·m·d².

        Parameters
        ----------
        contexts
            The law of a context.
        rows
            m, at least d: fewer contexts never span R^d.
        n_samples, seed
            The number of draws and the only source of randomness.
        """
        d = check_distribution("contexts", contexts).n_features
        with required_by(POSITIVE):
            rows = whole_number("rows", rows, at_least=d)
        n_samples = whole_number("n_samples", n_samples, at_least=100)
        rng = np.random.default_rng(whole_number("seed", seed, at_least=0))
        batch = max(1, LARGEST_BATCH // (rows * d))
        parts = [
            _smallest(contexts.sample(rng, size * rows).reshape(size, rows, d))
            for size in (min(batch, n_samples - at) for at in range(0, n_samples, batch))
        ]
        return cls(rows=rows, values=np.concatenate(parts))

    @property
    def positive_share(self) -> float:
        """The share of draws above 0: an estimate of P[λ_min > 0]."""
        return float(np.mean(self.values > 0))

    def survivors(self) -> tuple[FloatArray, FloatArray]:
        """Thresholds δ above 0, ascending, and the share of draws at or above each.

        The share is a step function of δ that falls just after each draw. Everything else in the
        failure bound falls with δ. So its infimum over δ is attained at one of the draws, and only
        these need to be searched.
        """
        n = len(self.values)
        first = int(np.searchsorted(self.values, 0.0, side="right"))
        thresholds = self.values[first:]
        return thresholds, (n - np.arange(first, n)) / n

    def confident_survivors(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        r"""Thresholds δ and lower bounds of P[λ_min ≥ δ], all true at once with ``confidence``.

        P[λ_min < λ₍ᵣ₎], at the r-th smallest of n draws, has a Beta(r, n-r+1) law, or lies below
        one where the law of λ_min has atoms. Its upper quantile is the Clopper-Pearson bound.
        It is taken at ranks fixed beforehand, in geometric progression, and the error is shared
        equally among them (Bonferroni). Near probability 1, which matters most, this is far sharper
        than a band of constant width.
        """
        alpha = 1 - number("confidence", confidence, above=0, below=1)
        n = len(self.values)
        ranks = _ranks(n)
        lower = stats.beta.ppf(alpha / len(ranks), n - ranks + 1, ranks)
        thresholds = self.values[ranks - 1]
        kept = thresholds > 0
        return thresholds[kept], lower[kept]


def _ranks(n: int) -> NDArray[np.int64]:
    """1, 2, 3, … in steps that grow geometrically, up to n."""
    count = math.ceil(math.log(n) / math.log(RANK_FACTOR)) + 1
    return np.unique(np.ceil(RANK_FACTOR ** np.arange(count)).clip(1, n).astype(np.int64))


def _smallest(contexts: FloatArray) -> FloatArray:
    """λ_min of each Gram matrix (n,), exactly 0 where it is singular to rounding."""
    gram = np.einsum("nmi,nmj->nij", contexts, contexts)
    values = np.linalg.eigvalsh(gram)
    smallest: FloatArray = values[:, 0]
    smallest[smallest <= SINGULAR * values[:, -1]] = 0.0
    return smallest
