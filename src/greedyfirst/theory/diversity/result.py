"""The covariate diversity of a sample: bounds, a verdict in words, a table, a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from greedyfirst.theory.diversity.sampling_error import SamplingError
from greedyfirst.theory.diversity.verdict import write_verdict
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True, eq=False)
class CovariateDiversity:
    """λ₀ of a sample of contexts: min over unit u of λ_min(Σ xxᵀ 1{xᵀu ≥ 0}/n), Assumption 3.

    If the rows do not span R^d, all numbers are those inside their span.

    Examples
    --------
    The rows ±e₁ and ±e₂ keep half of their second moment in every half-space, so λ₀ = 1/4:

    >>> from greedyfirst.theory import measure_diversity
    >>> rows = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 50
    >>> found = measure_diversity(rows)
    >>> round(found.upper, 6), found.rank
    (0.25, 2)
    """

    #: The columns' names.
    feature_names: tuple[str, ...]
    n_rows: int
    #: The dimension of the rows' span.
    rank: int
    #: λ₀ of the sample is at most this: the value that ``witness`` attains, on all rows.
    upper: float
    #: λ₀ of the sample is at least this, proved as ``lower_reason`` says; 0 if nothing is proved.
    lower: float
    lower_reason: str
    #: λ_min(Σ xxᵀ/n)/2: λ₀ is never above it, and equal to it for symmetric samples.
    ceiling: float
    #: The half-space's direction u (d,), and the direction v (d,) in which it keeps least.
    witness: FloatArray
    weakest: FloatArray
    #: How many rows have xᵀu ≥ 0.
    kept_rows: int
    #: Why λ₀ = 0, as a clause; empty where it is above 0.
    cause: str
    #: Why λ₀ = 0 may be an accident of these rows, as a clause; empty where it is none, with the
    #: confidence of ``sampling``.
    doubt: str
    #: What is to be known about columns, one entry for each kind of finding.
    violations: tuple[str, ...]
    #: An interval for λ₀ of the law that the sample was drawn from.
    sampling: SamplingError
    #: λ_min at random directions u on the searched rows, ascending; empty if nothing was searched.
    profile: FloatArray
    #: The same without the columns that are constant; None where no column is, or all are.
    without_constant: CovariateDiversity | None

    @property
    def answer(self) -> Literal["yes", "probably", "no", "unknown"]:
        """Whether the law satisfies covariate diversity, λ₀ > 0.

        "yes": the sample's λ₀ is proved to be above 0, and then the law's is, almost surely: if it
        were 0, some half of the law's contexts, and so of any sample, would lack a direction.
        "probably": the sample's λ₀ is not proved, but a search found no half-space where it is 0.
        "no": it is 0, and no accident. "unknown": it is 0, but it may be an accident of few rows.
        """
        if self.upper == 0.0:
            return "unknown" if self.doubt else "no"
        return "yes" if self.lower > 0.0 else "probably"

    @property
    def share(self) -> float:
        """``upper`` over ``ceiling``: 1 for contexts as diverse as symmetric ones, 0 for none."""
        return min(self.upper / self.ceiling, 1.0) if self.ceiling > 0.0 else 0.0

    @property
    def is_exact(self) -> bool:
        """Whether λ₀ of the sample is known up to rounding."""
        return self.upper - self.lower <= 1e-9 * self.ceiling

    @property
    def is_symmetry_refuted(self) -> bool:
        """Whether the sample refutes, with confidence, a law that is the same at x and -x."""
        return self.sampling.upper < self.sampling.lower_if_symmetric

    @property
    def range_text(self) -> str:
        """What is known of λ₀ of the sample: "0.4", "from 0.3 to 0.4" or "at most 0.4"."""
        if self.is_exact:
            return f"{self.upper:.4g}"
        if self.lower > 0.0:
            return f"from {self.lower:.4g} to {self.upper:.4g}"
        return f"at most {self.upper:.4g}"

    def name_direction(self, direction: FloatArray, *, terms: int = 3) -> str:
        """A direction (d,) as weights on columns, the largest first."""
        order = [int(j) for j in np.argsort(-np.abs(direction), kind="stable")]
        large = [j for j in order[:terms] if abs(direction[j]) > 1e-6]
        text = " ".join(f"{direction[j]:+.3g}·{self.feature_names[j]}" for j in large)
        more = sum(abs(direction[j]) > 1e-6 for j in order[terms:])
        return text + (f" … ({more} more)" if more else "")

    def verdict(self) -> str:
        """Is greedy promised to work on these contexts? The answer, and what to do next."""
        return write_verdict(self)

    def numbers(self, *, terms: int = 3) -> list[tuple[str, str]]:
        """What was measured, as labels and values; directions with up to ``terms`` columns."""
        d = len(self.feature_names)
        span = "" if self.rank == d else f", which span {self.rank} of {d} dimensions"
        lines = [
            ("rows", f"{self.n_rows}{span}"),
            ("columns", f"{d}"),
            ("λ₀ of these rows", f"{self.range_text}  ({self.lower_reason})"),
            ("λ₀ if rows were symmetric", f"{self.ceiling:.4g}  (with the same second moments)"),
        ]
        if len(self.profile) == 0:
            return lines[:3]
        u, v = (self.name_direction(each, terms=terms) for each in (self.witness, self.weakest))
        if self.upper > 0.0:
            lines.append(("λ₀ of their law", self._interval()))
        least = "it varies least along" if self.upper > 0.0 else "it does not vary along"
        return [
            *lines,
            ("weakest half found", f"{_rows(self.kept_rows)} with x'u ≥ 0, u = {u}"),
            *([(least, f"v = {v}")] if self.kept_rows else []),
        ]

    def _interval(self) -> str:
        low, high = self.sampling.lower, self.sampling.upper
        text = f"from {low:.4g} to {high:.4g}" if low > 0.0 else f"at most {high:.4g}"
        return f"{text}  ({self.sampling.confidence:.0%} confidence, if rows are independent)"

    def __repr__(self) -> str:
        size = f"{_rows(self.n_rows)}, {len(self.feature_names)} columns"
        return f"CovariateDiversity({size}: λ₀ from {self.lower:.4g} to {self.upper:.4g})"

    def __str__(self) -> str:
        table = [f"{label:<28}{value}" for label, value in self.numbers()]
        return "\n".join([self.verdict(), "", *table, *(f"- {text}" for text in self.violations)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot λ_min at random half-spaces, ascending, and the bounds on λ₀."""
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
        shares = (np.arange(len(self.profile)) + 0.5) / max(len(self.profile), 1)
        ax.plot(
            shares,
            self.profile,
            ".",
            color="#30638e",
            label="random half-spaces, on a part of the rows",
        )
        lines = (
            ("symmetric", self.ceiling, "#4a4a4a", ":"),
            ("upper bound on λ₀", self.upper, "#d1495b", "-"),
            ("lower bound on λ₀", self.lower, "#0b6e4f", "--"),
        )
        for label, value, colour, style in lines:
            ax.axhline(value, color=colour, linestyle=style, label=label)
        ax.set_xlabel("share of random half-spaces")
        ax.set_ylabel("smallest eigenvalue kept")
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return ax


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
