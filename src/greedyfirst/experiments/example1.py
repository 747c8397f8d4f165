"""Figure 1 as `greedyfirst figure` runs it, without the time that the theory takes to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.published import Final

if TYPE_CHECKING:
    from greedyfirst.experiments.figure1 import Figure1


class Example1:
    """Bounds and simulated truth; instances are the runs of each simulated share."""

    #: Its curves are shares of runs: a single run has none.
    has_raw_curves = False
    name = "fig1"
    title = "Figure 1: bounds on the chance that greedy succeeds, and the simulated truth"

    def prepared(self, data_directory: Path | None) -> Example1:
        """Itself: it needs no data."""
        return self

    published_name = name

    def run(
        self,
        *,
        n_instances: int | None = None,
        seed: int = 10,
        raw: Path | None = None,
        **spread: Unpack[Spread],
    ) -> Figure1:
        """Compute it; it has no curves of single instances."""
        from greedyfirst.experiments import figure1

        return figure1.compute(
            n_runs=figure1.N_RUNS if n_instances is None else n_instances, seed=seed, **spread
        )

    def table(self, result: Figure1) -> str:
        """Where each curve is still above one half, for a terminal."""
        return result.table()

    def final(self, result: Figure1) -> dict[str, Final]:
        """Nothing: its curves are probabilities against the noise."""
        return {}

    def switches(self, result: Figure1) -> dict[str, int]:
        """Nothing: its own files have the shares of runs that stay greedy."""
        return {}

    def write(self, result: Figure1, directory: Path) -> list[Path]:
        """fig1.csv, fig1.png and fig1.json."""
        from greedyfirst.experiments import figure1

        return figure1.write(result, directory)


EXPERIMENTS = (Example1(),)
