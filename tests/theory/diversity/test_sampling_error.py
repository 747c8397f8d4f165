import numpy as np
import pytest
from scipy.stats import binom

from greedyfirst.problems import TruncatedGaussian, UniformBall, UniformBox
from greedyfirst.theory import diversity_constant, measure_diversity
from greedyfirst.theory.diversity.sampling_error import bootstrap_interval, mean_above, mean_below


@pytest.mark.parametrize(("n", "hits"), [(50, 0), (50, 5), (200, 100), (1000, 999)])
def test_bounds_are_wider_than_the_exact_ones_of_coins(n, hits):
    """Hoeffding's inequality for coins, against Clopper and Pearson's."""
    high = mean_above(hits / n, n, 1.0, np.log(0.05))
    low = mean_below(hits / n, n, 1.0, np.log(0.05))
    assert binom.cdf(hits, n, high) <= 0.05 + 1e-12
    assert hits == 0 or binom.sf(hits - 1, n, low) <= 0.05 + 1e-12
    assert low <= hits / n <= high


def test_bounds_scale_with_the_limit():
    low = mean_below(0.2, 100, 1.0, np.log(0.05))
    assert mean_below(0.8, 100, 4.0, np.log(0.05)) == pytest.approx(4 * low)
    assert mean_below(0.0, 100, 1.0, np.log(0.05)) == 0.0
    assert mean_above(1.0, 100, 1.0, np.log(0.05)) == 1.0


def test_bootstrap_matches_the_normal_interval():
    rng = np.random.default_rng(0)
    values = rng.exponential(size=20_000)
    sums = values.reshape(200, 100).sum(axis=1)
    low, high = bootstrap_interval(sums, np.full(200, 100.0), confidence=0.95, rng=rng)
    half = 1.96 / np.sqrt(20_000)
    assert low == pytest.approx(values.mean() - half, abs=0.25 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.25 * half)


def test_bootstrap_covers_the_truth_on_rows_that_the_search_has_not_seen():
    """Round law: E[(xᵀv)² 1{xᵀu ≥ 0}] is 1/(2(d+2)) for all u, v.

    24 intervals of 95 %: 19 or more hold it but for a chance of 1e-3; the seeds are fixed.
    """
    law = UniformBall(n_features=7)
    held = 0
    for seed in range(24):
        rows = law.sample(np.random.default_rng(seed), 600)
        low, high = measure_diversity(rows, n_directions=4).sampling.bootstrap
        held += low <= 1 / 18 <= high
    assert held >= 19


@pytest.mark.parametrize("d", [1, 2, 3])
def test_concentration_bounds_hold_the_laws_constant(d):
    """Each fails with a chance of at most 5 %, and far less in truth; fixed seeds."""
    for law in (UniformBox(n_features=d), TruncatedGaussian(n_features=d, bound=1.0)):
        truth = diversity_constant(law).exact
        rows = law.sample(np.random.default_rng(d), 20_000)
        errors = measure_diversity(rows).sampling
        assert 0.0 < errors.lower < truth < errors.upper
        assert 0.8 * truth < errors.lower_if_symmetric < truth
        assert errors.held_out_rows == 10_000


def test_shifted_contexts_refute_symmetry():
    rng = np.random.default_rng(0)
    shift = np.array([0.6, 0.0, 0.0, 0.0])
    rows = rng.uniform(-1.0, 1.0, size=(20_000, 4)) + shift
    found = measure_diversity(rows)
    assert found.is_symmetry_refuted
    assert "refutes" in found.verdict()
    assert not measure_diversity(rows - shift).is_symmetry_refuted
