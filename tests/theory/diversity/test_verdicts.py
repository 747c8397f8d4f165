"""What is said about ordinary tables: true, in one place, without contradiction."""

import re

import numpy as np
import pytest

from greedyfirst.problems import Rademacher, UniformBall
from greedyfirst.theory import measure_diversity
from greedyfirst.theory.diversity.column_sentences import listed

CAVEAT = "That does not mean that greedy fails, only that an arm may starve"


def one_hot(codes, n_levels):
    return np.eye(n_levels)[codes]


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


TABLES = {
    "symmetric": normal(2000, 4),
    "two columns": normal(500, 2),
    "skewed": np.random.default_rng(1).exponential(size=(2000, 4)) - 1.0,
    "never negative": np.exp(normal(500, 3)),
    "an intercept": np.column_stack([np.ones(500), normal(500, 3)]),
    "dummies": one_hot(np.arange(600) % 60, 60),
    "standardised dummies": one_hot(np.arange(600) % 6, 6) - 1 / 6,
    "units": normal(2000, 4) * [1e5, 1.0, 1.0, 1e-5],
    "5 rows": normal(5, 4),
    "20 rows": normal(20, 4),
    "fewer rows than columns": normal(8, 20),
    "copies": np.repeat(normal(10, 3), 50, axis=0),
    "zeros": np.zeros((30, 2)),
    "collinear": np.column_stack([normal(500, 3), normal(500, 3).sum(axis=1)]),
}


@pytest.mark.parametrize("name", TABLES)
def test_an_answer_says_what_it_means_and_what_to_do(name):
    found = measure_diversity(TABLES[name])
    verdict = found.verdict()
    begin = {"yes": "Yes", "probably": "Probably", "no": "No: ", "unknown": "Too little data"}
    assert verdict.startswith(begin[found.answer])
    assert (found.answer == "no") == (CAVEAT in verdict)
    assert "GreedyFirst() raises only the arms that starve." in verdict
    assert "`greedyfirst replay`" in verdict
    assert "for ever" not in verdict
    assert (found.upper == 0.0) == bool(found.cause)
    # No finding is told twice, and none is a list of all columns.
    assert len(set(found.violations)) == len(found.violations) <= 3


@pytest.mark.parametrize("name", TABLES)
def test_no_number_contradicts_another(name):
    found = measure_diversity(TABLES[name])
    assert found.sampling.lower <= found.lower <= found.upper <= found.sampling.upper
    assert found.upper <= found.ceiling * (1 + 1e-9)
    for low, high in re.findall(r"from ([\d.e+-]+) to ([\d.e+-]+)  \(\d+% conf", str(found)):
        assert float(low) <= found.upper <= float(high)
    assert " bootstrap " not in str(found)
    assert "above 0 with" not in str(found)
    assert ("λ₀ of their law" in str(found)) == (found.upper > 0.0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("n", "d"), [(5, 4), (20, 4), (60, 40)])
def test_few_rows_of_a_diverse_law_are_no_reason_to_say_no(n, d, seed):
    """The ball has λ₀ = 1/(2(d+2)). "No" is allowed in 5 % of samples at most; it needs all of the
    5 or more held-out rows on one side, which these seeds never have."""
    rows = UniformBall(n_features=d).sample(np.random.default_rng(seed), n)
    found = measure_diversity(rows, n_directions=4)
    assert found.answer != "no"
    if found.upper == 0.0:
        assert found.answer == "unknown"
        assert found.doubt in found.verdict()


def test_few_rows_of_one_sign_are_no_reason_to_say_no():
    rows = np.abs(normal(4, 2))
    found = measure_diversity(rows)
    assert found.answer == "unknown"
    assert "so few rows can have one sign by chance" in found.verdict()
    assert measure_diversity(np.abs(normal(40, 2))).answer == "no"


@pytest.mark.parametrize("name", ["dummies", "standardised dummies", "an intercept"])
def test_what_many_rows_lack_is_a_no(name):
    assert measure_diversity(TABLES[name]).answer == "no"


def test_a_proof_for_the_rows_is_one_for_their_law():
    """λ₀ of 1/2 in 6 dimensions, proved by rows and their negatives: "yes", not "probably"."""
    rows = Rademacher(n_features=6).sample(np.random.default_rng(0), 2000)
    found = measure_diversity(rows)
    assert found.answer == "yes"
    assert f"from {found.lower:.4g} to {found.upper:.4g}" in str(found)


def test_dummies_of_a_category_are_one_finding():
    names = [f"city=c{i:02d}" for i in range(60)]
    rows = np.column_stack([normal(600, 1), one_hot(np.arange(600) % 60, 60)])
    found = measure_diversity(rows, feature_names=["age", *names])
    assert found.violations == (
        "60 dummies of city (city=c00, city=c01, …): an arm that gets no context of a level learns "
        "nothing about it.",
    )
    assert "because dummies of city are never negative" in found.verdict()


def test_columns_that_never_change_sign_are_one_finding():
    names = [f"m{j}" for j in range(13)]
    found = measure_diversity(1.0 + np.abs(normal(200, 13)), feature_names=names)
    assert len(found.violations) == 1
    assert found.violations[0].startswith("13 columns never change sign (m0 from 1")
    assert "(--standardise)" in found.violations[0]


def test_fewer_rows_than_columns_are_one_finding():
    found = measure_diversity(normal(8, 20))
    assert found.violations == (
        "8 rows of 20 columns span 8 dimensions at most: λ₀ is that of these 8.",
    )


def test_an_intercept_is_explained_and_the_rest_measured():
    rows = normal(2000, 2)
    found = measure_diversity(np.column_stack([np.ones(2000), rows]), feature_names=["1", "a", "b"])
    alone = measure_diversity(rows)
    assert found.without_constant is not None
    assert found.without_constant.upper == alone.upper
    assert found.without_constant.feature_names == ("a", "b")
    assert len(found.violations) == 1
    assert f"The other columns alone are diverse (their λ₀ is {alone.upper:.4g}): " in str(found)
    # Columns of one sign besides: centring would not help, and is not advised.
    both = measure_diversity(np.column_stack([np.ones(2000), np.abs(rows)]))
    assert "The other columns alone have λ₀ = 0 as well" in str(both)
    assert "--standardise" not in str(both)
    few = measure_diversity(np.column_stack([np.ones(6), normal(6, 4)]))
    assert "these rows are too few to say" in str(few)


def test_copies_of_rows_are_told():
    found = measure_diversity(TABLES["copies"])
    assert found.violations == (
        "Of the 500 rows 10 are different. If the others are copies, the answer is about 10 rows "
        "only.",
    )


def test_columns_of_unlike_units_are_told():
    found = measure_diversity(TABLES["units"], feature_names=["a", "b", "c", "d"])
    assert found.violations[0].startswith("a is about 1e+10 times as large as d")
    assert measure_diversity(TABLES["symmetric"]).violations == ()


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_numbers_whose_squares_cannot_be_computed_are_refused(size):
    rows = normal(20, 2) * [1.0, size]
    with pytest.raises(ValueError, match=r"column 'x1' has numbers of the size .* change its unit"):
        measure_diversity(rows)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b and 2 more"),
    ],
)
def test_names_in_a_row(items, text):
    assert listed(items) == text
