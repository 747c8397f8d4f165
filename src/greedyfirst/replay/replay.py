"""From a classified table to the cost of each policy."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from greedyfirst.engines.engine import Spread
from greedyfirst.policies import Policy
from greedyfirst.problems import TableProblem
from greedyfirst.replay.costs import check_rewards, own_arm_pays_least
from greedyfirst.replay.played import (
    FIRST_PULLS,
    chosen_policies,
    default_policies,
    pulls_first,
    variant,
    with_first_pulls,
)
from greedyfirst.replay.uncertainty import RowCosts, half_widths
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.simulation.result import counted
from greedyfirst.simulation.streaming import half_width_text
from greedyfirst.tables import infer_schema, read_labels
from greedyfirst.tables.contexts import check_size, encoded_contexts
from greedyfirst.tables.findings import Faults
from greedyfirst.tables.schema import Schema
from greedyfirst.validation import FloatArray, array, names, whole_number

if TYPE_CHECKING:
    import pandas

# The last share of the decisions: what a policy costs when it has learned.
LATE = 0.25


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """What each policy would have cost on a table, over random orders of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from greedyfirst.replay import replay_table
    >>> age = np.random.default_rng(0).uniform(20, 80, size=100)
    >>> frame = pd.DataFrame({"age": age, "dose": np.where(age < 50, "high", "low")})
    >>> replay = replay_table(frame, label="dose", policies=["Greedy", "LinUCB"], permutations=2)
    >>> replay.arms, replay.result.n_instances
    (('high', 'low'), 2)
    """

    source: str
    #: Of the policies that are shown.
    result: SimulationResult
    schema: Schema
    arms: tuple[str, ...]
    #: The policies that were played, by name.
    policies: Mapping[str, Policy]
    #: The share of rows for which each arm is right, or pays most (n_arms,).
    arm_shares: FloatArray
    #: All that was played, with other first pulls too: names, mean cost per decision, and the
    #: covariance of these means, over orders and rows.
    labels: tuple[str, ...]
    costs: FloatArray
    covariance: FloatArray
    #: First pulls of each arm, for policies that make them, and those that were tried.
    initial_pulls: int
    tried_pulls: tuple[int, ...]
    #: The difference of the largest and the smallest reward.
    unit: float = 1.0
    #: Whether regret counts wrong decisions: rewards were 1 for the right class and 0 otherwise.
    counts_errors: bool
    #: Whether each class's own arm pays least, as if costs had been given for rewards.
    seems_costs: bool = False

    def __repr__(self) -> str:
        return f"Replay({self.source}: {len(self.arms)} arms, {self.result!r})"

    @property
    def final(self) -> FloatArray:
        """Mean regret per decision over all rows (n_policies,)."""
        mean: FloatArray = self.result.final.mean(axis=0) / self.result.horizon
        return mean

    @property
    def half_width(self) -> FloatArray:
        """Half a 95 % confidence interval of ``final`` (n_policies,); NaN after one order."""
        halves = half_widths(self.covariance, self.result.n_instances)
        return halves[[self.labels.index(name) for name in self.result.policies]]

    @property
    def late(self) -> FloatArray:
        """Mean regret per decision over the last quarter of the rows (n_policies,)."""
        steps, mean = self.result.steps, self.result.mean
        first = int(np.searchsorted(steps, (1 - LATE) * steps[-1], side="right")) - 1
        if first < 0 or steps[first] == steps[-1]:
            return self.final
        recent: FloatArray = (mean[:, -1] - mean[:, first]) / (steps[-1] - steps[first])
        return recent

    @property
    def pull_shares(self) -> FloatArray:
        """How often each policy chose each arm (n_policies, n_arms)."""
        shares: FloatArray = self.result.pulls.mean(axis=0) / self.result.horizon
        return shares

    def reasons(self, policy: str) -> list[tuple[str, int, float, str]]:
        """Of a Greedy-First: per arm with an alarm its name, orders, median round, direction."""
        place = self.result.policies.index(policy)
        found = []
        for arm, name in enumerate(self.arms):
            here = (self.result.culprit[:, place] == arm) & (self.result.alarmed_at[:, place] > 0)
            if here.any():
                rounds = float(np.median(self.result.alarmed_at[here, place]))
                direction = self._direction(self.result.weakest[here, place])
                found.append((name, int(here.sum()), rounds, direction))
        return sorted(found, key=lambda row: -row[1])

    def _direction(self, directions: FloatArray) -> str:
        """The columns that weigh most in weakest directions."""
        weights = np.sqrt((directions**2).mean(axis=0))
        order = np.argsort(-weights, kind="stable")[:3]
        columns = self.schema.feature_names
        return ", ".join(f"{columns[i]} ({weights[i]:.2f})" for i in order if weights[i] > 0.01)

    def alarms(self, policy: str) -> str:
        """In how many orders a Greedy-First ended with an arm that starves; "" for others."""
        place = self.result.policies.index(policy)
        if not self.result.watched[place]:
            return ""
        return str(int(np.count_nonzero(self.result.alarmed_at[:, place])))

    def table(self) -> str:
        """For a terminal, best first."""
        what = "wrong decisions" if self.counts_errors else "regret per decision"
        rows = counted(self.result.horizon, "row")
        orders = counted(self.result.n_instances, "order")
        table = Table(title=escape(f"{self.source}: {rows}, {orders}"))
        table.add_column("policy")
        for heading in (what, "± (95 %)", "last quarter", "alarms"):
            table.add_column(heading, justify="right")
        for place in np.argsort(self.final, kind="stable"):
            name = self.result.policies[place]
            table.add_row(escape(name), *self.cells(int(place)), self.alarms(name))
        text = io.StringIO()
        Console(file=text, width=100).print(table)
        return text.getvalue().rstrip()

    def cells(self, place: int) -> tuple[str, str, str]:
        """A policy's cost, its half-width ("" if there is none) and its cost of late."""
        half = half_width_text(self.half_width[place], ".1%" if self.counts_errors else ".2g")
        return self.amount(self.final[place]), half, self.amount(self.late[place])

    def amount(self, cost: float) -> str:
        """A cost per decision, as people read it."""
        return f"{cost:.1%}" if self.counts_errors else f"{cost:.4g}"


def replay_table(
    frame: pandas.DataFrame,
    *,
    label: str,
    source: str = "table",
    drop: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    intercept: bool = True,
    standardise: bool = False,
    normalise: bool = False,
    impute: str | None = None,
    costs: tuple[FloatArray, tuple[str, ...]] | None = None,
    policies: Mapping[str, Policy] | Sequence[str] | None = None,
    initial_pulls: int = 1,
    permutations: int = 20,
    seed: int = 10,
    **spread: Unpack[Spread],
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
        As in :func:`greedyfirst.tables.infer_schema`; there is an intercept unless told otherwise.
    normalise
        Divide each encoded row by its length, as the paper does.
    costs
        Rewards (n_classes, n_arms) and the arms' names, instead of 0 and 1: see `read_costs`.
        Policies meet them divided by the difference of the largest and the smallest, so that the
        currency decides nothing; regrets are in the unit given.
    policies
        By name, or names of `default_policies`, which are played if none are given.
    initial_pulls
        First pulls of each arm, by the default policies that make them. The verdict is tried with
        1, 2 and 5 as well.
    permutations
        Random orders of the rows.
    seed
        As in :func:`greedyfirst.simulate`.
    **spread
        ``n_jobs``, ``engine`` and ``resume``, as there.

    Examples
    --------
    What would greedy decisions have cost on a table in which age decides the dose?

    >>> import numpy as np
    >>> import pandas as pd
    >>> from greedyfirst.replay import replay_table
    >>> age = np.random.default_rng(0).uniform(20, 80, size=200)
    >>> frame = pd.DataFrame({"age": age, "dose": np.where(age < 50, "high", "low")})
    >>> policies = ["Greedy", "Always the same arm"]
    >>> replay = replay_table(frame, label="dose", policies=policies, permutations=2)
    >>> regret = dict(zip(replay.result.policies, replay.final, strict=True))  # per decision
    >>> bool(regret["Greedy"] < regret["Always the same arm"])
    True
    """
    whole_number("permutations", permutations, at_least=1)
    whole_number("initial_pulls", initial_pulls, at_least=0)
    faults = Faults()
    with faults:
        codes, classes = read_labels(frame, label)
    with faults:
        schema = infer_schema(
            frame,
            label=label,
            drop=drop,
            categorical=categorical,
            intercept=intercept,
            standardise=standardise,
            impute=impute,
        )
    faults.raise_all()
    per_class, arms = _rewards(costs, classes)
    check_size(schema, len(arms))
    contexts = encoded_contexts(frame, schema, normalise=normalise)
    # Policies of the user's own may have margins and priors meant for rewards about 1.
    unit = float(per_class.max() - per_class.min()) or 1.0
    rewards = (per_class / unit)[codes]
    contexts.flags.writeable = False  # so that the problem need not copy them
    problem = TableProblem(contexts=contexts, rewards=rewards, shuffle=True)
    shown, tried = _policies(policies, problem, yes_no=costs is None, initial_pulls=initial_pulls)
    played = {**shown, **_variants(shown, initial_pulls, tried)}
    gathered = RowCosts(problem, len(played), seed)
    result = simulate(
        problem,
        played,
        n_instances=permutations,
        horizon=problem.n_rows,
        seed=seed,
        collect=gathered.add,
        **spread,
    )
    result = _in_unit(result, unit)
    per_decision = result.final / problem.n_rows
    best = rewards.argmax(axis=1)
    return Replay(
        source=source,
        result=result.only(tuple(shown)),
        schema=schema,
        arms=arms,
        policies=shown,
        arm_shares=np.bincount(best, minlength=len(arms)) / problem.n_rows,
        labels=result.policies,
        costs=per_decision.mean(axis=0),
        covariance=gathered.covariance(per_decision, unit),
        initial_pulls=initial_pulls,
        tried_pulls=tried,
        unit=unit,
        counts_errors=costs is None,
        seems_costs=own_arm_pays_least(per_class, classes, arms),
    )


def _policies(
    given: Mapping[str, Policy] | Sequence[str] | None,
    problem: TableProblem,
    *,
    yes_no: bool,
    initial_pulls: int,
) -> tuple[dict[str, Policy], tuple[int, ...]]:
    """The policies to show, and the first pulls that the verdict is tried with."""
    if isinstance(given, Mapping):
        return dict(given), ()
    rewards = np.asarray(problem.rewards)
    usual = default_policies(
        problem.n_rows,
        problem.n_features,
        int(rewards.sum(axis=0).argmax()),
        yes_no=yes_no,
        initial_pulls=initial_pulls,
    )
    shown = usual if given is None else chosen_policies(usual, given)
    return shown, tuple(sorted({initial_pulls, *FIRST_PULLS}))


def _variants(
    shown: Mapping[str, Policy], initial_pulls: int, tried: Sequence[int]
) -> dict[str, Policy]:
    """The policies that make first pulls, with other numbers of them."""
    return {
        variant(name, pulls): with_first_pulls(policy, pulls)
        for pulls in tried
        if pulls != initial_pulls
        for name, policy in shown.items()
        if pulls_first(policy)
    }


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
