"""A policy as an option of a command: a name, or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greedyfirst.policies import Policy


def policy_of(text: str) -> Policy:
    """A policy by its name, or as JSON with its options."""
    from greedyfirst.policies.description import from_description  # slow to import

    if not text.lstrip().startswith("{"):
        return from_description({"policy": text, "options": {}})
    try:
        description = json.loads(text)
    except ValueError:
        raise ValueError(f"--policy must be a name or JSON, got {text}") from None
    return from_description({"options": {}, **description})
