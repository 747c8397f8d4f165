"""Figure 4: real data, classified tables replayed as bandit problems.

(a) EEG, (b) eye movements, (c) cardiotocography, (d) warfarin. Each class is an arm, the right one
pays 1; rows are divided by their length; the curves are the share of wrong decisions so far over
100 random orders of the rows. What reproduces the published curves, of which the text says little
(docs/figure-4.md tells what of it is known and what inferred):

- d first pulls of each arm; Greedy's estimates are ridge while singular, which on cardiotocography
  and warfarin (collinear and one-hot columns) they are for most of the time;
- OLS Bandit's are of minimum norm, and brought up to date by the scheduled forced samples only;
- a switch hands the first pulls of Greedy-First to OLS Bandit as its forced samples.

Cardiotocography has two curves more, with minimum-norm estimates: Greedy, and Greedy-First with a
test inside the span of the contexts, its t₀ and OLS Bandit's h at the library's defaults.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from greedyfirst.experiments.experiment import Experiment
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
from greedyfirst.validation import FloatArray, wrong

N_PERMUTATIONS = 100
SIGMA_START = 1.0
LAMBDA0_MINIMUM = 1e-20
T0_MULTIPLE = 4  # t₀ in units of K·d
#: What the curves show.
MEASURE = "share of wrong decisions"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One table, and what the panels differ in."""

    name: str
    title: str
    data_set: str
    n_arms: int
    n_features: int
    h: float = 1.0
    t0_multiple: int = T0_MULTIPLE
    #: Whether there are curves of minimum-norm estimates too.
    minimum_norm: bool = False
    #: The arm of current practice, where there is one.
    doctors: int | None = None
    #: First rows that the published curve left out.
    skipped: int = 0

    def prepared(self, data_directory: Path | None) -> Experiment:
        """The experiment with its table, from ``data_directory`` or where tables are looked for."""
        contexts, rewards = self._read(data_directory)
        return Experiment(
            name=self.name,
            title=self.title,
            problem=TableProblem(contexts=contexts, rewards=rewards, shuffle=True),
            policies=self.policies(),
            horizon=len(contexts),
            n_instances=N_PERMUTATIONS,
            settings={
                "data set": self.data_set,
                "rows": len(contexts),
                "rows left out at the start": self.skipped,
                "arms": self.n_arms,
                "features": self.n_features,
                "contexts": "rows divided by their length, in random order",
                "rewards": "1 for the right class, 0 otherwise",
            },
            per_decision=MEASURE,
        )

    def _read(self, directory: Path | None) -> tuple[FloatArray, FloatArray]:
        """Contexts (n, d) of length one and rewards (n, n_arms)."""
        # Slow to import, and no other figure needs them.
        from greedyfirst.tables import TableNote, infer_schema, normalise_rows, read_labels
        from greedyfirst.tables.datasets import load_data_set

        frame, label = load_data_set(self.data_set, directory=directory)
        frame = frame.iloc[self.skipped :]
        codes, classes = read_labels(frame, label)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableNote)  # the paper took all columns as they are
            contexts = infer_schema(frame, label=label).encode(frame)
        found = (contexts.shape[1], len(classes))
        if found != (self.n_features, self.n_arms):
            expected = f"the paper's: {self.n_features} features and {self.n_arms} classes"
            raise wrong(self.data_set, f"{found[0]} features and {found[1]} classes", expected)
        return normalise_rows(contexts), np.eye(self.n_arms)[codes]

    def policies(self) -> dict[str, Policy]:
        """By the labels of the published figure; the minimum-norm ones are ours."""
        d = self.n_features
        ols_bandit = OLSBandit(h=self.h, q=1, warmup="pinv", initial_pulls=d, refresh="scheduled")
        found: dict[str, Policy] = {
            "Greedy": Greedy(warmup="ridge", initial_pulls=d),
            "Greedy-First": GreedyFirst(
                warmup="ridge",
                initial_pulls=d,
                t0=self.t0_multiple * self.n_arms * d,
                lambda0_minimum=LAMBDA0_MINIMUM,
                fallback=ols_bandit,
                span="full",
                carry_over="initial",
            ),
            "OLS Bandit": ols_bandit,
            "OFUL": OFUL(sigma_start=SIGMA_START),
            "Prior-dependent TS": ThompsonSampling(sigma_start=SIGMA_START),
            "Oracle": Oracle(),
        }
        if self.doctors is not None:
            found["Doctors"] = FixedArm(arm=self.doctors)
        if self.minimum_norm:
            found["Greedy (minimum norm)"] = Greedy(warmup="pinv", initial_pulls=d)
            found["Greedy-First (minimum norm)"] = GreedyFirst(
                warmup="pinv",
                initial_pulls=d,
                fallback=OLSBandit(warmup="pinv", initial_pulls=d),
                span="pooled",
                carry_over="initial",
            )
        return found


EXPERIMENTS = (
    Panel(
        name="fig4a",
        title="Figure 4(a): EEG, are the eyes open?",
        data_set="eeg",
        n_arms=2,
        n_features=14,
    ),
    Panel(
        name="fig4b",
        title="Figure 4(b): eye movements, which sentence answers?",
        data_set="eye_movements",
        n_arms=3,
        n_features=27,
    ),
    Panel(
        name="fig4c",
        title="Figure 4(c): cardiotocography, is the unborn child well?",
        data_set="cardiotocography",
        n_arms=3,
        n_features=35,
        t0_multiple=1,
        minimum_norm=True,
    ),
    Panel(
        name="fig4d",
        title="Figure 4(d): warfarin, a low, medium or high dose?",
        data_set="warfarin",
        n_arms=3,
        n_features=93,
        h=5.0,
        doctors=1,
        skipped=1,
    ),
)
