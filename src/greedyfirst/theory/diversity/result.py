"""The covariate diversity of a sample: bounds, a verdict in words, a table, a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedyfirst.theory.diversity.sampling_error import SamplingError
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Below this share of what symmetric contexts would have, the verdict says "barely" or "hardly".
WEAK_SHARE = 0.1
# Sentences on columns that the table shows; all are in ``violations``.
SHOWN_VIOLATIONS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class CovariateDiversity:
    """λ₀ of a sample of contexts: min over unit u of λ_min(Σ xxᵀ 1{xᵀu ≥ 0}/n), Assumption 3.

    If the rows do not span R^d, all numbers are those inside their span.
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
    #: What is wrong with single columns, a sentence each.
    violations: tuple[str, ...]
    #: Bounds on λ₀ of the law that the sample was drawn from.
    sampling: SamplingError
    #: λ_min at random directions u on the searched rows, ascending; empty if nothing was searched.
    profile: FloatArray

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

    def name_direction(self, direction: FloatArray, *, terms: int = 3) -> str:
        """A direction (d,) as weights on columns, the largest first."""
        order = [int(j) for j in np.argsort(-np.abs(direction), kind="stable")]
        large = [j for j in order[:terms] if abs(direction[j]) > 1e-6]
        text = " ".join(f"{direction[j]:+.3g}·{self.feature_names[j]}" for j in large)
        more = sum(abs(direction[j]) > 1e-6 for j in order[terms:])
        return text + (f" … ({more} more)" if more else "")

    def verdict(self) -> str:
        """Is greedy safe on these contexts? In plain words."""
        where = ""
        if self.rank < len(self.feature_names):
            where = f" (inside the {self.rank} dimensions that the rows span)"
        if self.upper == 0.0:
            return f"No{where}. {self._reason()} Estimates of an arm that greedy leaves " + (
                "stay wrong there for ever: use GreedyFirst, or a policy that explores."
            )
        if self.sampling.lower > 0.0:
            barely = ", but barely" if self.share < WEAK_SHARE else ""
            return (
                f"Yes{barely}{where}, for two arms, with {self.sampling.confidence:.0%} "
                f"confidence: λ₀ of the contexts' law is above {self.sampling.lower:.3g}, if rows "
                f"are independent and no longer than {self.sampling.x_max:.3g}."
            )
        strength = "Hardly" if self.share < WEAK_SHARE else "Probably"
        proved = (
            f"λ₀ of the rows is at least {self.lower:.3g}, which is proved, and at most"
            if self.lower > 0.0
            else "no half-space was found that loses a direction, which is no proof; λ₀ is at most"
        )
        return (
            f"{strength}{where}, for two arms: {proved} {self.upper:.3g}, {self.share:.0%} of what "
            f"symmetric contexts with these second moments would have. {self._symmetry()}"
        )

    def _reason(self) -> str:
        if self.kept_rows == 0:
            return (
                f"No row has xᵀu ≥ 0 for u = {self.name_direction(self.witness)}: the arm that "
                "such an estimate favours is never tried."
            )
        return (
            f"The {self.kept_rows} of {self.n_rows} rows with xᵀu ≥ 0 for "
            f"u = {self.name_direction(self.witness)} say nothing about the direction "
            f"{self.name_direction(self.weakest)}."
        )

    def _symmetry(self) -> str:
        if self.is_symmetry_refuted:
            return "The law is not symmetric: the sample refutes it."
        return (
            "If their law is the same at x and -x, its λ₀ is above "
            f"{self.sampling.lower_if_symmetric:.3g} with {self.sampling.confidence:.0%} "
            "confidence."
        )

    def __str__(self) -> str:
        errors = self.sampling
        low, high = errors.bootstrap
        percent = f"{errors.confidence:.0%}"
        shown = list(self.violations[:SHOWN_VIOLATIONS])
        if len(self.violations) > SHOWN_VIOLATIONS:
            shown.append(f"… and {len(self.violations) - SHOWN_VIOLATIONS} more")
        lines = [
            ("rows, columns, rank", f"{self.n_rows}, {len(self.feature_names)}, {self.rank}"),
            ("λ₀ of the sample, at most", f"{self.upper:.6g}  (attained by u)"),
            ("λ₀ of the sample, at least", f"{self.lower:.6g}  ({self.lower_reason})"),
            ("if it were symmetric", f"{self.ceiling:.6g}  (λ_min of the second moments, halved)"),
            ("half-space u", self.name_direction(self.witness)),
            ("weakest direction v", self.name_direction(self.weakest)),
            ("rows kept by u", f"{self.kept_rows}"),
            (f"{percent} bootstrap of (u, v)", f"{low:.6g} to {high:.6g}"),
            (f"{percent} bounds on the law's λ₀", f"{errors.lower:.6g} to {errors.upper:.6g}"),
            ("  lower, if symmetric", f"{errors.lower_if_symmetric:.6g}"),
            *[("violation" if i == 0 else "", text) for i, text in enumerate(shown)],
        ]
        table = [f"{label:<30}{value}" for label, value in lines]
        return "\n".join([*table, self.verdict()])

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot λ_min at random half-spaces, ascending, and the bounds on λ₀."""
        from matplotlib.figure import Figure

        if axes is None:
            axes = Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
        shares = (np.arange(len(self.profile)) + 0.5) / max(len(self.profile), 1)
        axes.plot(
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
            axes.axhline(value, color=colour, linestyle=style, label=label)
        axes.set_xlabel("share of random half-spaces")
        axes.set_ylabel("smallest eigenvalue kept")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        return axes
