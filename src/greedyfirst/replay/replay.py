"""From a classified table to the cost of each policy."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.special import stdtrit

from greedyfirst.policies import (
    OFUL,
    FixedArm,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Oracle,
    Policy,
    ThompsonSampling,
)
from greedyfirst.problems import TableProblem
from greedyfirst.replay.costs import check_rewards, own_arm_pays_least
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.simulation.result import counted
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.tables import infer_schema, normalise_rows, read_labels
from greedyfirst.tables.columns import first_row
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import FloatArray, array, names, whole_number

if TYPE_CHECKING:
    import pandas

# Squares of larger numbers, summed over the rows, would not be finite.
LARGEST_CONTEXT = 1e150
# Of two columns' root mean squares. Beyond it the smaller one is lost in the rounding of the Gram
# matrix, whose entries differ by the square of this.
LARGEST_RATIO = 1e6
# Numbers in the Gram matrices of all arms together: each policy keeps some ten times as many.
MOST_CELLS = 4_000_000
GREEDY, GREEDY_FIRST, ORACLE, FIXED = "Greedy", "Greedy-First", "Oracle", "Always the same arm"


def default_policies(n_features: int, best_arm: int) -> dict[str, Policy]:
    """Policies that are right on any table: minimum-norm estimates, d first pulls of each arm."""
    ols_bandit = OLSBandit(warmup="pinv", initial_pulls=n_features)
    return {
        GREEDY: Greedy(warmup="pinv", initial_pulls=n_features),
        GREEDY_FIRST: GreedyFirst(
            warmup="pinv",
            initial_pulls=n_features,
            fallback=ols_bandit,
            span="pooled",
            carry_over="initial",  # else the first pulls would be made again after a switch
        ),
        "OLS Bandit": ols_bandit,
        "OFUL": OFUL(),
        "Prior-dependent TS": ThompsonSampling(),
        ORACLE: Oracle(),
        FIXED: FixedArm(arm=best_arm),
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """What each policy would have cost on a table, over random orders of its rows."""

    source: str
    result: SimulationResult
    schema: Schema
    arms: tuple[str, ...]
    #: Those that were played, by name.
    policies: Mapping[str, Policy]
    #: Whether regret counts wrong decisions: rewards were 1 for the right class and 0 otherwise.
    counts_errors: bool
    #: Whether each class's own arm pays least, as if costs had been given for rewards.
    seems_costs: bool = False

    @property
    def final(self) -> FloatArray:
        """Mean regret per decision over all rows (n_policies,)."""
        mean: FloatArray = self.result.final.mean(axis=0) / self.result.horizon
        return mean

    @property
    def half_width(self) -> FloatArray:
        """Half a 95 % confidence interval of ``final`` (n_policies,); NaN after one order."""
        return half_width(self.result.final) / self.result.horizon

    @property
    def pull_shares(self) -> FloatArray:
        """How often each policy chose each arm (n_policies, n_arms)."""
        shares: FloatArray = self.result.pulls.mean(axis=0) / self.result.horizon
        return shares

    def reasons(self, policy: str) -> list[tuple[str, int, float, str]]:
        """Of a Greedy-First: per culprit arm its name, switches, median round and direction."""
        place = self.result.policies.index(policy)
        found = []
        for arm, name in enumerate(self.arms):
            here = self.result.culprit[:, place] == arm
            if here.any():
                rounds = float(np.median(self.result.switched_at[here, place]))
                direction = self._direction(self.result.weakest[here, place])
                found.append((name, int(here.sum()), rounds, direction))
        return sorted(found, key=lambda row: -row[1])

    def _direction(self, directions: FloatArray) -> str:
        """The columns that weigh most in weakest directions."""
        weights = np.sqrt((directions**2).mean(axis=0))
        order = np.argsort(-weights, kind="stable")[:3]
        columns = self.schema.feature_names
        return ", ".join(f"{columns[i]} ({weights[i]:.2f})" for i in order if weights[i] > 0.01)

    def table(self) -> str:
        """For a terminal, best first."""
        what = "wrong decisions" if self.counts_errors else "regret per decision"
        rows = counted(self.result.horizon, "row")
        orders = counted(self.result.n_instances, "order")
        table = Table(title=escape(f"{self.source}: {rows}, {orders}"))
        table.add_column("policy")
        for heading in (what, "± (95 %)", "switched"):
            table.add_column(heading, justify="right")
        for place in np.argsort(self.final, kind="stable"):
            name = self.result.policies[place]
            cells = self.cells(int(place))
            table.add_row(escape(name), *cells, str(self.result.switches.get(name, "")))
        text = io.StringIO()
        Console(file=text, width=100).print(table)
        return text.getvalue().rstrip()

    def cells(self, place: int) -> tuple[str, str]:
        """A policy's cost and its half-width, as people read them; "" if there is none."""
        value, half = self.final[place], self.half_width[place]
        shown, digits = (f"{value:.1%}", ".1%") if self.counts_errors else (f"{value:.4g}", ".2g")
        return shown, half_width_text(half, digits)


def half_width(values: FloatArray) -> FloatArray:
    """Half a 95 % confidence interval of means over the orders (n_orders, ...), by Student's t."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    half: FloatArray = stdtrit(n - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return half


def replay_table(
    frame: pandas.DataFrame,
    *,
    label: str,
    source: str = "table",
    drop: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    intercept: bool = False,
    standardise: bool = False,
    normalise: bool = False,
    impute: str | None = None,
    costs: tuple[FloatArray, tuple[str, ...]] | None = None,
    policies: Mapping[str, Policy] | None = None,
    permutations: int = 20,
    seed: int = 10,
    n_jobs: int = 1,
) -> Replay:
    """Replay a classified table as a bandit problem.

    Each row is a decision: its columns are the context, each class is an arm, and the right arm
    pays 1, the others 0. All policies meet the same random orders of the rows.

    Parameters
    ----------
    frame, label
        The table, and its column of classes.
    source
        Its name, for reports.
    drop, categorical, intercept, standardise, impute
        As in :func:`greedyfirst.tables.infer_schema`.
    normalise
        Divide each encoded row by its length, as the paper does.
    costs
        Rewards (n_classes, n_arms) and the arms' names, instead of 0 and 1: see `read_costs`.
        Policies meet them divided by the difference of the largest and the smallest, so that the
        currency decides nothing; regrets are in the unit given.
    policies
        By name; `default_policies` if not given.
    permutations
        Random orders of the rows.
    seed, n_jobs
        As in :func:`greedyfirst.simulate`.
    """
    whole_number("permutations", permutations, at_least=1)
    codes, classes = read_labels(frame, label)
    schema = infer_schema(
        frame,
        label=label,
        drop=drop,
        categorical=categorical,
        intercept=intercept,
        standardise=standardise,
        impute=impute,
    )
    per_class, arms = _rewards(costs, classes)
    _check_size(schema, len(arms))
    contexts = _contexts(frame, schema, normalise=normalise)
    # Margins, priors and noise of policies are absolute: they are meant for rewards about 1.
    unit = float(per_class.max() - per_class.min()) or 1.0
    rewards = (per_class / unit)[codes]
    contexts.flags.writeable = False  # so that the problem need not copy them
    problem = TableProblem(contexts=contexts, rewards=rewards, shuffle=True)
    best = int(rewards.sum(axis=0).argmax())
    chosen = default_policies(schema.n_features, best) if policies is None else policies
    result = simulate(
        problem,
        chosen,
        n_instances=permutations,
        horizon=problem.n_rows,
        seed=seed,
        n_jobs=n_jobs,
    )
    return Replay(
        source=source,
        result=_in_unit(result, unit),
        schema=schema,
        arms=arms,
        policies=dict(chosen),
        counts_errors=costs is None,
        seems_costs=own_arm_pays_least(per_class, classes, arms),
    )


def _rewards(
    costs: tuple[FloatArray, tuple[str, ...]] | None, classes: tuple[str, ...]
) -> tuple[FloatArray, tuple[str, ...]]:
    """What each arm pays in each class (n_classes, n_arms), and the arms' names."""
    if costs is None:
        return np.eye(len(classes)), classes
    per_class = array("costs", costs[0], (len(classes), None))
    arms = names("the arms of costs", costs[1], per_class.shape[1])
    check_rewards("costs", per_class, classes, arms)
    return per_class, arms


def _in_unit(result: SimulationResult, unit: float) -> SimulationResult:
    """Regrets of rewards that had been divided by ``unit``."""
    return replace(
        result,
        mean=unit * result.mean,
        half_width=unit * result.half_width,
        final=unit * result.final,
    )


def _check_size(schema: Schema, n_arms: int) -> None:
    """Refuse a table whose Gram matrices would take gigabytes, and hours."""
    d = schema.n_features
    if n_arms * d**2 <= MOST_CELLS:
        return
    widest = max(schema.features, key=lambda each: len(each.encoded_names(schema.intercept)))
    width = len(widest.encoded_names(schema.intercept))
    advice = f"; {widest.name!r} alone makes {width}: drop it, or merge its levels"
    raise ValueError(
        f"{n_arms} arms with {d} encoded columns are too many: arms × columns² may be "
        f"{MOST_CELLS:,} at most{advice if width > 1 else ''}"
    )


def _contexts(frame: pandas.DataFrame, schema: Schema, *, normalise: bool) -> FloatArray:
    """The encoded rows (n, d)."""
    contexts = schema.encode(frame)
    if normalise:
        zero = ~contexts.any(axis=1)
        if zero.any():
            raise ValueError(
                f"data row {first_row(zero)} is 0 in every column, so it has no length to be "
                "divided by; add an intercept or do not normalise"
            )
        normalise_rows(contexts)
    _check_units(contexts, schema.feature_names)
    return contexts


def _check_units(contexts: FloatArray, columns: Sequence[str]) -> None:
    """Refuse columns so large, or so much larger than another, that rounding would decide."""
    largest = np.maximum(contexts.max(axis=0), -contexts.min(axis=0))
    if largest.max() > LARGEST_CONTEXT:
        column = int(largest.argmax())
        raise ValueError(
            f"column {columns[column]!r} has values up to {largest[column]:.3g}, "
            "whose squares are not finite; standardise it or change its unit"
        )
    used = np.flatnonzero(largest)
    # In its own unit, so that no square of a column vanishes.
    sizes = [largest[i] * np.linalg.norm(contexts[:, i] / largest[i]) for i in used]
    high, low = int(np.argmax(sizes)), int(np.argmin(sizes))
    if sizes[high] / LARGEST_RATIO > sizes[low]:
        raise ValueError(
            f"column {columns[used[high]]!r} is {sizes[high] / sizes[low]:.0e} times larger than "
            f"{columns[used[low]]!r}: give standardise=True (--standardise) or change its unit"
        )
