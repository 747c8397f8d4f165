"""Switches where an arm is never best: their rounds by hand, shares and files."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from greedyfirst import Agent
from greedyfirst.experiments import EXPERIMENTS, never_best
from greedyfirst.experiments.never_best import LAMBDA0, LEADS, half_widths, label, shares_switched
from greedyfirst.policies import GreedyFirst, OLSBandit

EXPERIMENT = EXPERIMENTS["never-best"]
BEST_IN_PLACES = LEADS[-1]


@pytest.fixture(scope="module")
def result():
    """The two tests that are over soon."""
    soon = [name for name in EXPERIMENT.policies if not name.endswith("0.001")]
    short = replace(
        EXPERIMENT, horizon=10_000, policies={name: EXPERIMENT.policies[name] for name in soon}
    )
    return short.run(n_instances=40, n_jobs=2)


def test_the_policies_are_those_of_the_paper():
    for name, policy in EXPERIMENT.policies.items():
        assert policy == GreedyFirst(
            warmup="none",
            initial_pulls=20,
            t0=100,
            lambda0=LAMBDA0[name.partition(", ")[2]],
            fallback=OLSBandit(h=5.0, q=1, warmup="none"),
            span="full",
            carry_over=False,
        )


@pytest.mark.parametrize("lead", LEADS)
def test_where_the_third_arm_is_best(lead):
    problem = EXPERIMENT.problem[label(lead, "λ₀ = 0.01")]
    regrets = problem.draw(np.random.default_rng(1), 20_000).regrets[:, 2]
    if lead > 0:
        assert regrets.min() >= lead
    else:  # |N(0, 0.5)| < 0.5 has the chance 0.5205; five standard errors are 0.018
        assert (regrets == 0).mean() == pytest.approx(0.5205, abs=0.018)


def test_the_round_of_the_switch_without_noise():
    """Estimates are exact after the first pulls, so the third arm keeps the Gram matrix of those.

    It falls short of λ₀t/4 at the first t above 4λ_min/λ₀.
    """
    problem = never_best.problem(0.1)
    contexts = problem.contexts.sample(np.random.default_rng(3), 10_000)
    means = contexts @ np.asarray(problem.arms.parameters).T
    lambda0 = 0.01
    agent = Agent(never_best.policy(lambda0), n_arms=3, n_features=4, seed=1)
    own = []
    for t, context in enumerate(contexts, 1):
        arm = agent.choose(context)
        if agent.explores:
            break
        own += [context] if arm == 2 else []
        agent.update(context, arm, float(means[t - 1, arm]))
    assert len(own) == 20
    smallest = np.linalg.eigvalsh(np.array(own).T @ own)[0]
    # The test of round t is made after its decision, so t + 1 is the first that explores.
    assert t == int(4 * smallest / lambda0) + 2


def test_it_switches_wherever_an_arm_is_never_best(result):
    """All of 400 instances have switched by 5000 rounds, and an arm's switch is its own.

    With λ₀ = 0.01 and every arm best in places 1 % switch: more than 4 of 40 has a chance below
    1e-4; fixed seed.
    """
    for place, name in enumerate(result.policies):
        switched = result.switched_at[:, place]
        if name.startswith(f"h = {BEST_IN_PLACES:g}"):
            continue
        assert switched.min() > 100
        assert switched.max() < 10_000
        assert (result.culprit[:, place] == 2).all()
    assert result.switches[label(BEST_IN_PLACES, "λ₀ = 0.01")] <= 4


def test_shares(result):
    shares = shares_switched(result)
    steps = never_best.STEPS
    assert (steps[0], steps[-1]) == (101, EXPERIMENT.horizon)
    first = result.switched_at[:, 0]
    for place in (0, 30, 60, 119 - 30):
        by_now = np.count_nonzero((first > 0) & (first <= steps[place]))
        assert shares[0, place] == by_now / 40
    for count in (0, 3, 40):
        low, high = proportion_confint(count, 40, method="wilson")
        found = half_widths(np.array([count / 40]), 40)[0]
        assert found == pytest.approx((high - low) / 2, rel=1e-4)


def test_files(tmp_path):
    result = replace(EXPERIMENT, horizon=300).run(n_instances=2)
    table, picture, facts = EXPERIMENT.write(result, tmp_path)
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["policy", "t", "mean", "half_width"]
    assert len(rows) == 12 * len(never_best.STEPS)
    assert picture.stat().st_size > 10_000
    said = json.loads(facts.read_text())
    assert said["settings"]["leads h"] == list(LEADS)
    assert said["switches"] == result.switches
    assert "0.5, λ₀ estimated" in EXPERIMENT.table(result)
    assert EXPERIMENT.final(result)[label(0.5, "λ₀ = 0.01")].mean == 0
