"""GLM-UCB against its formula in plain NumPy, with estimates by statsmodels."""

import re

import numpy as np
import pytest
from scipy import stats

from greedyfirst import GLMUCB, Agent, GLMGreedy, GreedyFirst, simulate
from greedyfirst.problems import (
    GaussianParameters,
    GeneralizedLinearProblem,
    UniformBall,
)
from support.glm_reference import MEANS, ReferenceArms, draw_rewards

# The largest and the smallest slope of μ on [-z, z].
SLOPES = {
    "logistic": lambda z: (1 / 4, 1 / (2 + np.exp(z) + np.exp(-z))),
    "probit": lambda z: (stats.norm.pdf(0), stats.norm.pdf(z)),
    "poisson": lambda z: (np.exp(z), np.exp(-z)),
}


def upper_bounds(reference, context, t, lambda0, *, x_max, b_max, horizon, delta, reward_max):
    """μ(x'β̂) + ρ_t·‖x‖ in V⁻¹ for every arm."""
    size = reference.estimate.size
    k_mu, c_mu = SLOPES[reference.link](x_max * b_max)
    kappa = np.sqrt(3 + 2 * np.log(1 + 2 * x_max**2 / lambda0))
    log_horizon = np.log(2 * size * (t if horizon is None else horizon) / delta)
    rho = 2 * k_mu * kappa * reward_max / c_mu * np.sqrt(2 * size * np.log(t) * log_horizon)
    return np.array(
        [
            MEANS[reference.link](context @ beta)
            + rho * np.sqrt(context @ np.linalg.solve(reference.gram(arm), context))
            for arm, beta in enumerate(reference.estimate)
        ]
    )


@pytest.mark.parametrize(
    ("link", "initial_pulls", "options"),
    [
        (
            "logistic",
            None,
            {"x_max": 1.5, "b_max": 0.8, "horizon": None, "delta": 0.01, "reward_max": 0.02},
        ),
        (
            "probit",
            5,
            {"x_max": 2.0, "b_max": 0.5, "horizon": 500, "delta": 0.1, "reward_max": 0.01},
        ),
        (
            "poisson",
            4,
            {"x_max": 2.0, "b_max": 0.3, "horizon": 80, "delta": 0.3, "reward_max": 0.02},
        ),
    ],
)
def test_scores_are_the_formula(link, initial_pulls, options):
    """At every step after the first pulls; λ₀ is fixed when they end."""
    n_arms, d, horizon = 3, 2, 50
    pulls = n_arms * (d if initial_pulls is None else initial_pulls)
    rng = np.random.default_rng(31)
    contexts = rng.normal(size=(horizon, d))
    contexts *= np.minimum(1, options["x_max"] / np.linalg.norm(contexts, axis=1))[:, None]
    rewards = draw_rewards(rng, link, 0.5 * contexts @ rng.normal(size=(d, n_arms)))
    policy = GLMUCB(link=link, initial_pulls=initial_pulls, warmup="none", **options)
    agent = Agent(policy, n_arms=n_arms, n_features=d, seed=1)
    reference = ReferenceArms(link, n_arms, d, warmup="none")
    arms = []
    for t, (context, row) in enumerate(zip(contexts, rewards, strict=True), 1):
        arms.append(agent.choose(context))
        if t > pulls:
            if t == pulls + 1:
                lambda0 = min(np.linalg.eigvalsh(reference.gram(arm))[0] for arm in range(n_arms))
            expected = upper_bounds(reference, context, t, lambda0, **options)
            assert np.allclose(agent.state.scores.value, expected, rtol=1e-6)
            assert arms[-1] == np.argmax(expected)
        agent.update(context, arms[-1], float(row[arms[-1]]))
        reference.learn(context, arms[-1], row[arms[-1]])
    assert arms[:pulls] == [t % n_arms for t in range(pulls)]
    assert len(set(arms[pulls:])) > 1
    assert reference.exists.any()


def test_an_arm_without_samples_in_a_direction_keeps_a_finite_bound():
    """V⁻¹ is a pseudo-inverse, and λ₀ counts as 10⁻¹²·x_max²."""
    agent = Agent(GLMUCB(x_max=2.0, b_max=0.5, initial_pulls=1), n_arms=2, n_features=2, seed=0)
    for arm in range(2):
        agent.update([2.0, 0.0], agent.choose([2.0, 0.0]), float(arm))
    agent.choose([1.0, 0.0])
    kappa = np.sqrt(3 + 2 * np.log(1 + 2e12))
    rho = (
        2 / 4 * (2 + np.exp(1) + np.exp(-1)) * kappa * np.sqrt(8 * np.log(3) * np.log(8 * 3 / 0.01))
    )
    radius = agent.state.scores.value - agent.expected_rewards([1.0, 0.0])
    np.testing.assert_allclose(radius, rho / 2, rtol=1e-9)


# ---------------------------------------------------------------- the true b_max


def test_only_a_simulation_knows_the_true_b_max():
    with pytest.raises(ValueError, match=r"^b_max must be a number: only a simulation .* None$"):
        GLMUCB(b_max=None).options(2, 2)
    with pytest.raises(ValueError, match=r"^b_max must be a number"):
        Agent(GLMUCB(b_max=None), n_arms=2, n_features=2)
    with pytest.raises(ValueError, match=r"^b_max must be a number"):
        Agent(GreedyFirst(greedy=GLMGreedy(), fallback=GLMUCB(b_max=None)), n_arms=2, n_features=2)


def test_a_problem_that_does_not_tell_its_parameters():
    class Silent:
        n_arms, n_features = 2, 1

        def draw(self, rng, horizon):
            return np.ones((horizon, 1)), np.ones((horizon, 2)), np.zeros((horizon, 2))

    problem = Silent()
    with pytest.raises(ValueError, match=r"^problem must be one with draw_parameters"):
        simulate(problem, {"a": GLMUCB(b_max=None)}, n_instances=1, horizon=10, seed=0)


def test_each_instance_has_its_own_true_b_max():
    """The same regret as with the longest parameter of that instance, and not of another."""
    problem = GeneralizedLinearProblem(
        contexts=UniformBall(n_features=2, radius=1.0),
        arms=GaussianParameters(n_arms=3, mean=[0.0, 0.0], covariance=4.0),
    )
    norms = []
    for instance in range(3):
        rng = np.random.default_rng(np.random.SeedSequence(8, spawn_key=(instance,)))
        norms.append(float(np.linalg.norm(problem.arms.sample(rng), axis=1).max()))
    options = {"reward_max": 0.003, "horizon": 400}
    policies = {"true": GLMUCB(b_max=None, **options)}
    policies |= {f"{norm}": GLMUCB(b_max=norm, **options) for norm in norms}
    result = simulate(problem, policies, n_instances=3, horizon=400, seed=8)
    for instance in range(3):
        assert result.final[instance, 0] == result.final[instance, 1 + instance]
    others = [(0, 2), (1, 1), (2, 1)]
    assert all(
        result.final[instance, 0] != result.final[instance, place] for instance, place in others
    )
    alone = {name: policies[name] for name in ("true", f"{norms[0]}")}
    curve = simulate(problem, alone, n_instances=1, horizon=400, seed=8).mean
    np.testing.assert_array_equal(curve[0], curve[1])


# ---------------------------------------------------------------- bad options


@pytest.mark.parametrize(
    ("link", "z"), [("logistic", 800.0), ("probit", 40.0), ("poisson", 800.0), ("poisson", 1e9)]
)
def test_a_slope_that_is_0_or_infinite_is_refused(link, z):
    with pytest.raises(ValueError, match=r"^x_max \* b_max must be small enough") as raised:
        Agent(GLMUCB(link=link, x_max=2.0, b_max=z / 2), n_arms=2, n_features=2)
    message = str(raised.value)
    assert link in message
    assert message.endswith(f"got {z}")


POSITIVE = "a finite number above 0"
COUNT = "a whole number at least 0"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("link", "cauchit", "one of 'identity', 'logistic', 'poisson', 'probit'"),
        ("x_max", 0.0, POSITIVE),
        ("x_max", np.inf, POSITIVE),
        ("x_max", None, POSITIVE),
        ("x_max", "1", POSITIVE),
        ("b_max", 0, POSITIVE),
        ("b_max", -1.0, POSITIVE),
        ("b_max", np.nan, POSITIVE),
        ("b_max", True, POSITIVE),
        ("horizon", 0, "a whole number at least 1"),
        ("horizon", 2000.0, "a whole number at least 1"),
        ("delta", 0.0, "a finite number above 0 and below 1"),
        ("delta", 1, "a finite number above 0 and below 1"),
        ("delta", None, "a finite number above 0 and below 1"),
        ("reward_max", 0.0, POSITIVE),
        ("reward_max", None, POSITIVE),
        ("initial_pulls", -1, COUNT),
        ("initial_pulls", 2.0, COUNT),
        ("warmup", "pinv", "one of 'none', 'ridge'"),
        ("memory", 0, "a whole number at least 1"),
        ("memory", "all", "'exact' or a whole number of rows of at least 1"),
    ],
)
def test_bad_options_name_argument_value_and_expectation(option, value, expected):
    with pytest.raises(ValueError, match=rf"^{option} must be ") as raised:
        GLMUCB(**{option: value})
    message = str(raised.value)
    assert expected in message
    assert re.search(rf"got {re.escape(repr(value))}$", message)
