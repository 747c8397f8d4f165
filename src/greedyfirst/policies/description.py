"""Policies as plain data: for files, logs and settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from greedyfirst.policies import POLICIES, Policy
from greedyfirst.validation import wrong


def describe(policy: Policy) -> dict[str, Any]:
    """The policy's name and options, as JSON can hold them."""
    options = {}
    for field in fields(policy):
        value = getattr(policy, field.name)
        if isinstance(value, np.generic):
            value = value.item()
        options[field.name] = describe(value) if isinstance(value, Policy) else value
    return {"policy": type(policy).__name__, "options": options}


def from_description(description: dict[str, Any]) -> Policy:
    """The policy that :func:`describe` was given."""
    by_name = {policy.__name__: policy for policy in POLICIES}
    try:
        policy = by_name[description["policy"]]
        options = dict(description["options"])
    except (KeyError, TypeError):
        raise wrong("policy", description, f"one of {', '.join(by_name)} with options") from None
    for name, value in options.items():
        if isinstance(value, dict):
            options[name] = from_description(value)
    try:
        made: Policy = policy(**options)
    except TypeError as error:
        raise ValueError(f"policy {policy.__name__}: {error}") from None
    return made
