import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import LAWS
from matplotlib.figure import Figure

from greedyfirst.problems import Rademacher, UniformBall, UniformBox, WithIntercept
from greedyfirst.theory import diversity_constant, measure_diversity

OUTSIDE_THE_PAPER = ("gaussian, box", "clipped")


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("name", [name for name in LAWS if name not in OUTSIDE_THE_PAPER])
def test_within_5_percent_of_the_closed_form(name, d):
    """λ₀ of 10⁵ rows; a minimum over half-spaces, it falls short of the law's by up to 2 %."""
    law = LAWS[name](d)
    rows = law.sample(np.random.default_rng(d), 100_000)
    found = measure_diversity(rows, n_directions=16)
    truth = diversity_constant(law).exact
    assert found.upper == pytest.approx(truth, rel=0.05)
    assert found.lower <= found.upper <= found.ceiling * (1 + 1e-9)
    assert found.sampling.lower <= truth <= found.sampling.upper


def value_at(rows, u):
    inside = rows[rows @ u >= 0.0]
    return np.linalg.eigvalsh(inside.T @ inside)[0] / len(rows)


def test_upper_bound_is_attained_by_its_witness():
    rows = np.random.default_rng(0).exponential(size=(45_000, 4)) - 0.7
    found = measure_diversity(rows)
    assert found.upper == pytest.approx(value_at(rows, found.witness), rel=1e-9)
    inside = rows[rows @ found.witness >= 0.0]
    weight = np.mean((inside @ found.weakest) ** 2) * len(inside) / len(rows)
    assert found.upper == pytest.approx(weight, rel=1e-9)
    assert found.kept_rows == len(inside)
    tried = [value_at(rows, u) for u in np.random.default_rng(1).standard_normal((200, 4))]
    assert found.upper < min(tried)


def test_search_finds_the_corner_of_skewed_contexts():
    """x_j exponential minus 0.7: the half-space against (1, …, 1) keeps least, by symmetry."""
    rows = np.random.default_rng(0).exponential(size=(100_000, 3)) - 0.7
    found = measure_diversity(rows)
    axis = -np.ones(3) / np.sqrt(3)
    grid = [value_at(rows, axis + 0.2 * e) for e in np.random.default_rng(2).normal(size=(200, 3))]
    assert found.upper <= 1.02 * min(grid)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_intercept_is_exactly_zero_with_its_witness(d):
    law = WithIntercept(contexts=UniformBox(n_features=d))
    rows = law.sample(np.random.default_rng(0), 1000)
    found = measure_diversity(rows, feature_names=["one", *(f"f{j}" for j in range(d))])
    assert found.upper == found.lower == 0.0
    assert found.is_exact
    np.testing.assert_array_equal(found.witness, -np.eye(d + 1)[0])
    np.testing.assert_array_equal(found.weakest, np.eye(d + 1)[0])
    assert found.kept_rows == 0
    assert found.violations[0].startswith("one is 1 in every row.")
    assert found.verdict().startswith("No: λ₀ = 0, because one is the same in every row.")


def test_a_column_that_is_never_negative():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.standard_normal(500), rng.integers(0, 2, 500)], axis=1)
    found = measure_diversity(rows, feature_names=["age", "treated"])
    assert found.upper == 0.0
    np.testing.assert_array_equal(found.witness, [0.0, -1.0])
    assert found.kept_rows == int((rows[:, 1] == 0).sum())
    assert found.violations[0].startswith("treated is 0 or 1: ")
    assert "because treated never changes sign" in found.verdict()
    negative = measure_diversity(-rows)
    np.testing.assert_array_equal(negative.witness, [0.0, 1.0])
    assert negative.violations[0].startswith("x1 never changes sign (from -1 to 0)")


def test_hidden_intercept_is_found():
    """(1, x) rotated: every column changes sign, a combination is constant."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    rows = np.column_stack([np.ones(2000), rng.standard_normal((2000, 3))]) @ turn
    found = measure_diversity(rows)
    assert found.upper == 0.0
    assert not (rows @ found.witness >= 0.0).any()
    assert "because a combination of columns has one sign" in found.verdict()


def test_collinear_columns_are_named_and_left_out():
    rng = np.random.default_rng(0)
    free = UniformBall(n_features=3).sample(rng, 20_000)
    rows = np.column_stack([free, 2 * free[:, 0] - free[:, 1], np.zeros(20_000)])
    found = measure_diversity(rows, feature_names=["a", "b", "c", "e", "z"])
    assert found.rank == 3
    assert found.violations == (
        "z is 0 in every row and tells nothing.",
        "1 column is a combination of others: e = 2·a - b. λ₀ is that of the 3 dimensions that the "
        "rows span.",
    )
    # u and v lie in the span, and the values are those of these vectors.
    for direction in (found.witness, found.weakest):
        assert direction @ [2, -1, 0, -1, 0] == pytest.approx(0, abs=1e-12)
        assert direction[4] == pytest.approx(0, abs=1e-12)
    inside = rows[rows @ found.witness >= 0.0]
    weight = ((inside @ found.weakest) ** 2).sum() / len(rows)
    assert found.upper == pytest.approx(weight, rel=1e-9)
    # In the span the second moments are those of (a, b, c) seen through an orthonormal basis.
    moments = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    assert found.ceiling == pytest.approx(moments[2] / 2, rel=1e-9)
    assert 0.0 < found.lower <= found.upper <= found.ceiling
    assert "3 dimensions" in found.verdict()


def test_fewer_rows_than_columns_fail():
    rows = np.random.default_rng(0).standard_normal((3, 6))
    found = measure_diversity(rows)
    assert found.rank == 3
    assert found.upper == 0.0


def test_all_zero_rows():
    found = measure_diversity(np.zeros((4, 2)))
    assert found.rank == 0
    assert found.upper == found.lower == 0.0
    assert found.verdict().startswith("No")


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 5), st.booleans())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_lower_below_upper_below_any_half_space_with_half_the_moments(seed, n, d, mirrored):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(n, d)).astype(float)
    if mirrored:
        rows = np.concatenate([rows, -rows])
    found = measure_diversity(rows, n_directions=8)
    assert 0.0 <= found.lower <= found.upper <= found.ceiling * (1 + 1e-9) + 1e-12
    if mirrored:
        # Lemma 1 on the sample itself: exact.
        assert found.lower == pytest.approx(found.ceiling, rel=1e-6, abs=1e-12)
        assert found.upper == pytest.approx(found.ceiling, rel=1e-6, abs=1e-12)
    if found.rank == d:
        for u in rng.standard_normal((20, d)):
            assert found.lower <= value_at(rows, u) + 1e-9


def test_pairs_prove_a_bound_for_discrete_contexts_in_any_dimension():
    rows = Rademacher(n_features=8).sample(np.random.default_rng(0), 50_000)
    found = measure_diversity(rows)
    assert found.lower_reason == "proved by rows whose negatives are rows too"
    assert 0.45 < found.lower <= found.upper < 0.5


def test_features_in_very_different_units():
    """λ₀ is that of the smallest unit; a plain eigenvalue would be lost in rounding."""
    rows = UniformBox(n_features=4).sample(np.random.default_rng(0), 20_000)
    found = measure_diversity(rows * [1e6, 1.0, 1.0, 1e-6])
    assert found.upper == pytest.approx(1e-12 / 6, rel=0.1)


def test_chunks_functions_and_arrays_agree():
    rows = UniformBox(n_features=4).sample(np.random.default_rng(0), 45_000)
    pieces = [rows[:16_384], rows[16_384:32_768], rows[32_768:]]
    whole = measure_diversity(rows)
    for given_rows in (pieces, tuple(pieces), lambda: iter(pieces)):
        other = measure_diversity(given_rows)
        assert other.upper == whole.upper
        assert other.sampling == whole.sampling
    assert measure_diversity(np.asfortranarray(rows)).upper == whole.upper
    assert measure_diversity(rows, seed=1).upper != whole.upper


def test_a_function_that_returns_one_iterator_twice_is_refused():
    once = iter([np.random.default_rng(0).standard_normal((50, 3))])
    with pytest.raises(ValueError, match="got 50 rows, then 0"):
        measure_diversity(lambda: once)


def test_frames_name_their_columns():
    frame = pd.DataFrame({"one": [1.0, 1.0, 1.0], "dose": [1.0, -2.0, 3.0]})
    found = measure_diversity(frame)
    assert found.feature_names == ("one", "dose")
    assert measure_diversity(frame, feature_names=["a", "b"]).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (np.empty((0, 3)), "contexts must be .* got 0 rows"),
        (np.ones((1, 3)), "contexts must be .* got 1 rows"),
        (np.ones(4), r"contexts must be .* got shape \(4,\)"),
        (np.ones((4, 0)), "contexts must be"),
        ([[1.0, 2.0], [np.nan, 1.0]], r"contexts\[1, 0\] = nan"),
        (np.array([["a", "b"]]), "contexts must be"),
        ([[1.0], [1.0, 2.0]], "contexts must be"),
        ([np.ones((2, 2)), np.ones((2, 3))], "chunks of 2 and of 3 columns"),
        (iter([np.ones((2, 2))]), "can be read only once"),
        (lambda: iter([]), "got 0 rows"),
    ],
)
def test_bad_contexts(contexts, message):
    with pytest.raises(ValueError, match=message):
        measure_diversity(contexts)


def test_nan_in_a_late_row_is_named():
    rows = np.ones((40_000, 2))
    rows[33_333, 1] = np.inf
    with pytest.raises(ValueError, match=r"contexts\[33333, 1\] = inf"):
        measure_diversity(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["a"]}, "feature_names must be 2 different names"),
        ({"feature_names": ["a", "a"]}, "feature_names must be 2 different names"),
        ({"x_max": 0.1}, "x_max must be at least the longest row's norm"),
        ({"x_max": -1}, "x_max must be a finite number above 0"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"search_rows": 1}, "search_rows must be"),
        ({"n_directions": 0}, "n_directions must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        measure_diversity([[1.0, 2.0], [-1.0, 1.0]], **options)


def test_a_larger_norm_bound_widens_the_bounds_on_the_law():
    rows = UniformBall(n_features=2).sample(np.random.default_rng(0), 5000)
    narrow, wide = measure_diversity(rows).sampling, measure_diversity(rows, x_max=2.0).sampling
    assert wide.x_max == 2.0
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


@pytest.mark.parametrize("d", [2, 3, 4])
def test_table_verdict_and_plot(d):
    rows = UniformBall(n_features=d).sample(np.random.default_rng(0), 20_000)
    found = measure_diversity(rows)
    text = str(found)
    assert f"{'rows':<28}20000\n{'columns':<28}{d}\n" in text
    assert text.startswith(found.verdict())
    assert found.verdict().startswith("Yes" if d < 4 else "Probably")
    assert found.share == pytest.approx(1.0, abs=0.05)
    assert len(found.profile) == 64
    axes = Figure().add_subplot()
    assert found.plot(ax=axes) is axes
    assert len(found.plot().lines) == 4


def test_weak_contexts_are_called_so():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.uniform(0.1, 1.0, (50_000, 4)), rng.uniform(-1, 1, (500, 4))])
    found = measure_diversity(rows)
    assert 0.0 < found.share < 0.1
    assert "But λ₀ is small" in found.verdict()
