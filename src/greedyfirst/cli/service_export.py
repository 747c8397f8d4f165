"""The columns of the decision service's exports, which need not be named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ARM, REWARD, PROPENSITY = "arm", "learned", "propensity"
#: What the names of context columns begin with.
CONTEXT = "context."
#: And those of the probability of every arm.
EVERY = f"{PROPENSITY}."
#: Columns that hold lists.
LISTS = ("eligible_arms", "rewards")


def is_export(columns: Sequence[Any]) -> bool:
    """Whether a table with these columns is an export."""
    names = {str(column) for column in columns}
    return {"decision_id", ARM, REWARD} <= names
