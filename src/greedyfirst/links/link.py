"""What an inverse link function is, and how compiled code finds its formulas.

A **link** is a class with the formulas of one generalised linear model: a reward Y at context x has
expectation μ(x'β). It joins everything by being defined: its name is then an option of the policies
and problems. Its formulas are plain functions of floats, compiled into the loops that use them,
where the link's options, which are empty, select them.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import (
    Family,
    entry_for,
    generic_formula,
    member_of,
    options_of,
)
from greedyfirst.validation import FloatArray, choice, wrong

#: The links by name, filled by their definitions.
LINKS: dict[str, type[Link]] = {}


class Link(Family):
    """Formulas of one generalised linear model; z is the linear predictor x'β, y a reward.

    A new one is a subclass with a ``name`` and all that is named here. Formulas may call
    ``math`` and one another by the class-free names of their module; they must be finite, or
    infinite with the right sign, for every finite z.

    Examples
    --------
    >>> from greedyfirst.links import LINKS
    >>> LINKS["logistic"].mean(0.0)
    0.5
    """

    name: ClassVar[str]
    #: What a reward must be, in words.
    rewards: ClassVar[str]
    #: Whether the score is y - μ(z), so that Σ x(y - μ(x'β̂)) = 0 at the estimate; False unless set.
    canonical: ClassVar[bool] = False
    #: Whether y - μ(z) is sub-Gaussian with one σ for every z; False unless set.
    subgaussian: ClassVar[bool] = False
    #: A σ that holds whatever the rewards are; None where it depends on them.
    largest_sigma: ClassVar[float | None] = None

    def __init_subclass__(cls) -> None:
        """Enter the table."""
        super().__init_subclass__()
        LINKS[cls.name] = cls

    @staticmethod
    def mean(z: float) -> float:
        """The expected reward μ(z): increasing."""
        raise NotImplementedError

    @staticmethod
    def slope(z: float) -> float:
        """μ′(z), above 0 and with one peak at most."""
        raise NotImplementedError

    @staticmethod
    def log_likelihood(z: float, y: float) -> float:
        """The log-likelihood of y, up to terms without z: concave in z."""
        raise NotImplementedError

    @staticmethod
    def score(z: float, y: float) -> float:
        """The derivative of the log-likelihood by z."""
        raise NotImplementedError

    @staticmethod
    def curvature(z: float, y: float) -> float:
        """Minus the second derivative of the log-likelihood by z, above 0."""
        raise NotImplementedError

    @staticmethod
    def extreme(y: float) -> float:
        """1 or -1 if the likelihood of y rises, or falls, in z without end; else 0."""
        raise NotImplementedError

    @staticmethod
    def accepts(rewards: FloatArray) -> np.ndarray:
        """Which rewards are possible."""
        raise NotImplementedError

    @staticmethod
    def draw(rng: np.random.Generator, means: FloatArray) -> FloatArray:
        """Rewards with these expectations, all in one row drawn from the same random numbers."""
        raise NotImplementedError


def find_link(name: str, value: Any) -> type[Link]:
    """The link that the argument ``name`` asks for."""
    return LINKS[choice(name, value, tuple(LINKS))]


def check_rewards(name: str, link: type[Link], rewards: FloatArray | float) -> None:
    """Refuse rewards that are impossible under a link."""
    values = np.asarray(rewards, dtype=np.float64)
    good = link.accepts(values)
    if not np.all(good):
        first = tuple(int(place) for place in np.argwhere(~np.atleast_1d(good))[0])
        place = f"[{', '.join(map(str, first))}]" if values.ndim else ""
        value = float(np.atleast_1d(values)[first])
        raise wrong(f"{name}{place}", value, f"{link.rewards} (link {link.name!r})")


@generic_formula
def mean(link: Any, z: float) -> float:
    """μ(z) under a link."""
    raise NotImplementedError


@generic_formula
def log_likelihood(link: Any, z: float, y: float) -> float:
    """The log-likelihood under a link."""
    raise NotImplementedError


@generic_formula
def score(link: Any, z: float, y: float) -> float:
    """The score under a link."""
    raise NotImplementedError


@generic_formula
def curvature(link: Any, z: float, y: float) -> float:
    """The curvature under a link."""
    raise NotImplementedError


@generic_formula
def extreme(link: Any, y: float) -> float:
    """Whether y is extreme under a link."""
    raise NotImplementedError


def _means(link: Any, z: FloatArray) -> None:
    for i in range(z.shape[0]):
        z[i] = mean(link, z[i])


def means(link: type[Link], z: FloatArray) -> FloatArray:
    """The expectations μ(z), for callers that are not compiled."""
    result = np.array(z, dtype=np.float64, order="C")
    options = options_of(link)
    run(entry_for(_means, options), options, result.reshape(-1))
    return result


def link_of(options: Any) -> type[Link]:
    """The link that these options select."""
    link: type[Link] = member_of(options)
    return link
