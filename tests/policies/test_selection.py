"""From scores to an arm: ``select`` against its documented law (statistics at 1e-6 each)."""

import numpy as np
import pytest
from greedyfirst.compilation import entry_kernel
from scipy import stats

from greedyfirst.policies.selection import select, selection_probabilities

N = 30_000


@entry_kernel
def select_often(outlook, eligible, step, out):
    for seed in range(out.shape[0]):
        out[seed] = select(outlook, eligible, seed, step)


def frequencies(outlook, eligible):
    out = np.zeros(N, np.int64)
    select_often(outlook, np.array(eligible, float), 1, out)
    return np.bincount(out, minlength=outlook.shape[1])


def outlook(scores, spreads=None, chance=0.0):
    result = np.zeros((3, len(scores)))
    result[0] = scores
    result[1] = 0.0 if spreads is None else spreads
    result[2, 0] = chance
    return result


OUT = -np.inf
CASES = {
    "highest": (outlook([0, 3, 1]), [1, 1, 1], [0, 1, 0]),
    "two tie": (outlook([3, 3, 1]), [1, 1, 1], [0.5, 0.5, 0]),
    "all tie": (outlook([0, 0, 0, 0, 0]), [1] * 5, [0.2] * 5),
    "late ties": (outlook([0, 2, 1, 2, 2]), [1] * 5, [0, 1 / 3, 0, 1 / 3, 1 / 3]),
    "not eligible": (outlook([9, 3, 3]), [0, 1, 1], [0, 0.5, 0.5]),
    "ruled out": (outlook([OUT, 3, OUT]), [1, 1, 1], [0, 1, 0]),
    "ruled out first": (outlook([OUT, -5]), [1, 1], [0, 1]),
    "chance": (outlook([1, 0, 0], chance=0.3), [1, 1, 1], [0.8, 0.1, 0.1]),
    "only chance": (outlook([1, 0, 0], chance=1.0), [1, 1, 1], [1 / 3] * 3),
    "chance among the open": (
        outlook([1, OUT, 0, 0], chance=0.5),
        [1, 1, 0, 1],
        [0.75, 0, 0, 0.25],
    ),
    "draws": (
        outlook([0, 1], [1, 1]),
        [1, 1],
        [stats.norm.cdf(-1 / np.sqrt(2)), stats.norm.cdf(1 / np.sqrt(2))],
    ),
    "draws with chance": (outlook([0, 0, 0], [1, 1, 1], chance=0.4), [1, 0, 1], [0.5, 0, 0.5]),
}


@pytest.mark.parametrize("case", CASES)
def test_arms_are_taken_with_the_documented_probabilities(case):
    state, eligible, expected = CASES[case]
    exact = selection_probabilities(state, np.array(eligible, float))
    assert exact == pytest.approx(expected, abs=1e-9)
    for count, p in zip(frequencies(state, eligible), expected, strict=True):
        assert stats.binomtest(int(count), N, p).pvalue > 1e-6
