"""Carry a state over to one with more arms."""

from __future__ import annotations

from typing import Any

import numpy as np


def copy_arms(source: Any, target: Any) -> None:
    """Copy each array of a state into the one of a state with more arms.

    Arrays that differ hold one row per arm: the new arms' rows keep their start values. An outlook
    has one column per arm and is made anew by each decision: it is left as it is.
    """
    if isinstance(source, np.ndarray):
        if source.shape[1:] == target.shape[1:]:
            target[: len(source)] = source
    elif isinstance(source, tuple):
        for old, new in zip(source, target, strict=True):
            copy_arms(old, new)
