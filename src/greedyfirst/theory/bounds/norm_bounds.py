"""x_max of Assumption 1: the largest norm that a context distribution can give."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from greedyfirst.problems.context_distributions import (
    ClippedGaussian,
    ContextDistribution,
    FromArray,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithinBall,
    WithIntercept,
)
from greedyfirst.validation import FloatArray


@singledispatch
def largest_norm(contexts: ContextDistribution) -> float | None:
    """A bound of ‖x‖ that holds for every context of the law; None if no bound is known.

    For a law of your own, register a function with ``largest_norm.register``.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBall
    >>> from greedyfirst.theory import largest_norm
    >>> largest_norm(UniformBall(n_features=3, radius=2.0))
    2.0
    """
    return None


@largest_norm.register
def _(contexts: UniformBall) -> float | None:
    return contexts.radius


@largest_norm.register
def _(contexts: UniformBox) -> float | None:
    widths = np.broadcast_to(np.asarray(contexts.half_width), contexts.n_features)
    return float(np.linalg.norm(widths))


@largest_norm.register
def _(contexts: TruncatedGaussian) -> float | None:
    if contexts.norm == "l2":
        return contexts.bound
    return contexts.bound * math.sqrt(contexts.n_features)


@largest_norm.register
def _(contexts: ClippedGaussian) -> float | None:
    box = contexts.bound * math.sqrt(contexts.n_features)
    return box if contexts.ball_radius is None else min(box, contexts.ball_radius)


@largest_norm.register
def _(contexts: Rademacher) -> float | None:
    return contexts.scale * math.sqrt(contexts.n_features)


@largest_norm.register
def _(contexts: Gibbs) -> float | None:
    return math.sqrt(contexts.n_features)


@largest_norm.register
def _(contexts: FromArray) -> float | None:
    rows: FloatArray = np.asarray(contexts.rows)
    return float(np.linalg.norm(rows, axis=1).max())


@largest_norm.register
def _(contexts: Product) -> float | None:
    return _together([largest_norm(part) for part in contexts.parts])


@largest_norm.register
def _(contexts: WithIntercept) -> float | None:
    return _together([1.0, largest_norm(contexts.contexts)])


@largest_norm.register
def _(contexts: WithinBall) -> float | None:
    inner = largest_norm(contexts.contexts)
    return contexts.radius if inner is None else min(inner, contexts.radius)


def _together(bounds: list[float | None]) -> float | None:
    """The bound for a context that is a concatenation of blocks with these bounds."""
    known = [bound for bound in bounds if bound is not None]
    return math.hypot(*known) if len(known) == len(bounds) else None
