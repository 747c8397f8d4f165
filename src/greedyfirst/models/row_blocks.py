"""Where an arm's rows are kept: a chain of blocks from a pool that all arms share.

With bounded memory an arm keeps at least its newest ``window_rows``. A block before is *folded*:
replaced by the second-order expansion of its likelihood at the estimate of that moment, or at the
ridge's while there is none.
"""

from __future__ import annotations

from typing import Any

from greedyfirst.compilation import kernel
from greedyfirst.linalg import copy
from greedyfirst.models.likelihood import (
    BLOCK,
    BLOCKS,
    CURVATURES,
    ESTIMATE,
    EXISTS,
    FILLED,
    FIRST,
    FOLDED,
    FOLDED_CURVATURE,
    FOLDED_GRADIENT,
    LAST,
    POINT,
    PREDICTOR,
    SCORES,
    SQUARES,
    Fit,
    accumulate,
    differentiate,
    mirror,
)
from greedyfirst.models.newton import PENALTY, seek
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
def store(tag: Any, model: Fit, arm: int, x: FloatArray, y: float) -> None:
    """Put a row behind the arm's others."""
    numbers, d = model.numbers[arm], x.shape[0]
    if numbers[BLOCKS] == 0.0 or numbers[FILLED] == BLOCK:
        extend(tag, model, arm)
    block, place = model.rows[int(numbers[LAST])], int(numbers[FILLED])
    for i in range(d):
        block[i, place] = x[i]
        model.vectors[arm, SQUARES, i] += x[i] * x[i]
    block[d, place] = y
    numbers[FILLED] += 1.0


@kernel
def extend(tag: Any, model: Fit, arm: int) -> None:
    """Give the arm an empty block: a new one, or its oldest after folding that.

    A block is kept back for each arm that has none yet.
    """
    numbers, d = model.numbers[arm], model.vectors.shape[2]
    fresh = promised = 0
    for other in range(model.numbers.shape[0]):
        fresh += int(model.numbers[other, BLOCKS])
        if model.numbers[other, BLOCKS] == 0.0:
            promised += 1
    kept = int(numbers[BLOCKS])
    if kept > 0 and (kept == model.window or fresh + promised >= model.rows.shape[0]):
        fresh = int(numbers[FIRST])
        fold(tag, model, arm, fresh)
        numbers[FIRST] = model.rows[fresh, d + 1, 0] if kept > 1 else float(fresh)
    else:
        numbers[BLOCKS] += 1.0
    for i in range(d + 2):
        for j in range(BLOCK):
            model.rows[fresh, i, j] = 0.0
    if numbers[BLOCKS] == 1.0:
        numbers[FIRST] = fresh
    else:
        model.rows[int(numbers[LAST]), d + 1, 0] = fresh
    numbers[LAST] = fresh
    numbers[FILLED] = 0.0


@kernel
def fold(tag: Any, model: Fit, arm: int, place: int) -> None:
    """Replace a full block by its expansion."""
    block, lanes, point = model.rows[place], model.scratch_rows, model.scratch[POINT]
    copy(model.vectors[arm, ESTIMATE], point)
    if model.numbers[arm, EXISTS] == 0.0 and not seek(tag, model, arm, PENALTY):
        copy(model.vectors[arm, ESTIMATE], point)
    differentiate(tag, block, point, lanes)
    for j in range(BLOCK):
        lanes[SCORES, j] += lanes[CURVATURES, j] * lanes[PREDICTOR, j]
    matrix = model.matrices[arm, FOLDED_CURVATURE]
    accumulate(block, lanes, model.vectors[arm, FOLDED_GRADIENT], matrix)
    mirror(matrix)
    model.numbers[arm, FOLDED] += BLOCK
