"""The paper's experiments by name: one file per figure or section of the appendix."""

from pathlib import Path
from typing import Any, Protocol

from greedyfirst.experiments import example1, figure2, figure3, figure4, more_arms, sensitivity
from greedyfirst.experiments.experiment import Experiment
from greedyfirst.experiments.published import Final

__all__ = ["EXPERIMENTS", "Experiment", "Figure", "PreparedFigure"]


class PreparedFigure(Protocol):
    """A figure with all that it needs."""

    def run(self, *, n_instances: int | None, seed: int, n_jobs: int) -> Any:
        """What the other functions take as ``result``."""

    def table(self, result: Any) -> str:
        """What came out, for a terminal."""

    def write(self, result: Any, directory: Path) -> list[Path]:
        """Files in a directory; their paths: a table, a picture, facts, and others."""

    def final(self, result: Any) -> dict[str, Final]:
        """What the curves end at, by label; nothing where that says nothing."""


class Figure(Protocol):
    """What `greedyfirst figure` asks of an experiment."""

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
    for figure in (example1, figure2, figure3, figure4, more_arms, sensitivity)
    for experiment in figure.EXPERIMENTS
}
