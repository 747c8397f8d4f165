import numpy as np
import pytest

from greedyfirst.theory import measure_diversity
from support.real_data import DATA, load_rows

SETS = ("cardiotocography", "eeg", "eye_movements", "warfarin")


@pytest.mark.parametrize("name", SETS)
def test_verdict_on_real_contexts(name):
    """All four have columns that are never negative, such as ages, counts and indicators."""
    if not (DATA / f"{name}.csv").exists():
        pytest.skip(f"{name}.csv is not in {DATA}")
    rows, _ = load_rows(name, normalised=False)
    found = measure_diversity(rows)
    assert found.upper == found.lower == 0.0
    inside = rows[rows @ found.witness >= 0.0]
    assert len(inside) == found.kept_rows
    assert not inside.size or np.abs(inside @ found.weakest).max() == 0.0
    assert found.verdict().startswith("No")
    assert str(found)


@pytest.mark.parametrize("name", SETS)
def test_verdict_on_standardised_contexts(name):
    """Centred and scaled, without an intercept: a verdict from the search."""
    if not (DATA / f"{name}.csv").exists():
        pytest.skip(f"{name}.csv is not in {DATA}")
    rows, _ = load_rows(name, normalised=False)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    found = measure_diversity(rows, n_directions=16)
    assert 0.0 <= found.lower <= found.upper <= found.ceiling
    assert found.verdict()
