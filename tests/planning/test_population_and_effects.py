"""People and effects: means and variances are those that are asked for, in any units."""

import numpy as np
import pandas as pd
import pytest

from greedyfirst.planning import (
    given_effects,
    least_difference,
    normal_population,
    random_effects,
    sampled_population,
    table_population,
)

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(60, 9, 300),
        "sex": RNG.choice(["f", "m"], 300),
        "dose": RNG.exponential(1e-3, 300),
    }
)


@pytest.fixture
def table():
    return table_population(FRAME, source="patients.csv")


def test_a_table_gets_an_intercept_and_its_rows_are_drawn(table):
    assert table.feature_names[0] == "intercept"
    drawn = table.contexts.sample(np.random.default_rng(1), 1000)
    assert (drawn[:, 0] == 1).all()
    assert set(drawn[:, 1]) <= set(FRAME["age"])
    assert "300 rows of patients.csv" in table.description


def test_columns_can_be_left_out(table):
    assert table_population(FRAME, drop=["sex"]).n_features == table.n_features - 1


def test_coordinates_are_uncorrelated_with_the_mean_at_the_first_unit_vector(table):
    rows = np.asarray(table.contexts.rows)
    z = table.coordinates(rows)
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(z.shape[1]), atol=1e-9)
    assert z.shape[1] == 4
    np.testing.assert_allclose(table.coordinates(table.mean[np.newaxis]), np.eye(4)[:1], atol=1e-12)


def test_collinear_columns_add_no_coordinate():
    x = RNG.normal(size=(50, 2))
    rows = np.column_stack([np.ones(50), x, x @ [1e6, 2.0], np.full(50, 3.0)])
    assert sampled_population(rows).coordinates(rows).shape == (50, 3)


def test_normal_people():
    population = normal_population(3)
    drawn = population.contexts.sample(np.random.default_rng(1), 40_000)
    # 5 standard errors of 1/200 and √2/200: a false alarm in 10⁵.
    np.testing.assert_allclose(drawn.mean(axis=0), population.mean, atol=5 / 200)
    np.testing.assert_allclose(np.cov(drawn.T)[1:, 1:], np.eye(3), atol=5 * 2**0.5 / 200)
    np.testing.assert_array_equal(population.coordinates(drawn), drawn)


def outcomes(population, effects, draws=3000):
    """Mean outcomes (draws, n_arms), and the variances over the table's rows."""
    rows, rng = np.asarray(population.contexts.rows), np.random.default_rng(2)
    expected = [rows @ effects.arms.sample(rng).T for _ in range(draws)]
    return np.array([each.mean(axis=0) for each in expected]), np.var(expected, axis=1)


def test_random_effects_have_the_deviations_asked_for(table):
    effects = random_effects(table, n_arms=3, effect=0.5, interaction=0.8)
    means, variances = outcomes(table, effects)
    # Standard errors: 0.5/√9000 of the mean, √2·0.25/√9000 of the variance.
    assert means.mean() == pytest.approx(0, abs=4 * 0.5 / 9000**0.5)
    assert means.var() == pytest.approx(0.25, abs=4 * 2**0.5 * 0.25 / 9000**0.5)
    error = variances.std() / variances.size**0.5
    assert variances.mean() == pytest.approx(0.64, abs=4 * error)
    assert effects.scale == 0.5


def test_one_arm_is_ahead_by_the_difference_and_any_may_be(table):
    effects = least_difference(table, n_arms=3, difference=0.4)
    means, variances = outcomes(table, effects, draws=600)
    np.testing.assert_allclose(np.sort(means), np.tile([0, 0, 0.4], (600, 1)), atol=1e-9)
    counts = np.bincount(means.argmax(axis=1), minlength=3)
    assert (abs(counts - 200) < 4 * (600 * 2 / 9) ** 0.5).all()
    assert variances.mean() == pytest.approx(0.16, rel=0.15)


def test_without_interaction_everybody_has_the_same_outcome(table):
    _, variances = outcomes(table, random_effects(table, n_arms=2, effect=1, interaction=0), 20)
    assert variances.max() < 1e-20


def test_given_effects_are_the_same_in_every_trial():
    population = normal_population(1)
    effects = given_effects(population, [[1.0, 2.0], [0.25, 3.0]])
    assert effects.scale == 0.75
    assert effects.n_arms == 2
    np.testing.assert_array_equal(
        effects.arms.sample(np.random.default_rng(0)), [[1.0, 2.0], [0.25, 3.0]]
    )


BAD = {
    "n_features": lambda: normal_population(0),
    "rows": lambda: sampled_population([[2.0, 1.0]]),
    "feature_names": lambda: sampled_population([[1.0, 2.0]], feature_names=["a"]),
    "effect": lambda: random_effects(normal_population(1), n_arms=2, effect=0),
    "interaction": lambda: random_effects(normal_population(1), n_arms=2, effect=1, interaction=-1),
    "n_arms": lambda: least_difference(normal_population(1), n_arms=1, difference=1),
    "difference": lambda: least_difference(normal_population(1), n_arms=2, difference=-1),
    "coefficients": lambda: given_effects(normal_population(1), [[1.0, 2.0]]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        BAD[name]()
