"""What policies ask of an arm's posterior, whichever model it is.

The model's type selects the answer: :mod:`~greedyfirst.models.gaussian_posterior` has a prior that
is given, in the units of features and rewards; :mod:`~greedyfirst.models.learned_ridge` learns one,
and no unit matters (:mod:`~greedyfirst.models.first_ridge` is that of rule 1);
:mod:`~greedyfirst.models.generalized_linear` has the likelihood's curvature.
"""

from __future__ import annotations

from typing import Any

from greedyfirst.compiling.families import by_record
from greedyfirst.validation import FloatArray


@by_record
def observe(model: Any, arm: int, x: FloatArray, y: float, noise_variance: float) -> None:
    """Take in one row of linear rewards; a prior that is learned learns the noise too."""


@by_record
def prepare(model: Any, x: FloatArray) -> None:
    """Get ready for questions about this context: the others that take x are about it."""


@by_record
def mean(model: Any, arm: int, x: FloatArray) -> float:
    """x'β by the arm's estimate."""
    raise NotImplementedError


@by_record
def variance(model: Any, arm: int, x: FloatArray) -> float:
    """Var(x'β) by the posterior, over the square of :func:`noise_scale`."""
    raise NotImplementedError


@by_record
def form(model: Any, matrix: FloatArray, x: FloatArray) -> float:
    """The quadratic form of a matrix in x, in the coordinates that the model has."""
    raise NotImplementedError


@by_record
def arm_scale(model: Any, arm: int) -> float:
    """The scale of the arm's own noise, as it was learned; else as :func:`noise_scale`."""
    raise NotImplementedError


@by_record
def scale_rows(model: Any, arm: int) -> float:
    """The rows that :func:`arm_scale` rests on; infinite where the noise is not learned."""
    raise NotImplementedError


@by_record
def noise_scale(model: Any, sigma: float) -> float:
    """The noise's scale as it was learned, but ``sigma`` if that is known (not negative).

    1 for other models, whose variances have the noise in them.
    """
    raise NotImplementedError


@by_record
def rounding(model: Any) -> float:
    """Differences of expected rewards that are rounding, where units are learned; else 0."""
    raise NotImplementedError


@by_record
def penalty(model: Any, given: float) -> float:
    """The penalty of a ridge: the one that is given, or that was learned."""
    raise NotImplementedError


@by_record
def length(model: Any, x: FloatArray) -> float:
    """The length of x, in the features' own units where these are learned."""
    raise NotImplementedError


@by_record
def distance(model: Any) -> float:
    """The length of all arms' estimates, stacked: from 0, or from the mean that was learned."""
    raise NotImplementedError
