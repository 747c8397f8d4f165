"""An example of each request that a first program sends, in the order in which it sends them."""

from __future__ import annotations

import json
from typing import Any

#: By operation: what stands for the parameters of its address, and the body.
EXAMPLES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "create_policy": (
        {},
        {
            "name": "warfarin",
            "arms": ["low", "medium", "high"],
            "features": [
                {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
                {"kind": "categorical", "name": "sex", "levels": ["female", "male"]},
            ],
            "reward_wait": 2592000,
        },
    ),
    "decide": ({"policy": "warfarin"}, {"context": {"age": 71, "sex": "female"}}),
    "reward": ({"decision_id": "warfarin:1"}, {"value": 0.83}),
    "resolve": (
        {"policy": "warfarin"},
        {
            "arm": "high",
            "resolution": "explore_arm",
            "who": "Dr. Smith",
            "why": "few old patients got it",
        },
    ),
}
_SERVICE = "http://localhost:8000"


def curl(operation: str, method: str, path: str) -> str | None:
    """The example of an operation as a command, None if it has none."""
    if operation not in EXAMPLES:
        return None
    parameters, body = EXAMPLES[operation]
    lines = [
        f"curl -X {method} {_SERVICE}{path.format(**parameters)}",
        "-H 'Authorization: Bearer KEY' -H 'Content-Type: application/json'",
        f"-d '{json.dumps(body)}'",
    ]
    return " \\\n  ".join(lines)
