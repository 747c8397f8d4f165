"""Where an arm's rows are kept: a chain of blocks from a pool that all arms share.

With bounded memory an arm keeps at least its newest ``window_rows``. A block before is *folded*:
replaced by the second-order expansion of its likelihood at the estimate of that moment, or at the
ridge's while there is none.
"""

from __future__ import annotations

from greedyfirst.compiling.kernels import kernel
from greedyfirst.models.likelihood import (
    BLOCK,
    PENALTY,
    GeneralizedLinear,
    accumulate,
    differentiate,
    mirror,
    take_estimate,
)
from greedyfirst.models.newton import seek
from greedyfirst.validation import FloatArray


def blocks_for(window_rows: int, rows: int, n_arms: int) -> tuple[int, int]:
    """Blocks that an arm may keep (0 for all), and those of the pool.

    ``window_rows`` per arm are kept, 0 for all of the ``rows`` that there may be.
    """
    if window_rows:
        window = -(-window_rows // BLOCK) + 1
        return window, n_arms * window
    return 0, rows // BLOCK + n_arms


@kernel
def store(model: GeneralizedLinear, arm: int, x: FloatArray, y: float) -> None:
    """Put a row behind the arm's others."""
    if model.n_blocks[arm] == 0 or model.filled[arm] == BLOCK:
        extend(model, arm)
    block, place = model.last_block[arm], model.filled[arm]
    for i in range(x.shape[0]):
        model.features[block, i, place] = x[i]
        model.squares[arm, i] += x[i] * x[i]
    model.rewards[block, place] = y
    model.filled[arm] += 1


@kernel
def extend(model: GeneralizedLinear, arm: int) -> None:
    """Give the arm an empty block: a new one, or its oldest after folding that.

    A block is kept back for each arm that has none yet.
    """
    fresh = promised = 0
    for other in range(model.n_blocks.shape[0]):
        fresh += model.n_blocks[other]
        if model.n_blocks[other] == 0:
            promised += 1
    kept = model.n_blocks[arm]
    if kept > 0 and (kept == model.window or fresh + promised >= model.next_block.shape[0]):
        fresh = model.first_block[arm]
        fold(model, arm, fresh)
        model.first_block[arm] = model.next_block[fresh] if kept > 1 else fresh
    else:
        model.n_blocks[arm] += 1
    for j in range(BLOCK):
        for i in range(model.features.shape[1]):
            model.features[fresh, i, j] = 0.0
        model.rewards[fresh, j] = 0.0
    model.next_block[fresh] = 0
    if model.n_blocks[arm] == 1:
        model.first_block[arm] = fresh
    else:
        model.next_block[model.last_block[arm]] = fresh
    model.last_block[arm] = fresh
    model.filled[arm] = 0


@kernel
def fold(model: GeneralizedLinear, arm: int, block: int) -> None:
    """Replace a full block by its expansion."""
    point = model.point
    take_estimate(model, arm, point)
    if not model.exists[arm] and not seek(model, arm, PENALTY):
        take_estimate(model, arm, point)
    differentiate(model, block, point)
    for j in range(BLOCK):
        model.scores[j] += model.curvatures[j] * model.predictors[j]
    matrix = model.folded_curvature[arm]
    accumulate(model, block, model.folded_gradient[arm], matrix)
    mirror(matrix)
    model.folded[arm] += BLOCK
