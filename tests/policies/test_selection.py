"""From scores to an arm: ``select`` against its documented law (statistics at 1e-6 each)."""

import numpy as np
import pytest
from scipy import stats

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import allocate
from greedyfirst.policies.selection import Scores, select, selection_probabilities

N = 30_000


@entry
def select_often(scores, eligible, step, out):
    for seed in range(out.shape[0]):
        out[seed] = select(scores, eligible, seed, step)


def frequencies(scores, eligible):
    out = np.zeros(N, np.int64)
    run(select_often, scores, np.array(eligible, float), 1, out)
    return np.bincount(out, minlength=len(scores.value))


def scored(values, spreads=0.0, chance=0.0):
    _, scores = allocate(lambda memory: Scores(memory, n_arms=len(values)))
    scores.value[:], scores.spread[:], scores.random_share = values, spreads, chance
    return scores


OUT = -np.inf
CASES = {
    "highest": (scored([0, 3, 1]), [1, 1, 1], [0, 1, 0]),
    "two tie": (scored([3, 3, 1]), [1, 1, 1], [0.5, 0.5, 0]),
    "all tie": (scored([0, 0, 0, 0, 0]), [1] * 5, [0.2] * 5),
    "late ties": (scored([0, 2, 1, 2, 2]), [1] * 5, [0, 1 / 3, 0, 1 / 3, 1 / 3]),
    "not eligible": (scored([9, 3, 3]), [0, 1, 1], [0, 0.5, 0.5]),
    "ruled out": (scored([OUT, 3, OUT]), [1, 1, 1], [0, 1, 0]),
    "ruled out first": (scored([OUT, -5]), [1, 1], [0, 1]),
    "chance": (scored([1, 0, 0], chance=0.3), [1, 1, 1], [0.8, 0.1, 0.1]),
    "only chance": (scored([1, 0, 0], chance=1.0), [1, 1, 1], [1 / 3] * 3),
    "chance among the open": (
        scored([1, OUT, 0, 0], chance=0.5),
        [1, 1, 0, 1],
        [0.75, 0, 0, 0.25],
    ),
    "draws": (
        scored([0, 1], [1, 1]),
        [1, 1],
        [stats.norm.cdf(-1 / np.sqrt(2)), stats.norm.cdf(1 / np.sqrt(2))],
    ),
    "draws with chance": (scored([0, 0, 0], [1, 1, 1], chance=0.4), [1, 0, 1], [0.5, 0, 0.5]),
}


@pytest.mark.parametrize("case", CASES)
def test_arms_are_taken_with_the_documented_probabilities(case):
    scores, eligible, expected = CASES[case]
    exact = selection_probabilities(scores, np.array(eligible, float))
    assert exact == pytest.approx(expected, abs=1e-9)
    for count, p in zip(frequencies(scores, eligible), expected, strict=True):
        assert stats.binomtest(int(count), N, p).pvalue > 1e-6
