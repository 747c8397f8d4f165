"""Warfarin with other costs and for longer: rewards by hand, and Figure 4(d) as a special case."""

import numpy as np
import pytest
from test_figure4 import needs_data

from greedyfirst import GreedyFirst
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.experiments.warfarin import HIGH_DOSE, with_cost
from support.real_data import DATA

COSTS = {"warfarin-cost-2": 2, "warfarin-cost-5": 5, "warfarin-cost-10": 10}
RIGHT = np.eye(3)[[0, 1, 2]]  # a patient of each dose


def test_rewards_by_hand():
    """Rows are patients who need a low, medium and high dose; columns what they are given."""
    np.testing.assert_array_equal(with_cost(RIGHT, 5.0), [[1, 0, 0], [0, 1, 0], [-4, -4, 1]])
    np.testing.assert_array_equal(
        with_cost(RIGHT, 5.0, seen=False), [[1, 0, 0], [0, 1, 0], [0, 0, 5]]
    )
    np.testing.assert_array_equal(with_cost(RIGHT, 1.0), RIGHT)


@needs_data
@pytest.mark.parametrize("name", [*COSTS, "warfarin-premium-5"])
def test_a_mistake_on_a_high_dose_patient_costs_more(name):
    experiment = EXPERIMENTS[name].prepared(DATA)
    published = EXPERIMENTS["fig4d"].prepared(DATA)
    assert experiment.name == name
    assert experiment.policies == published.policies
    assert (experiment.horizon, experiment.n_instances) == (5527, 100)
    np.testing.assert_array_equal(experiment.problem.contexts, published.problem.contexts)
    wrong = 1 - published.problem.rewards
    high = published.problem.rewards[:, HIGH_DOSE] == 1
    assert 600 < high.sum() < 800  # a high dose is right for 701 of the 5528 patients
    cost = np.where(high, COSTS.get(name, 5), 1)[:, np.newaxis]
    np.testing.assert_array_equal(experiment.problem.row_regrets(), cost * wrong)


@needs_data
def test_the_doctors_pay_for_every_high_dose_patient():
    """Always the medium dose: by hand, from the table."""
    experiment = EXPERIMENTS["warfarin-cost-5"].prepared(DATA)
    result = experiment.run(n_instances=1)
    rewards = EXPERIMENTS["fig4d"].prepared(DATA).problem.rewards
    low, _, high = rewards.sum(axis=0)
    place = result.policies.index("Doctors")
    assert result.final[0, place] == pytest.approx(low + 5 * high)


@needs_data
def test_more_patients_than_there_are():
    experiment = EXPERIMENTS["warfarin-resampled"].prepared(DATA)
    assert (experiment.horizon, experiment.problem.n_rows) == (100_000, 5527)
    draw = experiment.problem.draw(np.random.default_rng(1), experiment.horizon)
    assert draw.contexts.shape == (100_000, 93)
    published = EXPERIMENTS["fig4d"].prepared(DATA)
    own = {"Greedy-First (arm by arm)": GreedyFirst()}
    assert experiment.policies == {**published.policies, **own}
    # Shares of the classes are the table's: false alarms below 1e-6.
    shares = published.problem.rewards.mean(axis=0)
    np.testing.assert_allclose(draw.rewards.mean(axis=0), shares, atol=5 * 0.5 / 100_000**0.5)
