"""Judges shared by the tests of problems."""

from collections.abc import Callable

import numpy as np
import pytest


def _assert_mean(samples: np.ndarray, expected: np.ndarray | float) -> None:
    """Fail when a column mean is over 5 standard errors away: false alarm 5.8e-7 per column."""
    samples = np.asarray(samples, dtype=np.float64)
    columns = samples.reshape(len(samples), -1)
    wanted = np.broadcast_to(np.asarray(expected, dtype=np.float64), samples.shape[1:]).ravel()
    error = np.abs(columns.mean(axis=0) - wanted)
    # The last term is rounding, for columns that do not vary at all.
    allowed = 5 * columns.std(axis=0, ddof=1) / np.sqrt(len(columns)) + 1e-12
    assert (error <= allowed).all(), f"{columns.mean(axis=0)} is not {wanted} within {allowed}"


@pytest.fixture
def assert_mean() -> Callable[[np.ndarray, np.ndarray | float], None]:
    return _assert_mean


@pytest.fixture
def assert_second_moment(assert_mean) -> Callable[[np.ndarray, np.ndarray], None]:
    """Judge E[x x'] entry by entry, false alarm 5.8e-7 each."""

    def judge(samples: np.ndarray, expected: np.ndarray) -> None:
        assert_mean(np.einsum("ni,nj->nij", samples, samples), expected)

    return judge
