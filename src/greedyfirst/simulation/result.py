"""What a simulation gives: curves, switches, times; as a table, a frame, a plot, a file."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from greedyfirst.files import data_file
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.validation import FloatArray, wrong

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

#: The levels of a box plot; the whiskers are far out because regret is skewed.
QUANTILES = {
    "lower_whisker": 0.05,
    "lower_quartile": 0.25,
    "median": 0.5,
    "upper_quartile": 0.75,
    "upper_whisker": 0.95,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationResult:
    """Mean cumulative regret of each policy, over instances, at the plotted steps.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst import Oracle, simulate
    >>> from greedyfirst.problems import GaussianNoise, LinearProblem, UniformBox
    >>> problem = LinearProblem(
    ...     contexts=UniformBox(n_features=1),
    ...     arms=np.array([[1.0], [-1.0]]),
    ...     noise=GaussianNoise(sigma=0.1),
    ... )
    >>> result = simulate(problem, {"Oracle": Oracle()}, n_instances=3, horizon=100, seed=1)
    >>> list(result.to_frame().columns)
    ['policy', 't', 'mean', 'half_width']
    >>> result.final.shape  # instances, policies
    (3, 1)
    """

    policies: tuple[str, ...]
    steps: NDArray[np.int64]  # (n_points,) t
    mean: FloatArray  # (n_policies, n_points)
    half_width: FloatArray  # (n_policies, n_points) 2·standard error; nan for one instance
    final: FloatArray  # (n_instances, n_policies) regret at the horizon
    switched_at: NDArray[np.int64]  # (n_instances, n_policies) round of the switch, 0 for never
    eigenvalue_computations: NDArray[np.int64]  # (n_instances, n_policies)
    pulls: FloatArray  # (n_instances, n_policies, n_arms)
    culprit: NDArray[np.int64]  # (n_instances, n_policies) the arm that tripped the test, else -1
    weakest: (
        FloatArray  # (n_instances, n_policies, n_features) that arm's weakest direction, else 0
    )
    alarmed_at: NDArray[np.int64]  # (n_instances, n_policies) the round of that, 0 for none
    watched: tuple[bool, ...]  # which policies are Greedy-First
    seconds: FloatArray  # (n_policies,) in the policy's kernels, summed over threads
    horizon: int
    seed: int

    def __repr__(self) -> str:
        size = f"{counted(self.n_instances, 'instance')}, horizon {self.horizon}, seed {self.seed}"
        return f"SimulationResult({', '.join(self.policies)}: {size})"

    @property
    def n_instances(self) -> int:
        """How many instances were run."""
        return len(self.final)

    @property
    def switches(self) -> dict[str, int]:
        """In how many instances each Greedy-First switched."""
        return {
            name: int(np.count_nonzero(self.switched_at[:, place]))
            for place, name in enumerate(self.policies)
            if self.watched[place]
        }

    @property
    def final_quantiles(self) -> FloatArray:
        """Quantiles of regret at the horizon, (n_policies, 5): 5, 25, 50, 75 and 95 %."""
        quantiles: FloatArray = np.quantile(self.final, list(QUANTILES.values()), axis=0).T
        return quantiles

    @classmethod
    def joined(cls, parts: Sequence[SimulationResult]) -> SimulationResult:
        """Simulations of one seed, horizon and number of instances, with all their policies."""
        first = parts[0]
        if len({(part.seed, part.horizon, part.n_instances) for part in parts}) > 1:
            raise wrong("parts", parts, "results of one seed, horizon and number of instances")
        names = tuple(name for part in parts for name in part.policies)
        if len(set(names)) < len(names):
            raise wrong("parts", names, "results whose policies have different names")
        return cls(
            policies=names,
            steps=first.steps,
            mean=np.concatenate([part.mean for part in parts]),
            half_width=np.concatenate([part.half_width for part in parts]),
            final=np.concatenate([part.final for part in parts], axis=1),
            switched_at=np.concatenate([part.switched_at for part in parts], axis=1),
            eigenvalue_computations=np.concatenate(
                [part.eigenvalue_computations for part in parts], axis=1
            ),
            pulls=_beside([part.pulls for part in parts]),
            culprit=np.concatenate([part.culprit for part in parts], axis=1),
            weakest=_beside([part.weakest for part in parts]),
            alarmed_at=np.concatenate([part.alarmed_at for part in parts], axis=1),
            watched=tuple(watched for part in parts for watched in part.watched),
            seconds=np.concatenate([part.seconds for part in parts]),
            horizon=first.horizon,
            seed=first.seed,
        )

    def only(self, names: Sequence[str]) -> SimulationResult:
        """The same simulation with these of its policies, in this order."""
        places = [self.policies.index(name) for name in names]
        first = {name: getattr(self, name)[places] for name in ("mean", "half_width", "seconds")}
        second = {
            name: getattr(self, name)[:, places]
            for name in (
                "final",
                "switched_at",
                "eigenvalue_computations",
                "pulls",
                "culprit",
                "weakest",
                "alarmed_at",
            )
        }
        watched = tuple(self.watched[place] for place in places)
        return dataclasses.replace(self, policies=tuple(names), watched=watched, **first, **second)

    def table(self, *, per_decision: str | None = None) -> str:
        """Mean regret at the last plotted step, best first; divided by t under another name."""
        last = int(self.steps[-1])
        what, over, digits = "regret", 1, 2
        if per_decision is not None:
            what, over, digits = per_decision, last, 4
        number = counted(self.n_instances, "instance")
        table = Table(title=f"{number}, {what} at t = {last}")
        table.add_column("policy")
        for heading in (f"mean {what}", "± (95 %)", "switched", "µs per round"):
            table.add_column(heading, justify="right")
        rounds = self.n_instances * self.horizon
        for place in np.argsort(self.mean[:, -1], kind="stable"):
            name = self.policies[place]
            table.add_row(
                escape(name),
                f"{self.mean[place, -1] / over:.{digits}f}",
                half_width_text(self.half_width[place, -1] / over, f".{digits}f"),
                str(self.switches.get(name, "")),
                f"{1e6 * self.seconds[place] / rounds:.2f}",
            )
        text = io.StringIO()
        Console(file=text, width=100).print(table)
        return text.getvalue().rstrip()

    def to_frame(self) -> pandas.DataFrame:
        """One row per policy and step: policy, t, mean, half_width (missing for one instance)."""
        import pandas

        n = len(self.steps)
        return pandas.DataFrame(
            {
                "policy": np.repeat(self.policies, n),
                "t": np.tile(self.steps, len(self.policies)),
                "mean": self.mean.ravel(),
                "half_width": self.half_width.ravel(),
            }
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        family: bool = False,
        per_decision: str | None = None,
    ) -> Axes:
        """Regret curves with 95 % confidence bands; without them for one instance.

        ``family``: one policy, a parameter varied. ``per_decision``: regret divided by t, under
        this name.
        """
        from greedyfirst.simulation.plot import plot_curves

        return plot_curves(self, ax, title=title, family=family, per_decision=per_decision)

    def plot_final(self, ax: Axes | None = None, *, symbol: str, values: Sequence[float]) -> Axes:
        """Regret at the horizon as box plots, against the value of each policy."""
        from greedyfirst.simulation.plot import plot_boxes

        return plot_boxes(self, ax, symbol=symbol, values=values)

    def save(self, path: str | Path) -> None:
        """Write everything to one file of plain data."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        header: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _ARRAYS
        }
        data_file.write(path, "simulation", header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> SimulationResult:
        """The result that was saved."""
        header, arrays = data_file.read(path, "simulation")
        header["policies"], header["watched"] = tuple(header["policies"]), tuple(header["watched"])
        # Files of release 0.1 do not have it.
        arrays.setdefault("alarmed_at", np.zeros_like(arrays["switched_at"]))
        return cls(**header, **arrays)


def _beside(parts: Sequence[FloatArray]) -> FloatArray:
    """Arrays (n_instances, n_policies, n) side by side; shorter ones end in zeros."""
    width = max(part.shape[2] for part in parts)
    wide = [np.pad(part, ((0, 0), (0, 0), (0, width - part.shape[2]))) for part in parts]
    return np.concatenate(wide, axis=1)


_ARRAYS = (
    "steps",
    "mean",
    "half_width",
    "final",
    "switched_at",
    "eigenvalue_computations",
    "pulls",
    "culprit",
    "weakest",
    "alarmed_at",
    "seconds",
)


def counted(count: int, noun: str) -> str:
    """1 instance, 2 instances."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
