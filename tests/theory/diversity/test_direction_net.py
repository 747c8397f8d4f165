import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.theory import measure_diversity
from greedyfirst.theory.diversity.direction_net import DirectionNet, _find_cells
from greedyfirst.theory.diversity.half_space_search import HalfSpaceSearch, whitening


def least_in_space(rows):
    """min over u of λ_min(Σ xxᵀ 1{xᵀu ≥ 0}) for rows in general position in R³.

    Every cell of directions has a corner where two rows lie on the boundary; the four cells at it
    keep or drop each of the two.
    """
    least = np.inf
    for i, j in itertools.combinations(range(len(rows)), 2):
        heights = rows @ np.cross(rows[i], rows[j])
        for sign, with_i, with_j in itertools.product((1, -1), (False, True), (False, True)):
            inside = sign * heights > 0.0
            inside[i], inside[j] = with_i, with_j
            chosen = rows[inside]
            least = min(least, float(np.linalg.eigvalsh(chosen.T @ chosen)[0]))
    return max(least, 0.0)


def net_bound(rows, per_edge):
    net = DirectionNet(whitening(rows.T @ rows), per_edge=per_edge)
    sums = net.zero_sums()
    net.add_rows(rows, sums)
    return net.lower_bounds([sums], [1])[0][0]


@given(st.integers(0, 10**6), st.integers(10, 24), st.floats(0.0, 0.7))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_net_below_the_truth_below_the_search(seed, n, shift):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 3)) * [1.0, 3.0, 0.2] + shift * np.array([1.0, 0.0, 0.2])
    truth = least_in_space(rows)
    search = HalfSpaceSearch(rows, rng)
    found = search.run(search.scan(16))
    assert net_bound(rows, 10) <= truth + 1e-9
    assert truth <= found[0].value * n + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_measured_bounds_hold_the_truth(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((40, 3))
    truth = least_in_space(rows) / 40
    found = measure_diversity(rows)
    assert found.lower <= truth + 1e-12
    assert truth <= found.upper + 1e-12
    # The search is no proof: of 40 rows the best cell can be tiny.
    assert found.upper <= 1.5 * truth + 1e-12


@pytest.mark.parametrize("r", [1, 2, 3])
def test_every_direction_is_near_its_cell(r):
    net = DirectionNet(np.eye(r), per_edge=7 if r > 1 else 1)
    points = np.random.default_rng(0).standard_normal((2000, r))
    points[:2] = [[1.0] * r, [-1.0] + [1.0] * (r - 1)]
    directions = points / np.linalg.norm(points, axis=1, keepdims=True)
    centres = net.centres[_find_cells(points, 7 if r > 1 else 1)]
    angles = np.arccos(np.minimum(np.einsum("ij,ij->i", centres, directions), 1.0))
    assert angles.max() <= net.radius
    assert len(net) == 2 * r * 7 ** (r - 1)


def test_finer_nets_prove_more():
    rows = np.random.default_rng(1).standard_normal((5000, 3))
    bounds = [net_bound(rows, per_edge) for per_edge in (5, 10, 20)]
    assert bounds[0] < bounds[1] < bounds[2] < 2500


def test_half_spaces_and_bounds_do_not_depend_on_units_of_the_net():
    """A net in coordinates x·T proves the same for rows·A with the net's T replaced by A⁻¹T."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((3000, 2))
    stretched = rows * [100.0, 0.01]
    # Smallest eigenvalues differ, whether they are proved to be positive does not.
    assert net_bound(rows, 50) > 0
    assert net_bound(stretched, 50) > 0
