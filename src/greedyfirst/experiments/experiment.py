"""An experiment of the paper: its problem, policies by their labels, how to run and to show it."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

from greedyfirst.engines.engine import Spread
from greedyfirst.experiments.published import PUBLISHED_SWITCHES, Final
from greedyfirst.experiments.raw_curves import RawCurves, raw_curves
from greedyfirst.files.pictures import SIZE, save_picture
from greedyfirst.policies import Policy
from greedyfirst.policies.description import describe
from greedyfirst.problems.problem import Problem
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.simulation.result import QUANTILES
from greedyfirst.simulation.simulate import plotted_steps
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What the names of a figure's files end in, after its own name; the last has quantiles of boxes.
ENDINGS = (".csv", ".png", ".json", "-final.csv")
TWO_PANELS, LEGEND_BESIDE = (12.0, 4.6), (8.6, 4.6)  # inches


class Varied(NamedTuple):
    """The parameter in which the curves of an experiment differ, when it is only one."""

    symbol: str
    values: tuple[float, ...]  # one for each policy
    #: Whether the distribution of regret at the horizon is shown against it as well.
    boxes: bool = False


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Curves of one figure: policies on one problem, or each of them on a problem of its own.

    Examples
    --------
    >>> from greedyfirst.experiments import EXPERIMENTS
    >>> figure = EXPERIMENTS["fig2c"]
    >>> figure.horizon, figure.n_instances
    (10000, 1000)
    """

    #: Whether there are curves of single instances, which can be written.
    has_raw_curves: ClassVar[bool] = True
    name: str
    title: str
    #: For all policies, which then share their instances; or by label, one for each.
    problem: Problem | Mapping[str, Problem]
    policies: Mapping[str, Policy]
    horizon: int
    n_instances: int
    #: What a reader must know of the settings beyond the policies, in words.
    settings: Mapping[str, Any]
    varied: Varied | None = None
    #: What regret divided by t is called, where the curves show that instead of regret.
    per_decision: str | None = None
    #: Other readings of the text: played on the same instances and reported, but not drawn.
    readings: Mapping[str, Policy] = field(default_factory=dict)
    #: The published figure that it is compared with, where that has another name.
    published_as: str | None = None

    def prepared(self, data_directory: Path | None) -> Experiment:
        """Itself: it needs no data."""
        return self

    @property
    def published_name(self) -> str:
        """The name of the published figure that it is compared with."""
        return self.name if self.published_as is None else self.published_as

    def run(
        self,
        *,
        n_instances: int | None = None,
        seed: int = 10,
        raw: Path | None = None,
        **spread: Unpack[Spread],
    ) -> SimulationResult:
        """Simulate it; curves of single instances go to the Parquet file ``raw``.

        ``n_jobs``, ``engine`` and ``resume`` are those of :func:`greedyfirst.simulate`.
        """
        wanted = self.n_instances if n_instances is None else n_instances
        parts = []
        with nullcontext() if raw is None else raw_curves(raw, figure=self.name, seed=seed) as file:
            for problem, policies in self._simulations():
                result = simulate(
                    problem,
                    policies,
                    n_instances=wanted,
                    horizon=self.horizon,
                    seed=seed,
                    steps=plotted_steps(self.horizon),
                    collect_curves=self._writer(file, policies),
                    **spread,
                )
                parts.append(result)
        return SimulationResult.joined(parts)

    def _writer(self, file: RawCurves | None, policies: Mapping[str, Policy]) -> Any:
        if file is None:
            return None
        return partial(file.add, list(policies), plotted_steps(self.horizon))

    def table(self, result: SimulationResult) -> str:
        """What the curves end at, for a terminal."""
        return result.table(per_decision=self.per_decision)

    def final(self, result: SimulationResult) -> dict[str, Final]:
        """What each curve ends at."""
        over = result.steps[-1] if self.per_decision is not None else 1
        means, half_widths = result.mean[:, -1] / over, result.half_width[:, -1] / over
        return {
            name: Final(float(mean), float(half), result.n_instances)
            for name, mean, half in zip(result.policies, means, half_widths, strict=True)
        }

    def switches(self, result: SimulationResult) -> dict[str, int]:
        """In how many instances each Greedy-First switched."""
        return result.switches

    def _simulations(self) -> list[tuple[Problem, Mapping[str, Policy]]]:
        if not isinstance(self.problem, Mapping):
            return [(self.problem, {**self.policies, **self.readings})]
        return [(self.problem[label], {label: policy}) for label, policy in self.policies.items()]

    def write(self, result: SimulationResult, directory: Path) -> list[Path]:
        """NAME.csv, .png and .json in ``directory``, NAME-final.csv with boxes; their paths."""
        table, picture, facts, final = (directory / f"{self.name}{end}" for end in ENDINGS)
        drawn = result.only(list(self.policies))
        write_curves(drawn, table, per_decision=self.per_decision is not None)
        self._draw(drawn, picture)
        description = self._description(result)
        facts.write_text(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        if self.varied is None or not self.varied.boxes:
            return [table, picture, facts]
        write_final(result, self.varied, final)
        return [table, picture, facts, final]

    def _description(self, result: SimulationResult) -> dict[str, Any]:
        """What NAME.json says."""
        return {
            "settings": {
                **self.settings,
                "instances": result.n_instances,
                "horizon": self.horizon,
                "policies": {name: describe(policy) for name, policy in self.policies.items()},
                "readings": {name: describe(policy) for name, policy in self.readings.items()},
            },
            "seed": result.seed,
            "version": __version__,
            "switches": result.switches,
            "published_switches": PUBLISHED_SWITCHES.get(self.published_name),
            "seconds": dict(
                zip(result.policies, (round(float(s), 6) for s in result.seconds), strict=True)
            ),
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }

    def _draw(self, result: SimulationResult, path: Path) -> None:
        """The curves as a picture, and the boxes beside them."""
        varied = self.varied
        boxes = varied is not None and varied.boxes

        def panels(figure: Figure) -> None:
            axes = figure.subplots(1, 1 + boxes, squeeze=False)[0]
            result.plot(
                axes[0],
                title=self.title,
                family=varied is not None,
                per_decision=self.per_decision,
            )
            if varied is not None and varied.boxes:
                result.plot_final(axes[1], symbol=varied.symbol, values=varied.values)

        size = TWO_PANELS if boxes else SIZE if self.per_decision is None else LEGEND_BESIDE
        save_picture(panels, path, size=size)


def write_curves(result: SimulationResult, path: Path, *, per_decision: bool = False) -> None:
    """The curves, divided by t if so, as a CSV table: policy,t,mean,half_width.

    The last is blank for one instance.
    """
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["policy", "t", "mean", "half_width"])
        for place, name in enumerate(result.policies):
            for point, t in enumerate(result.steps):
                over = t if per_decision else 1
                mean = result.mean[place, point] / over
                half = result.half_width[place, point] / over
                # The empty format keeps all digits, as repr does.
                writer.writerow([name, int(t), repr(float(mean)), half_width_text(float(half), "")])


def write_final(result: SimulationResult, varied: Varied, path: Path) -> None:
    """Regret at the horizon by the varied parameter, as a CSV table of quantiles and the mean."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([varied.symbol, "mean", *QUANTILES])
        means, quantiles = result.final.mean(axis=0), result.final_quantiles
        for value, mean, box in zip(varied.values, means, quantiles, strict=True):
            writer.writerow([value, *(repr(float(number)) for number in (mean, *box))])
