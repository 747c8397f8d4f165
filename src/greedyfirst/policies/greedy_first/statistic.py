"""What Greedy-First tests: a number per arm that must keep up with a threshold.

A statistic is one file: a class that joins by being defined, with what is named here as static
methods: two kernels, and three formulas, which are plain functions of numbers (without the first
argument). Its name is then an option of
:class:`~greedyfirst.policies.greedy_first.policy.GreedyFirst`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from greedyfirst.compiling.families import Family, generic, generic_formula, options_of
from greedyfirst.compiling.records import Options

#: The statistics by name, filled by their definitions.
STATISTICS: dict[str, type[Statistic]] = {}


class Statistic(Family):
    """A statistic of an arm's samples.

    Examples
    --------
    >>> from greedyfirst.policies.greedy_first import STATISTICS
    >>> sorted(STATISTICS)
    ['smallest_eigenvalue']
    """

    name: ClassVar[str]
    #: Whether an arm's value can fall when the contexts' span grows; else it only ever rises.
    can_fall: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        """Enter the table."""
        super().__init_subclass__()
        STATISTICS[cls.name] = cls

    @classmethod
    def options(cls) -> Options:
        """What kernels are told."""
        return options_of(cls, {"can_fall": cls.can_fall})


@generic
def lower_bound(statistic: Any, watch: Any, arm: int) -> float:
    """A bound that the value is not below, sooner found than the value."""
    raise NotImplementedError


@generic
def value(statistic: Any, watch: Any, arm: int) -> float:
    """The arm's value, exact."""
    raise NotImplementedError


@generic_formula
def threshold(statistic: Any, lambda0: float, rounds: float) -> float:
    """What the value must not fall below after so many rounds."""
    raise NotImplementedError


@generic_formula
def rounds_allowed(statistic: Any, lambda0: float, value: float) -> float:
    """The rounds up to which ``value`` is not below the threshold."""
    raise NotImplementedError


@generic_formula
def lambda0_from(statistic: Any, value: float, rounds: float) -> float:
    """The estimate of λ₀ from the lowest value after so many rounds."""
    raise NotImplementedError
