"""The paper's experiments by name: one file per figure."""

from greedyfirst.experiments import figure2, figure3
from greedyfirst.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

#: By the name that ``greedyfirst figure`` takes.
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*figure2.EXPERIMENTS, *figure3.EXPERIMENTS)
}
