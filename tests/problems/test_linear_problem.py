"""Linear problems against the model written out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.problems import (
    ClippedGaussian,
    FixedParameters,
    FromArray,
    FromFunction,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    Problem,
    UniformBall,
    WithIntercept,
)

BETA = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
DISC = UniformBall(n_features=2)
QUIET = GaussianNoise(sigma=0.0)
FIGURE_2 = LinearProblem(
    contexts=WithIntercept(contexts=ClippedGaussian(n_features=3, covariance=0.5, bound=1.0)),
    arms=GaussianParameters(n_arms=2, mean=np.zeros(4), covariance=[0.04, 1.0, 1.0, 1.0]),
    noise=GaussianNoise(sigma=0.5),
)


@settings(max_examples=30, deadline=None)
@given(horizon=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
def test_a_draw_is_the_model_in_the_order_arms_contexts_noise(horizon, seed):
    assert isinstance(FIGURE_2, Problem)
    assert (FIGURE_2.n_arms, FIGURE_2.n_features) == (2, 4)
    draw = FIGURE_2.draw(np.random.default_rng(seed), horizon)
    rng = np.random.default_rng(seed)
    beta = FIGURE_2.arms.sample(rng)
    contexts = FIGURE_2.contexts.sample(rng, horizon)
    noise = FIGURE_2.noise.sample(rng, horizon)
    expected = np.array([[x @ arm for arm in beta] for x in contexts])
    assert np.array_equal(draw.contexts, contexts)
    np.testing.assert_allclose(draw.rewards, expected + noise[:, None], atol=1e-13)
    best = expected.max(axis=1, keepdims=True)
    np.testing.assert_allclose(draw.regrets, best - expected, atol=1e-13)
    assert (draw.regrets >= 0).all()
    assert (draw.regrets.min(axis=1) == 0.0).all()
    for part in draw:
        assert part.dtype == np.float64
        assert part.flags.c_contiguous


def test_one_noise_is_shared_by_all_arms():
    draw = FIGURE_2.draw(np.random.default_rng(70), 500)
    # rewards + regrets = best expected reward + noise, the same number for every arm.
    totals = draw.rewards + draw.regrets
    np.testing.assert_allclose(totals[:, 0], totals[:, 1], atol=1e-12)


def test_noise_has_its_sigma(assert_mean):
    problem = LinearProblem(contexts=DISC, arms=BETA, noise=GaussianNoise(sigma=0.5))
    draw = problem.draw(np.random.default_rng(71), 50_000)
    noise = draw.rewards - draw.contexts @ BETA.T
    assert_mean(noise, 0.0)
    assert_mean(noise**2, 0.25)


def test_each_draw_has_new_arms_unless_they_are_fixed():
    rng = np.random.default_rng(72)
    contexts = np.eye(2)
    moving = LinearProblem(
        contexts=contexts, arms=GaussianParameters(n_arms=2, mean=[0.0, 0.0]), noise=QUIET
    )
    still = LinearProblem(contexts=contexts, arms=BETA, noise=QUIET)
    assert not np.array_equal(moving.draw(rng, 2).rewards, moving.draw(rng, 2).rewards)
    assert np.array_equal(still.draw(rng, 2).rewards, BETA.T)
    assert np.array_equal(still.draw(rng, 2).rewards, BETA.T)


def test_a_step_does_not_depend_on_the_horizon():
    rows = np.random.default_rng(73).standard_normal((1000, 10))
    arms = np.random.default_rng(74).standard_normal((5, 10))
    problem = LinearProblem(contexts=rows, arms=arms, noise=QUIET)
    long = problem.draw(np.random.default_rng(0), 1000)
    for horizon in (1, 7, 333):
        short = problem.draw(np.random.default_rng(0), horizon)
        assert np.array_equal(short.rewards, long.rewards[:horizon])


def test_plain_arrays_and_functions_are_wrapped():
    by_array = LinearProblem(contexts=[[1.0, 2.0], [3.0, 4.0]], arms=BETA.tolist(), noise=QUIET)
    assert isinstance(by_array.contexts, FromArray)
    assert isinstance(by_array.arms, FixedParameters)
    assert np.array_equal(by_array.draw(np.random.default_rng(0), 2).contexts, [[1, 2], [3, 4]])
    by_function = LinearProblem(
        contexts=lambda rng, size: rng.random((size, 2)), arms=BETA, noise=QUIET
    )
    assert isinstance(by_function.contexts, FromFunction)
    assert by_function.n_features == 2
    assert by_function.draw(np.random.default_rng(0), 5).contexts.shape == (5, 2)


def test_expected_rewards_are_inner_products():
    problem = LinearProblem(contexts=DISC, arms=BETA, noise=QUIET)
    expected = problem.expected_rewards(parameters=BETA, contexts=[[1.0, 2.0], [0.0, 1.0]])
    np.testing.assert_allclose(expected, np.array([[1.0, 2.0], [0.0, 1.0]]) @ BETA.T)
    with pytest.raises(ValueError, match=r"^parameters must be"):
        problem.expected_rewards(parameters=BETA[:2], contexts=[[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"^contexts must be"):
        problem.expected_rewards(parameters=BETA, contexts=[[1.0, 2.0, 3.0]])


def test_disagreeing_dimensions_are_refused():
    with pytest.raises(
        ValueError, match=r"^contexts\.n_features must be 2, the n_features of arms"
    ):
        LinearProblem(contexts=UniformBall(n_features=3), arms=BETA, noise=QUIET)
    with pytest.raises(ValueError, match=r"^contexts\.n_features must be 2"):
        LinearProblem(contexts=np.ones((4, 3)), arms=BETA, noise=QUIET)


class _ShortNoise:
    sigma = 1.0

    def sample(self, rng, size):
        return rng.random(1)


class _ShortContexts:
    n_features = 2

    def sample(self, rng, size):
        return rng.random((1, 2))


def test_a_wrong_sample_of_the_users_own_class_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"^noise\.sample\(rng, horizon\) must be"):
        LinearProblem(contexts=DISC, arms=BETA, noise=_ShortNoise()).draw(rng, 5)
    with pytest.raises(ValueError, match=r"^contexts\.sample\(rng, horizon\) must be"):
        LinearProblem(contexts=_ShortContexts(), arms=BETA, noise=QUIET).draw(rng, 5)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"arms": [1.0, 2.0]}, "arms"),
        ({"arms": DISC}, "arms"),
        ({"contexts": "disc"}, "contexts"),
        ({"contexts": UniformBall}, "contexts"),
        ({"contexts": [[np.nan, 1.0]]}, "contexts"),
        ({"noise": 0.5}, "noise"),
        ({"noise": GaussianNoise}, "noise"),
    ],
)
def test_bad_arguments_are_refused_by_name(changed, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        LinearProblem(**({"contexts": DISC, "arms": BETA, "noise": QUIET} | changed))


@pytest.mark.parametrize("horizon", [0, -1, 2.0, None])
def test_a_bad_horizon_is_refused_by_name(horizon):
    with pytest.raises(ValueError, match=r"^horizon must be"):
        FIGURE_2.draw(np.random.default_rng(0), horizon)


def test_a_horizon_past_the_given_rows_is_refused():
    problem = LinearProblem(contexts=np.ones((4, 2)), arms=BETA, noise=QUIET)
    with pytest.raises(ValueError, match=r"horizon.* must be at most 4"):
        problem.draw(np.random.default_rng(0), 5)
