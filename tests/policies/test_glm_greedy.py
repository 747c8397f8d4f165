"""GLM Greedy against a plain loop: statsmodels' fit of every arm, then the largest estimate."""

import re

import numpy as np
import pytest

from greedyfirst import Agent, GLMGreedy
from support.glm_reference import ReferenceArms, draw_rewards

N_ARMS, D = 3, 3


@pytest.mark.parametrize(
    ("link", "warmup", "horizon"),
    [
        ("logistic", "ridge", 150),
        ("probit", "none", 120),
        ("poisson", "ridge", 100),
        ("identity", "none", 60),
    ],
)
def test_decisions_and_estimates_are_those_of_another_library(link, warmup, horizon):
    """From the first row on; estimates exist exactly where a linear program says so."""
    rng = np.random.default_rng(21)
    contexts = rng.normal(size=(horizon, D))
    rewards = draw_rewards(rng, link, 0.7 * contexts @ rng.normal(size=(D, N_ARMS)))
    policy = GLMGreedy(link=link, warmup=warmup, rule=1)
    agent = Agent(policy, n_arms=N_ARMS, n_features=D, seed=2)
    reference = ReferenceArms(link, N_ARMS, D, warmup=warmup)
    compared = 0
    for context, row in zip(contexts, rewards, strict=True):
        scores = np.sort(reference.estimate @ context)
        arm = agent.choose(context)
        if scores[-1] - scores[-2] > 1e-4 * max(1.0, np.abs(scores).max()):
            assert arm == np.argmax(reference.estimate @ context)
            compared += 1
        agent.update(context, arm, float(row[arm]))
        reference.learn(context, arm, row[arm])
        model = agent.state.model
        assert model.exists.tolist() == reference.exists.tolist()
        # Penalised estimates are scipy's, which stops at a gradient of 1e-9 or at rounding.
        precise = reference.exists[arm]
        assert np.allclose(
            model.estimate[arm],
            reference.estimate[arm],
            rtol=1e-6 if precise else 1e-4,
            atol=1e-7 if precise else 1e-5,
        )
    assert reference.exists.sum() >= 2
    assert compared > horizon / 2


def test_first_pulls_in_turns():
    agent = Agent(GLMGreedy(initial_pulls=2), n_arms=3, n_features=1, seed=0)
    arms = []
    for _ in range(6):
        assert sorted(agent.probabilities([1.0])) == [0.0, 0.0, 1.0]
        arms.append(agent.choose([1.0]))
        agent.update([1.0], arms[-1], float(arms[-1] == 1))
    assert arms == [0, 1, 2, 0, 1, 2]
    assert agent.choose([1.0]) == 1
    assert agent.choose([-1.0]) in (0, 2)


def test_ties_are_shared():
    agent = Agent(GLMGreedy(), n_arms=3, n_features=1, seed=0)
    np.testing.assert_allclose(agent.probabilities([1.0]), 1 / 3)
    # Of four rewards arms 0 and 2 get three 1s, in the same order, and arm 1 one.
    rewards = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    agent.update_many(np.ones((12, 1)), np.tile([0, 1, 2], 4), rewards.ravel())
    np.testing.assert_array_equal(agent.probabilities([1.0]), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(agent.probabilities([-1.0]), [0.0, 1.0, 0.0])
    chosen = agent.choose_many(np.ones((64, 1)))
    assert set(chosen) == {0, 2}  # one of them alone has the chance 2⁻⁶³; fixed seed


@pytest.mark.parametrize("warmup", ["none", "ridge"])
def test_before_the_estimate_exists(warmup):
    """One 1 at x = 1: no maximum. Without a warm-up 0; with it β solves 1 - μ(β) = β/2.5²."""
    agent = Agent(GLMGreedy(warmup=warmup), n_arms=2, n_features=1, seed=0)
    agent.update([1.0], 0, 1.0)
    beta = agent.state.model.estimate[0, 0]
    if warmup == "none":
        assert beta == 0.0
    else:
        assert beta > 1.0
        assert 1 / (1 + np.exp(beta)) == pytest.approx(beta / 2.5**2, rel=1e-9)
    agent.update([1.0], 0, 0.0)
    assert agent.state.model.estimate[0, 0] == pytest.approx(0.0, abs=1e-12)
    agent.update([1.0], 0, 1.0)  # two of three: log-odds log 2
    assert agent.state.model.estimate[0, 0] == pytest.approx(np.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("link", "logit", "one of 'identity', 'logistic', 'poisson', 'probit'"),
        ("link", None, "'logistic'"),
        ("link", ["logistic"], "'logistic'"),
        ("warmup", "pinv", "one of 'none', 'ridge'"),
        ("warmup", None, "one of 'none', 'ridge'"),
        ("initial_pulls", -1, "a whole number at least 0"),
        ("initial_pulls", 1.0, "a whole number at least 0"),
        ("initial_pulls", None, "a whole number at least 0"),
        ("memory", 0, "a whole number at least 1"),
        ("memory", -64, "a whole number at least 1"),
        ("memory", 2.5, "a whole number at least 1"),
        ("memory", True, "a whole number at least 1"),
        ("memory", None, "a whole number at least 1"),
        ("memory", "all", "'exact' or a whole number of rows of at least 1"),
    ],
)
def test_bad_options_name_argument_value_and_expectation(option, value, expected):
    with pytest.raises(ValueError, match=rf"^{option} must be ") as raised:
        GLMGreedy(**{option: value})
    message = str(raised.value)
    assert expected in message
    assert re.search(rf"got {re.escape(repr(value))}$", message)
