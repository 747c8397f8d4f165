"""Draws as pure functions of (seed, step, index). Statistical tests: fixed seeds, 1e-6 each."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.numerics.randomness import mix, normal, stream, uniform

FALSE_ALARM = 1e-6
N = 50_000
# A correlation of n independent pairs is about N(0, 1/n): five standard deviations are 5.7e-7.
CORRELATION = 5 / np.sqrt(N)


@entry
def fill(seeds, steps, indices, uniforms, normals):
    for n in range(seeds.shape[0]):
        rng = stream(seeds[n], steps[n])
        uniforms[n] = uniform(rng, indices[n])
        normals[n] = normal(rng, indices[n])


@entry
def mix_all(values, out):
    for n in range(values.shape[0]):
        out[n] = mix(values[n])


def draws(seeds, steps, indices):
    seeds, steps, indices = (
        np.broadcast_to(np.asarray(part, dtype=np.int64), N).copy()
        for part in (seeds, steps, indices)
    )
    uniforms, normals = np.zeros(N), np.zeros(N)
    run(fill, seeds, steps, indices, uniforms, normals)
    return uniforms, normals


COUNT = np.arange(N)
ALONG = {
    "seeds": (COUNT, 1, 0),
    "large seeds": (2**63 - 1 - COUNT, 1, 0),
    "steps": (7, COUNT, 0),
    "steps of seed 0": (0, COUNT, 1),
    "indices": (7, 1, COUNT),
    "seed equal to step": (COUNT, COUNT, 0),
}


@pytest.mark.parametrize("along", ALONG)
def test_uniform_and_normal_along_every_argument(along):
    uniforms, normals = draws(*ALONG[along])
    assert (uniforms >= 0).all()
    assert (uniforms < 1).all()
    assert np.isfinite(normals).all()
    assert len(np.unique(uniforms)) == N
    assert stats.kstest(uniforms, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(normals, "norm").pvalue > FALSE_ALARM
    # The lowest of the 53 bits are as random as the highest.
    bits = (uniforms * 2**53).astype(np.int64)
    for place in (0, 1, 26, 52):
        ones = int((bits >> place & 1).sum())
        assert stats.binomtest(ones, N, 0.5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("along", ALONG)
def test_neighbours_are_not_correlated(along):
    for values in draws(*ALONG[along]):
        for lag in (1, 2, 3, 64):
            correlation = np.corrcoef(values[lag:], values[:-lag])[0, 1]
            assert abs(correlation) < CORRELATION * np.sqrt(N / (N - lag))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((COUNT, 1, 0), (COUNT, 1, 1)),
        ((COUNT, 1, 0), (COUNT, 2, 0)),
        ((COUNT, 1, 0), (COUNT + 1, 1, 0)),
        ((5, COUNT, 0), (6, COUNT, 0)),
        ((COUNT, 3, 0), (3, COUNT, 0)),
        ((5, COUNT, 2), (5, COUNT, 3)),
    ],
    ids=["index", "step", "seed", "seeds along steps", "swapped", "index along steps"],
)
def test_neighbouring_streams_are_independent(first, second):
    """Correlations of values and of squares, and a chi-square on a 10 by 10 table."""
    one, other = draws(*first), draws(*second)
    same = one[0] == other[0]
    assert same.sum() <= 1  # the swapped streams meet once, where seed and step are both 3
    for a, b in zip(one, other, strict=True):
        assert abs(np.corrcoef(a[~same], b[~same])[0, 1]) < CORRELATION * 1.01
        assert abs(np.corrcoef(a[~same] ** 2, b[~same] ** 2)[0, 1]) < CORRELATION * 1.01
    table = np.histogram2d(one[0], other[0], bins=10, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(table.ravel()).pvalue > FALSE_ALARM


def test_draws_are_pure_functions():
    """Any order and repetition gives the same draws."""
    rng = np.random.default_rng(111)
    seeds, steps, indices = (rng.integers(0, 2**31, size=N) for _ in range(3))
    order = rng.permutation(N)
    one = draws(seeds, steps, indices)
    other = draws(seeds[order], steps[order], indices[order])
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a[order], b)


def test_mix_is_the_published_function():
    """SplitMix64 of seed 0: the first outputs that its authors' reference code prints."""
    golden = 0x9E3779B97F4A7C15
    positions = np.array([golden * k % 2**64 for k in (1, 2, 3)], dtype=np.uint64)
    out = np.zeros(3, dtype=np.uint64)
    run(mix_all, positions, out)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert out.tolist() == expected
