"""What a notebook shows of each thing: one short line."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from greedyfirst import (
    Agent,
    Categorical,
    Greedy,
    GreedyFirst,
    Numeric,
    OLSBandit,
    Schema,
    simulate,
)
from greedyfirst.evaluation import LoggedData, evaluate, replay_log
from greedyfirst.planning import normal_population, plan_trial, random_effects
from greedyfirst.policies import POLICIES
from greedyfirst.problems import TableProblem
from greedyfirst.replay import replay_table
from greedyfirst.theory import measure_diversity

RNG = np.random.default_rng(0)
LONGEST = 160


def agent():
    found = Agent(GreedyFirst(fallback=OLSBandit(q=2)), n_arms=3, n_features=40, seed=1)
    found.update_many(RNG.normal(size=(50, 40)), RNG.integers(3, size=50), RNG.normal(size=50))
    return found


def simulated():
    problem = TableProblem(contexts=np.ones((300, 2)), rewards=np.ones((300, 2)))
    return simulate(problem, {"Greedy": Greedy()}, n_instances=3, horizon=300, seed=4)


def logged():
    return LoggedData(
        contexts=RNG.normal(size=(200, 3)),
        arms=RNG.integers(2, size=200),
        rewards=RNG.normal(size=200),
        propensities=np.full(200, 0.5),
        arm_names=["old", "new"],
    )


def table():
    x = RNG.normal(size=(120, 2))
    return pd.DataFrame(x, columns=["u", "v"]).assign(label=np.where(x[:, 0] > 0, "a", "b"))


SHOWN = {
    "agent": (
        agent,
        "Agent(GreedyFirst(fallback=OLSBandit(q=2)), 3 arms, 40 features, seed=1): 0 decisions, "
        "50 rewards",
    ),
    "diversity of an agent": (
        lambda: agent().diversity(),
        "DiversityReport(3 arms, 50 rewards: greedy)",
    ),
    "intervals": (
        lambda: agent().intervals(np.eye(40), sigma=1.0),
        "Intervals(40 contexts × 3 arms, level 0.95)",
    ),
    "schema": (
        lambda: Schema(features=[Numeric(f"x{i}") for i in range(30)], intercept=True),
        "Schema(x0, x1, x2, x3, x4, x5 and 24 more: 31 encoded columns, with an intercept)",
    ),
    "categorical": (
        lambda: Categorical("city", [f"c{i}" for i in range(900)]),
        "Categorical('city', ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7'] and 892 more)",
    ),
    "simulation": (simulated, "SimulationResult(Greedy: 3 instances, horizon 300, seed 4)"),
    "log": (logged, "LoggedData(200 rows, 3 features, 2 arms, with propensities)"),
    "diversity of contexts": (
        lambda: measure_diversity(RNG.normal(size=(50, 2)), seed=0),
        r"CovariateDiversity(50 rows, 2 columns: λ₀ from ",
    ),
    "replay of a log": (lambda: replay_log(logged(), Greedy()), "LogReplay(200 rows, agreement "),
    "evaluation": (lambda: evaluate(logged(), Greedy()), "Evaluation(doubly robust "),
    "plan": (
        lambda: plan_trial(
            normal_population(1),
            random_effects(normal_population(1), n_arms=2, effect=0.5),
            policy=Greedy(),
            noise=1.0,
            people=[30],
            trials=4,
            seed=0,
            progress=False,
        ),
        "Plan(Greedy(), people 30: 4 trials, seed 0)",
    ),
    "replay": (
        lambda: replay_table(table(), label="label", permutations=2, policies={"Greedy": Greedy()}),
        "Replay(",
    ),
}


@pytest.mark.parametrize("what", SHOWN)
def test_it_is_one_short_line(what):
    make, text = SHOWN[what]
    shown = repr(make())
    assert shown.startswith(text)
    assert len(shown) <= LONGEST
    assert "\n" not in shown


@pytest.mark.parametrize("name", [name for name in POLICIES if ":" not in name])
def test_policies_show_the_options_that_were_changed_and_can_be_read_back(name):
    policy = POLICIES[name]
    for each in policy.examples():
        shown = repr(each)
        if "array(" not in shown:
            assert eval(shown, dict(POLICIES)) == each
    with suppress(TypeError):  # it has an option that must be given
        assert repr(policy()) == f"{name}()"


def test_policies_of_ones_own_too():
    @dataclass(frozen=True, kw_only=True)
    class Mine(Greedy):
        width: float = 1.0

    try:
        assert repr(Mine(width=2.0, warmup="pinv")) == "Mine(warmup='pinv', width=2.0)"
    finally:
        del POLICIES[Mine.registered_name()]
