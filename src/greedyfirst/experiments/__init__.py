"""The paper's experiments by name: a file for each figure, section of the appendix, or claim."""

from pathlib import Path
from typing import Any, Protocol, Unpack

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments import (
    example1,
    explore_then_exploit,
    figure2,
    figure2_as_written,
    figure3,
    figure4,
    more_arms,
    never_best,
    perturbed_adversary,
    sensitivity,
    warfarin,
)
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.experiments.published import Final

__all__ = ["AS_WRITTEN", "EXPERIMENTS", "Experiment", "Figure", "PreparedFigure"]


class PreparedFigure(Protocol):
    """A figure with all that it needs.

    Examples
    --------
    >>> from greedyfirst.experiments import EXPERIMENTS
    >>> EXPERIMENTS["fig2c"].prepared(None).published_name
    'fig2c'
    """

    @property
    def has_raw_curves(self) -> bool:
        """Whether it has curves of single instances."""

    @property
    def published_name(self) -> str:
        """The name of the published figure that it is compared with."""

    def run(
        self, *, n_instances: int | None, seed: int, raw: Path | None, **spread: Unpack[Spread]
    ) -> Any:
        """What the other functions take as ``result``; curves of instances go to ``raw``."""

    def table(self, result: Any) -> str:
        """What came out, for a terminal."""

    def write(self, result: Any, directory: Path) -> list[Path]:
        """Files in a directory; their paths: a table, a picture, facts, and others."""

    def final(self, result: Any) -> dict[str, Final]:
        """What the curves end at, by label; nothing where that says nothing."""

    def switches(self, result: Any) -> dict[str, int]:
        """In how many instances each Greedy-First switched, by label."""


class Figure(Protocol):
    """What `greedyfirst figure` asks of an experiment.

    Examples
    --------
    >>> from greedyfirst.experiments import EXPERIMENTS
    >>> EXPERIMENTS["fig2c"].name
    'fig2c'
    """

    @property
    def name(self) -> str:
        """As the command takes it."""

    @property
    def title(self) -> str:
        """For people."""

    def prepared(self, data_directory: Path | None) -> PreparedFigure:
        """Ready to run; ValueError or OSError if its data cannot be had."""


#: By the name that ``greedyfirst figure`` takes.
EXPERIMENTS: dict[str, Figure] = {
    experiment.name: experiment
    for figure in (
        *(example1, figure2, figure3, figure4, more_arms, sensitivity),
        *(explore_then_exploit, warfarin, perturbed_adversary, never_best),
    )
    for experiment in figure.EXPERIMENTS
}

#: Those that there are to the letter of the text too, by the same names.
AS_WRITTEN: dict[str, Figure] = dict(figure2_as_written.PANELS)
