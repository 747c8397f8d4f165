"""Generalised linear problems against the model written out by hand, and scipy's quantiles."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst.problems import (
    GaussianParameters,
    GeneralizedLinearProblem,
    Problem,
    UniformBall,
    UniformBox,
)
from support.glm_reference import MEANS

LINKS = ["logistic", "probit", "poisson"]
BETA = np.array([[1.0, 0.5], [-0.5, 1.0], [0.0, -1.5]])
every_link = pytest.mark.parametrize("link", LINKS)


def make(link, arms=BETA, n_features=2):
    return GeneralizedLinearProblem(
        contexts=UniformBox(n_features=n_features), arms=arms, link=link
    )


def moving(link):
    return make(link, GaussianParameters(n_arms=3, mean=[0.0, 0.0], covariance=0.5))


@every_link
def test_a_draw_is_the_model_in_the_order_arms_contexts_rewards(link):
    problem = moving(link)
    assert isinstance(problem, Problem)
    assert (problem.n_arms, problem.n_features) == (3, 2)
    draw = problem.draw(np.random.default_rng(60), 300)
    rng = np.random.default_rng(60)
    beta = problem.arms.sample(rng)
    contexts = problem.contexts.sample(rng, 300)
    uniform = rng.random(300)
    expected = MEANS[link](np.array([[x @ arm for arm in beta] for x in contexts]))
    np.testing.assert_array_equal(draw.contexts, contexts)
    best = expected.max(axis=1, keepdims=True)
    np.testing.assert_allclose(draw.regrets, best - expected, atol=1e-13)
    assert (draw.regrets >= 0).all()
    assert (draw.regrets.min(axis=1) == 0).all()
    if link == "poisson":
        rewards = stats.poisson.ppf(uniform[:, None], expected)
    else:
        rewards = uniform[:, None] < expected
    np.testing.assert_array_equal(draw.rewards, rewards)
    for part in draw:
        assert part.dtype == np.float64
        assert part.flags.c_contiguous


@every_link
def test_rewards_have_their_expectations(link, assert_mean):
    """Overall, and weighted by each feature. False alarms 5.8e-7 per number, 9 each; fixed seed."""
    draw = make(link).draw(np.random.default_rng(61), 40_000)
    residuals = draw.rewards - MEANS[link](draw.contexts @ BETA.T)
    assert_mean(residuals, 0.0)
    assert_mean(residuals[:, :, None] * draw.contexts[:, None, :], 0.0)
    # The variance is μ(1 - μ), or μ for counts.
    mean = MEANS[link](draw.contexts @ BETA.T)
    assert_mean(residuals**2 - (mean if link == "poisson" else mean * (1 - mean)), 0.0)


@every_link
def test_rewards_are_possible_ones(link):
    rewards = make(link).draw(np.random.default_rng(62), 3000).rewards
    values = set(np.unique(rewards))
    if link == "poisson":
        assert {0.0, 1.0, 2.0, 3.0} <= values
        assert all(value == int(value) >= 0 for value in values)
    else:
        assert values == {0.0, 1.0}


@every_link
def test_rewards_of_a_step_are_quantiles_of_one_random_number(link):
    """An arm with the higher expectation never pays less at the same step."""
    draw = make(link).draw(np.random.default_rng(63), 2000)
    order = np.argsort(-draw.regrets, axis=1)
    assert (np.diff(np.take_along_axis(draw.rewards, order, axis=1), axis=1) >= 0).all()


@every_link
def test_parameters_are_those_of_the_draw(link):
    problem = moving(link)
    for seed in range(3):
        beta = problem.draw_parameters(np.random.default_rng(seed))
        assert beta.shape == (3, 2)
        draw = problem.draw(np.random.default_rng(seed), 50)
        expected = MEANS[link](draw.contexts @ beta.T)
        best = expected.max(axis=1, keepdims=True)
        np.testing.assert_allclose(draw.regrets, best - expected, atol=1e-13)
    one, other = (problem.draw_parameters(np.random.default_rng(seed)) for seed in (0, 1))
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(make(link).draw_parameters(np.random.default_rng(0)), BETA)


@every_link
def test_expected_rewards(link):
    problem = make(link)
    contexts = np.array([[1.0, 2.0], [0.0, 1.0], [-3.0, 0.1]])
    expected = problem.expected_rewards(parameters=BETA, contexts=contexts)
    np.testing.assert_allclose(expected, MEANS[link](contexts @ BETA.T), rtol=1e-13)
    predictors = problem.linear_predictors(parameters=BETA, contexts=contexts)
    np.testing.assert_allclose(predictors, contexts @ BETA.T, rtol=1e-13)
    with pytest.raises(ValueError, match=r"^parameters must be"):
        problem.expected_rewards(parameters=BETA[:2], contexts=contexts)
    with pytest.raises(ValueError, match=r"^contexts must be"):
        problem.expected_rewards(parameters=BETA, contexts=[[1.0, 2.0, 3.0]])


def test_identity_has_normal_noise_that_all_arms_share(assert_mean):
    draw = make("identity").draw(np.random.default_rng(64), 20_000)
    noise = draw.rewards - draw.contexts @ BETA.T
    np.testing.assert_allclose(noise, noise[:, :1] * np.ones(3), atol=1e-12)
    assert_mean(noise[:, :1], 0.0)
    assert_mean(noise[:, :1] ** 2, 1.0)


def test_a_step_does_not_depend_on_the_horizon_beyond_its_contexts():
    """Contexts that are given: the rewards of a draw are then one per step, in order."""
    rows = np.random.default_rng(65).standard_normal((400, 2))
    problem = GeneralizedLinearProblem(contexts=rows, arms=BETA)
    long = problem.draw(np.random.default_rng(0), 400)
    short = problem.draw(np.random.default_rng(0), 37)
    np.testing.assert_array_equal(short.rewards, long.rewards[:37])
    np.testing.assert_array_equal(short.regrets, long.regrets[:37])


# -------------------------------------------------------------------- extremes and errors


@pytest.mark.parametrize(("link", "low", "high"), [("logistic", 0, 1), ("probit", 0, 1)])
def test_certain_rewards(link, low, high):
    """Predictors of ±1000: no overflow, no warning."""
    problem = GeneralizedLinearProblem(contexts=[[1000.0]], arms=[[-1.0], [1.0]], link=link)
    draw = problem.draw(np.random.default_rng(0), 1)
    np.testing.assert_array_equal(draw.rewards, [[low, high]])
    np.testing.assert_array_equal(draw.regrets, [[1.0, 0.0]])


def test_counts_that_never_happen():
    problem = GeneralizedLinearProblem(contexts=[[1000.0]], arms=[[-1.0], [0.0]], link="poisson")
    draw = problem.draw(np.random.default_rng(0), 1)
    assert draw.rewards[0, 0] == 0.0
    np.testing.assert_array_equal(draw.regrets, [[1.0, 0.0]])


@pytest.mark.parametrize("z", [36.0, 710.0, 1e5])
def test_counts_that_explode_are_refused(z):
    problem = GeneralizedLinearProblem(contexts=[[z]], arms=[[1.0], [0.0]], link="poisson")
    with pytest.raises(
        ValueError, match=r"^the largest expected count must be at most 1e\+15.*got"
    ):
        problem.draw(np.random.default_rng(0), 1)


@pytest.mark.parametrize("link", ["logit", "", None, 3, True, ["logistic"], "Logistic"])
def test_an_unknown_link_is_refused(link):
    expected = r"^link must be one of 'identity', 'logistic', 'poisson', 'probit'"
    with pytest.raises(ValueError, match=expected) as raised:
        make(link)
    assert str(raised.value).endswith(f"got {link!r}")


def test_logistic_is_the_default():
    assert (
        GeneralizedLinearProblem(contexts=UniformBall(n_features=2), arms=BETA).link == "logistic"
    )


@pytest.mark.parametrize("horizon", [0, -1, 2.0, None])
def test_a_bad_horizon_is_refused_by_name(horizon):
    with pytest.raises(ValueError, match=r"^horizon must be"):
        make("logistic").draw(np.random.default_rng(0), horizon)


def test_disagreeing_dimensions_are_refused():
    with pytest.raises(
        ValueError, match=r"^contexts\.n_features must be 2, the n_features of arms"
    ):
        make("logistic", n_features=3)


def test_problems_are_frozen():
    with pytest.raises(AttributeError):
        make("logistic").link = "probit"
