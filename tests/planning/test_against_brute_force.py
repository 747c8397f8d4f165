"""A plan against a brute-force simulation in plain NumPy: other code, other random numbers.

Numbers agree within SIGMAS standard errors of both simulations. With that many comparisons a false
alarm has the chance that the last test states.
"""

import numpy as np
import pytest
from numpy_plan import brute_force, chance_of_a_false_alarm, summary

from greedyfirst import Greedy
from greedyfirst.planning import (
    given_effects,
    least_difference,
    normal_population,
    plan_trial,
    random_effects,
    sampled_population,
)
from greedyfirst.planning.plan import ADAPTIVE, FIXED

SIGMAS = 4.5
OURS, THEIRS = 1000, 250
LEARNED = ["width", "width_80", "error_95", "coverage", "right_arm", "right_person"]
COSTS = ["not_best", "worse_on_average", "regret", "starving"]
COLUMNS = [*LEARNED, *COSTS]


def normal_contexts(d):
    return lambda rng, n: np.column_stack([np.ones(n), rng.normal(size=(n, d))])


def two_arms_of_a_law():
    population = normal_population(2)
    effects = random_effects(population, n_arms=2, effect=0.5, interaction=0.6)

    def draw_beta(rng):
        main = rng.normal(scale=0.5, size=2)
        return np.column_stack([main, rng.normal(scale=0.6 / np.sqrt(2), size=(2, 2))])

    return population, effects, normal_contexts(2), draw_beta, np.array([1.0, 0.0, 0.0])


def three_arms_of_a_table():
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(80), rng.normal(50, 12, 80), rng.exponential(0.1, 80)])
    population = sampled_population(rows)
    effects = least_difference(population, n_arms=3, difference=0.8, interaction=0.4)
    mean, deviation = rows[:, 1:].mean(axis=0), rows[:, 1:].std(axis=0)

    def draw_beta(rng):
        outcomes = np.zeros(3)
        outcomes[rng.integers(3)] = 0.8
        slopes = rng.normal(scale=0.4 / np.sqrt(2), size=(3, 2)) / deviation
        return np.column_stack([outcomes - slopes @ mean, slopes])

    def draw_contexts(rng, n):
        return rows[rng.integers(80, size=n)]

    return population, effects, draw_contexts, draw_beta, rows.mean(axis=0)


def three_given_arms():
    """Far apart, after one first pull each: greedy often leaves an arm without an estimate."""
    beta = np.array([[1.5, 0.3], [0.6, -0.3], [-0.3, 0.2]])
    population = normal_population(1)
    effects = given_effects(population, beta)
    return population, effects, normal_contexts(1), lambda rng: beta, np.array([1.0, 0.0])


ALGORITHM_1 = {"warmup": "none"}
SETTINGS = {
    "two arms of a law": (two_arms_of_a_law, Greedy(**ALGORITHM_1, initial_pulls=4), 60, 1.0),
    "arms of a table": (three_arms_of_a_table, Greedy(**ALGORITHM_1, initial_pulls=5), 75, 0.7),
    "three given arms": (three_given_arms, Greedy(warmup="pinv", initial_pulls=1), 48, 1.0),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_brute_force_agrees(setting):
    make, policy, people, noise = SETTINGS[setting]
    population, effects, draw_contexts, draw_beta, mean = make()
    plan = plan_trial(
        population,
        effects,
        noise=noise,
        policy=policy,
        people=[people],
        width=1.0,
        trials=OURS,
        seed=3,
    )
    theirs = brute_force(
        draw_contexts,
        draw_beta,
        mean,
        people=people,
        noise=noise,
        first_pulls=policy.initial_pulls,
        trials=THEIRS,
        seed=4,
    )
    compared = 0
    for design, measured in zip((ADAPTIVE, FIXED), theirs, strict=True):
        ours, other = plan.row(people, design), summary(measured)
        interval = np.isfinite(measured[:, 0]).mean()
        assert ours["interval"] == pytest.approx(interval, abs=SIGMAS * 0.5 / np.sqrt(THEIRS))
        for name in COLUMNS:
            value, error = other[name]
            if np.isinf(value) or np.isinf(ours[name]):
                assert value == ours[name], (design, name)
                continue
            allowed = SIGMAS * np.hypot(error, ours[f"{name}_se"]) + 1e-12
            assert np.isfinite(allowed)
            assert abs(ours[name] - value) <= allowed, (design, name, ours[name], value, allowed)
            compared += 1
    assert compared >= 2 * len(COLUMNS) - 3


def test_a_false_alarm_is_unlikely():
    assert chance_of_a_false_alarm(SIGMAS, len(SETTINGS) * 2 * (len(COLUMNS) + 1)) < 0.001
