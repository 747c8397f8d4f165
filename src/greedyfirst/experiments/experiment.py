"""An experiment of the paper: a problem, policies by their published labels, and how to run it."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from greedyfirst.policies import Policy
from greedyfirst.policies.description import describe
from greedyfirst.problems.problem import Problem
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.version import __version__


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One panel of a figure."""

    name: str
    title: str
    problem: Problem
    policies: Mapping[str, Policy]
    horizon: int
    n_instances: int
    #: What a reader must know of the settings beyond the policies, in words.
    settings: Mapping[str, Any]

    def run(
        self, *, n_instances: int | None = None, seed: int = 10, n_jobs: int = 1
    ) -> SimulationResult:
        """Simulate it."""
        return simulate(
            self.problem,
            self.policies,
            n_instances=self.n_instances if n_instances is None else n_instances,
            horizon=self.horizon,
            seed=seed,
            n_jobs=n_jobs,
        )

    def write(self, result: SimulationResult, directory: Path) -> list[Path]:
        """NAME.csv, NAME.png and NAME.json in ``directory``; their paths."""
        table, picture, facts = (
            directory / f"{self.name}.{ending}" for ending in ("csv", "png", "json")
        )
        write_curves(result, table)
        draw(result, picture, title=self.title)
        description = {
            "settings": {
                **self.settings,
                "instances": result.n_instances,
                "horizon": self.horizon,
                "policies": {name: describe(policy) for name, policy in self.policies.items()},
            },
            "seed": result.seed,
            "version": __version__,
            "switches": result.switches,
            "seconds": dict(
                zip(result.policies, (round(float(s), 6) for s in result.seconds), strict=True)
            ),
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        facts.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        return [table, picture, facts]


def write_curves(result: SimulationResult, path: Path) -> None:
    """The curves as a CSV table: policy,t,mean,half_width."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["policy", "t", "mean", "half_width"])
        for place, name in enumerate(result.policies):
            for point, t in enumerate(result.steps):
                mean, half = result.mean[place, point], result.half_width[place, point]
                writer.writerow([name, int(t), repr(float(mean)), repr(float(half))])


def draw(result: SimulationResult, path: Path, *, title: str) -> None:
    """The curves as a picture."""
    # Half a second to import, and only needed once there is something to draw.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    result.plot(figure.add_subplot(), title=title)
    figure.savefig(path, dpi=150)
