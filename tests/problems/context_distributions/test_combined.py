"""Products, intercepts and balls against the parts they are made of."""

import math

import numpy as np
import pytest

from greedyfirst.problems import (
    ClippedGaussian,
    FromArray,
    FromFunction,
    Product,
    Rademacher,
    UniformBall,
    UniformBox,
    WithinBall,
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
    with pytest.raises(ValueError, match=r"^contexts must be a context distribution"):
        WithinBall(contexts=wrong, radius=1.0)


# -------------------------------------------------------------------- a ball


def test_longer_contexts_are_scaled_onto_the_ball_and_others_left():
    box = UniformBox(n_features=3, half_width=2.0)
    before = box.sample(np.random.default_rng(33), 2000)
    after = WithinBall(contexts=box, radius=1.5).sample(np.random.default_rng(33), 2000)
    norms = np.linalg.norm(before, axis=1)
    long = norms > 1.5
    assert 200 < long.sum() < 1800
    np.testing.assert_array_equal(after[~long], before[~long])
    np.testing.assert_allclose(np.linalg.norm(after[long], axis=1), 1.5, rtol=1e-14)
    np.testing.assert_allclose(after[long] / 1.5, before[long] / norms[long, None], rtol=1e-14)


def test_a_context_on_the_ball_is_left():
    corners = FromArray(rows=[[3.0, 4.0], [0.0, 0.0], [-5.0, 0.0], [30.0, -40.0]], order="given")
    sample = WithinBall(contexts=corners, radius=5.0).sample(np.random.default_rng(0), 4)
    np.testing.assert_allclose(sample, [[3, 4], [0, 0], [-5, 0], [3, -4]], rtol=1e-15)


def test_the_distribution_inside_is_not_changed():
    rows = FromFunction(n_features=1, draw=lambda rng, size: KEPT[:size])
    WithinBall(contexts=rows, radius=1.0).sample(np.random.default_rng(0), 2)
    np.testing.assert_array_equal(KEPT, [[5.0], [7.0]])


KEPT = np.array([[5.0], [7.0]])


@pytest.mark.parametrize("radius", [0, -1.0, math.nan, math.inf, None, "1", True])
def test_a_bad_radius_is_refused_by_name(radius):
    with pytest.raises(ValueError, match=r"^radius must be a finite number above 0") as raised:
        WithinBall(contexts=Rademacher(n_features=2), radius=radius)
    assert str(raised.value).endswith(f"got {radius!r}")
