"""Context distributions made of others: blocks, an intercept, a bound on the norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from greedyfirst.problems.context_distributions.context_distribution import (
    ContextDistribution,
    check_distribution,
    check_size,
)
from greedyfirst.validation import FloatArray, number, wrong


@dataclass(frozen=True, kw_only=True)
class Product:
    r"""Independent blocks side by side: x = (x⁽¹⁾, x⁽²⁾, …), each block from its own law.

    The end of §2.2 builds mixed discrete and continuous contexts this way: they keep covariate
    diversity when all blocks but one have mean 0 and satisfy Lemma 1 on their whole support.

    Parameters
    ----------
    parts : sequence of context distributions
        The blocks, in the order of their columns; they are sampled in that order.

    Examples
    --------
    >>> from greedyfirst.problems import Product, Rademacher, UniformBox
    >>> Product(parts=[UniformBox(n_features=3), Rademacher(n_features=2)]).n_features
    5
    """

    parts: Sequence[ContextDistribution]
    n_features: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or not self.parts:
            raise wrong("parts", self.parts, "a non-empty sequence of context distributions")
        parts = tuple(check_distribution(f"parts[{i}]", part) for i, part in enumerate(self.parts))
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "n_features", sum(part.n_features for part in parts))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = np.empty((check_size(size), self.n_features))
        start = 0
        for part in self.parts:
            points[:, start : start + part.n_features] = part.sample(rng, size)
            start += part.n_features
        return points


@dataclass(frozen=True, kw_only=True)
class WithIntercept:
    """Contexts (1, x): a first feature that is always 1, then a context from ``contexts``.

    The setting of Figure 2 (c, d), in which covariate diversity fails.

    Parameters
    ----------
    contexts : context distribution
        The law of the other features.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import UniformBox, WithIntercept
    >>> rows = WithIntercept(contexts=UniformBox(n_features=2)).sample(np.random.default_rng(0), 3)
    >>> rows[:, 0].tolist()
    [1.0, 1.0, 1.0]
    """

    contexts: ContextDistribution

    def __post_init__(self) -> None:
        check_distribution("contexts", self.contexts)

    @property
    def n_features(self) -> int:
        """One more than the features of ``contexts``."""
        return self.contexts.n_features + 1

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = np.empty((check_size(size), self.n_features))
        points[:, 0] = 1.0
        points[:, 1:] = self.contexts.sample(rng, size)
        return points


@dataclass(frozen=True, kw_only=True)
class WithinBall:
    """Contexts of ``contexts`` with a norm at most ``radius``: longer ones are scaled down to it.

    The setting of Figure 3.

    Parameters
    ----------
    contexts : context distribution
        The law of the contexts before.
    radius : float
        The largest norm.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import FromArray, WithinBall
    >>> rows = FromArray(rows=[[3.0, 4.0], [0.3, 0.4]], order="given")
    >>> WithinBall(contexts=rows, radius=1.0).sample(np.random.default_rng(0), 2).round(6).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    """

    contexts: ContextDistribution
    radius: float

    def __post_init__(self) -> None:
        check_distribution("contexts", self.contexts)
        object.__setattr__(self, "radius", number("radius", self.radius, above=0))

    @property
    def n_features(self) -> int:
        """The features of ``contexts``."""
        return self.contexts.n_features

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw contexts (size, n_features)."""
        points = np.array(self.contexts.sample(rng, check_size(size)), dtype=np.float64)
        norms = np.sqrt(np.einsum("ni,ni->n", points, points))
        points /= np.maximum(norms / self.radius, 1.0)[:, np.newaxis]
        return points
