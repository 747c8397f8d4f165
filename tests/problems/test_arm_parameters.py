"""Laws of arm parameters against Gaussian and mixture moments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from greedyfirst.problems import (
    ArmParameters,
    FixedParameters,
    GaussianParameters,
    MixtureParameters,
    ParametersFromFunction,
)

FALSE_ALARM = 1e-5
PLUS = GaussianParameters(n_arms=2, mean=np.full(3, 0.5), covariance=0.25)
MINUS = GaussianParameters(n_arms=2, mean=np.full(3, -0.5), covariance=0.25)
EVERY = {
    "fixed": FixedParameters(parameters=np.arange(6).reshape(2, 3)),
    "gaussian": PLUS,
    "mixture": MixtureParameters(components=[PLUS, MINUS]),
    "mixture by arm": MixtureParameters(components=[PLUS, MINUS], weights=[0.2, 0.8], shared=False),
    "function": ParametersFromFunction(
        n_arms=2, n_features=3, draw=lambda rng: rng.standard_normal((2, 3))
    ),
}


def draws(law, count, seed):
    rng = np.random.default_rng(seed)
    return np.stack([law.sample(rng) for _ in range(count)])


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_sample_is_a_fresh_array_fixed_by_the_seed(name, seed):
    law = EVERY[name]
    assert isinstance(law, ArmParameters)
    assert (law.n_arms, law.n_features) == (2, 3)
    sample = law.sample(np.random.default_rng(seed))
    assert sample.shape == (2, 3)
    assert sample.dtype == np.float64
    assert sample.flags.c_contiguous
    first = sample.copy()
    sample[:] = np.nan
    assert np.array_equal(law.sample(np.random.default_rng(seed)), first)
    assert isinstance(law == EVERY["fixed"], bool)


@pytest.mark.parametrize(
    ("covariance", "matrix"),
    [
        (0.25, 0.25 * np.eye(2)),
        ([0.04, 1.0], np.diag([0.04, 1.0])),
        ([[1.0, 0.6], [0.6, 2.0]], np.array([[1.0, 0.6], [0.6, 2.0]])),
    ],
)
def test_gaussian_arms_are_independent_with_the_given_moments(covariance, matrix, assert_mean):
    mean = np.array([1.0, -2.0])
    law = GaussianParameters(n_arms=3, mean=mean, covariance=covariance)
    sample = draws(law, 20_000, 50)
    assert_mean(sample, np.tile(mean, (3, 1)))
    centred = (sample - mean).reshape(20_000, 6)
    assert_mean(np.einsum("ni,nj->nij", centred, centred), np.kron(np.eye(3), matrix))
    standard = centred[:, 0] / np.sqrt(matrix[0, 0])
    assert stats.kstest(standard, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("shared", [True, False])
def test_a_mixture_has_the_mixture_covariance(shared, assert_mean):
    # Within an arm: 0.25·I + 0.25·11'. Between arms: 0.25·11' if the coin is shared, else 0.
    law = MixtureParameters(components=[PLUS, MINUS], weights=[0.5, 0.5], shared=shared)
    sample = draws(law, 20_000, 51).reshape(20_000, 6)
    between = 1.0 if shared else 0.0
    coin = np.kron([[1.0, between], [between, 1.0]], np.ones((3, 3)))
    assert_mean(sample, 0.0)
    assert_mean(np.einsum("ni,nj->nij", sample, sample), 0.25 * np.eye(6) + 0.25 * coin)


@pytest.mark.parametrize("shared", [True, False])
def test_a_mixture_chooses_by_its_weights(shared):
    points = [FixedParameters(parameters=np.full((2, 1), float(c))) for c in range(3)]
    law = MixtureParameters(components=points, weights=[0.7, 0.0, 0.3], shared=shared)
    chosen = draws(law, 10_000, 52)[:, :, 0]
    pairs = [int((chosen == pair).all(axis=1).sum()) for pair in ([0, 0], [0, 2], [2, 0], [2, 2])]
    assert sum(pairs) == 10_000
    if shared:
        assert pairs[1] == pairs[2] == 0
        assert stats.binomtest(pairs[0], 10_000, 0.7).pvalue > FALSE_ALARM
    else:
        expected = 10_000 * np.array([0.49, 0.21, 0.21, 0.09])
        assert stats.chisquare(pairs, expected).pvalue > FALSE_ALARM


def test_a_mixture_by_arm_takes_each_arm_from_its_own_row():
    rows = FixedParameters(parameters=[[1.0], [2.0], [3.0]])
    law = MixtureParameters(components=[rows, rows], shared=False)
    assert np.array_equal(law.sample(np.random.default_rng(53)), [[1.0], [2.0], [3.0]])


def test_a_bad_output_of_a_function_is_refused():
    law = ParametersFromFunction(n_arms=2, n_features=3, draw=lambda rng: np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"^draw\(rng\) must be"):
        law.sample(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: FixedParameters(parameters=[1.0, 2.0]), "parameters"),
        (lambda: FixedParameters(parameters=np.ones((0, 2))), "parameters"),
        (lambda: FixedParameters(parameters=[[np.nan]]), "parameters"),
        (lambda: GaussianParameters(n_arms=0, mean=[0.0]), "n_arms"),
        (lambda: GaussianParameters(n_arms=2, mean=0.0), "mean"),
        (lambda: GaussianParameters(n_arms=2, mean=[]), "mean"),
        (lambda: GaussianParameters(n_arms=2, mean=[0.0, 0.0], covariance=[1.0]), "covariance"),
        (lambda: MixtureParameters(components=[]), "components"),
        (lambda: MixtureParameters(components=[PLUS, 3]), r"components\[1\]"),
        (
            lambda: MixtureParameters(components=[PLUS, FixedParameters(parameters=[[1.0]])]),
            "components",
        ),
        (lambda: MixtureParameters(components=[PLUS, MINUS], weights=[1.0]), "weights"),
        (lambda: MixtureParameters(components=[PLUS, MINUS], weights=[0.5, 0.6]), "weights"),
        (lambda: MixtureParameters(components=[PLUS, MINUS], weights=[1.5, -0.5]), "weights"),
        (lambda: MixtureParameters(components=[PLUS, MINUS], shared=1), "shared"),
        (lambda: ParametersFromFunction(n_arms=0, n_features=1, draw=lambda rng: 1), "n_arms"),
        (lambda: ParametersFromFunction(n_arms=1, n_features=0, draw=lambda rng: 1), "n_features"),
        (lambda: ParametersFromFunction(n_arms=1, n_features=1, draw=None), "draw"),
    ],
)
def test_bad_arguments_are_refused_by_name(build, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        build()
