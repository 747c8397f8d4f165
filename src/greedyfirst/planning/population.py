"""The people a trial will meet: a law of contexts, its mean, and how far its features vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems import ContextDistribution, FromArray, FromFunction, WithIntercept
from greedyfirst.tables import infer_schema
from greedyfirst.tables.contexts import encoded_contexts
from greedyfirst.validation import FloatArray, array, names, whole_number, wrong

if TYPE_CHECKING:
    import pandas

# Directions with a smaller share of the largest variance are rounding: columns are collinear.
RANK_CUT = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Where contexts come from. The first feature is the intercept.

    Attributes
    ----------
    contexts : context distribution
        Draws people, independently of one another.
    mean, deviation : array (n_features,)
        The mean and the standard deviation of each feature; the intercept's are 1 and 0.
    directions : array (n_features, rank - 1)
        What makes uncorrelated coordinates of variance 1 out of (context - mean).
    feature_names : names
        The features, the intercept first.
    description : str
        In words, for the list of assumptions.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population
    >>> population = normal_population(2)
    >>> population.n_features, population.mean.tolist(), population.deviation.tolist()
    (3, [1.0, 0.0, 0.0], [0.0, 1.0, 1.0])
    """

    contexts: ContextDistribution
    mean: FloatArray
    deviation: FloatArray
    directions: FloatArray
    feature_names: tuple[str, ...]
    description: str

    @property
    def n_features(self) -> int:
        """The number of features d, the intercept among them."""
        return len(self.mean)

    def coordinates(self, contexts: FloatArray) -> FloatArray:
        """Contexts (n, d) as (1, uncorrelated coordinates) (n, rank): the mean is (1, 0, …, 0)."""
        varying = (contexts - self.mean) @ self.directions
        return np.column_stack([np.ones(len(contexts)), varying])


def normal_population(n_features: int) -> Population:
    """People with ``n_features`` independent standard normal features.

    Examples
    --------
    >>> from greedyfirst.planning import normal_population
    >>> normal_population(3).n_features  # with the intercept
    4
    """
    n = whole_number("n_features", n_features, at_least=1)
    law = FromFunction(n_features=n, draw=lambda rng, size: rng.standard_normal((size, n)))
    return Population(
        contexts=WithIntercept(contexts=law),
        mean=np.eye(n + 1)[0],
        deviation=np.append(0.0, np.ones(n)),
        directions=np.eye(n + 1)[:, 1:],
        feature_names=("intercept", *(f"x{i}" for i in range(1, n + 1))),
        description=f"People have {n} independent normal features, in standard deviations.",
    )


def sampled_population(
    rows: ArrayLike, *, feature_names: Sequence[str] | None = None, source: str = "the table"
) -> Population:
    """People like those of a sample.

    Parameters
    ----------
    rows : array (n, d)
        One context a row, the intercept (all ones) first; people are drawn from the rows with
        replacement.
    feature_names
        The names of the d columns.
    source
        What the sample is called in reports.

    Examples
    --------
    >>> from greedyfirst.planning import sampled_population
    >>> rows = [[1.0, 30.0], [1.0, 50.0]]
    >>> population = sampled_population(rows, feature_names=["intercept", "age"])
    >>> population.mean.tolist()
    [1.0, 40.0]
    """
    x = array("rows", rows, (None, None))
    if not x.size or not (x[:, 0] == 1.0).all():
        raise wrong("rows", x[:, :1].ravel()[:3], "rows whose first number is 1, the intercept")
    given = ["intercept", *(f"x{i}" for i in range(1, x.shape[1]))]
    columns = names("feature_names", given if feature_names is None else feature_names, x.shape[1])
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    mean[0], deviation[0] = 1.0, 0.0
    return Population(
        contexts=FromArray(rows=x),
        mean=mean,
        deviation=deviation,
        directions=_directions(x, mean, deviation),
        feature_names=columns,
        description=f"People are like the {len(x):,} rows of {source}, drawn with replacement: "
        f"{x.shape[1] - 1} features once columns are encoded.",
    )


def table_population(
    frame: pandas.DataFrame,
    *,
    source: str = "the table",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    standardise: bool = False,
    impute: str | None = None,
) -> Population:
    """People like the rows of a table; columns as in :func:`greedyfirst.tables.infer_schema`.

    Examples
    --------
    >>> import pandas as pd
    >>> from greedyfirst.planning import table_population
    >>> table_population(pd.DataFrame({"age": [30.0, 50.0, 40.0]})).feature_names
    ('intercept', 'age')
    """
    schema = infer_schema(
        frame,
        drop=drop,
        categorical=categorical,
        intercept=True,
        standardise=standardise,
        impute=impute,
    )
    rows = encoded_contexts(frame, schema, normalise=False)
    return sampled_population(rows, feature_names=schema.feature_names, source=source)


def _directions(x: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Uncorrelated directions of variance 1, in the features' own units."""
    unit = np.where(deviation > 0, deviation, 1.0)
    scaled = (x - mean) / unit
    variances, vectors = np.linalg.eigh(scaled.T @ scaled / len(x))
    kept = variances > RANK_CUT * max(variances[-1], 1.0)
    directions: FloatArray = vectors[:, kept] / np.sqrt(variances[kept]) / unit[:, np.newaxis]
    return directions
