"""The paper's experiments by name: one file per figure or section of the appendix."""

from pathlib import Path
from typing import Any, Protocol

from greedyfirst.experiments import example1, figure2, figure3, more_arms, sensitivity
from greedyfirst.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment", "Figure"]


class Figure(Protocol):
    """What `greedyfirst figure` asks of an experiment."""

    @property
    def name(self) -> str:
        """As the command takes it."""

    @property
    def title(self) -> str:
        """For people."""

    def run(self, *, n_instances: int | None, seed: int, n_jobs: int) -> Any:
        """Something with a ``table()``."""

    def write(self, result: Any, directory: Path) -> list[Path]:
        """Files in a directory; their paths."""


#: By the name that ``greedyfirst figure`` takes.
EXPERIMENTS: dict[str, Figure] = {
    experiment.name: experiment
    for figure in (example1, figure2, figure3, more_arms, sensitivity)
    for experiment in figure.EXPERIMENTS
}
