"""Products and intercepts against the parts they are made of."""

import numpy as np
import pytest

from greedyfirst.problems import (
    ClippedGaussian,
    Product,
    Rademacher,
    UniformBall,
    UniformBox,
    WithIntercept,
)


def test_product_has_a_block_diagonal_second_moment(assert_mean, assert_second_moment):
    parts = [UniformBall(n_features=2), Rademacher(n_features=1), UniformBox(n_features=2)]
    sample = Product(parts=parts).sample(np.random.default_rng(30), 50_000)
    assert_mean(sample, 0.0)
    assert_second_moment(sample, np.diag([1 / 4, 1 / 4, 1, 1 / 3, 1 / 3]))


def test_product_samples_its_parts_in_order():
    parts = (UniformBall(n_features=2), Rademacher(n_features=3))
    whole = Product(parts=parts).sample(np.random.default_rng(31), 20)
    rng = np.random.default_rng(31)
    blocks = [part.sample(rng, 20) for part in parts]
    assert np.array_equal(whole, np.hstack(blocks))


def test_product_keeps_its_parts_when_the_list_changes():
    parts = [Rademacher(n_features=1)]
    product = Product(parts=parts)
    parts.append(Rademacher(n_features=1))
    assert product.n_features == 1
    assert product.sample(np.random.default_rng(0), 2).shape == (2, 1)


def test_intercept_comes_first_and_leaves_the_rest():
    inner = ClippedGaussian(n_features=3, covariance=0.5, bound=1.0)
    sample = WithIntercept(contexts=inner).sample(np.random.default_rng(32), 20)
    assert (sample[:, 0] == 1.0).all()
    assert np.array_equal(sample[:, 1:], inner.sample(np.random.default_rng(32), 20))


@pytest.mark.parametrize("parts", [[], "ab", Rademacher(n_features=1), None])
def test_bad_parts_are_refused_by_name(parts):
    with pytest.raises(ValueError, match=r"^parts must be a non-empty sequence"):
        Product(parts=parts)


@pytest.mark.parametrize("wrong", [3, np.ones((2, 2)), Rademacher])
def test_what_is_no_distribution_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match=r"^parts\[1\] must be a context distribution"):
        Product(parts=[Rademacher(n_features=1), wrong])
    with pytest.raises(ValueError, match=r"^contexts must be a context distribution"):
        WithIntercept(contexts=wrong)
