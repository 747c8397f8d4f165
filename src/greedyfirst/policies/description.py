"""Policies as plain data: for files, logs and settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from greedyfirst.models.linear_part import FIRST_RULE
from greedyfirst.policies.policy import POLICIES, Policy
from greedyfirst.validation import wrong

#: What release 0.1 took for options that are left out, where that has changed.
_RELEASE_0_1: dict[str, dict[str, Any]] = {
    "Greedy": {"warmup": "none"},
    "EpsilonGreedy": {"warmup": "none"},
    "OLSBandit": {"warmup": "none"},
    "GreedyFirst": {"fallback": {"policy": "OLSBandit", "options": {"warmup": "none"}}},
}


def as_stored(description: dict[str, Any]) -> dict[str, Any]:
    """A stored description, whose policies have the first rule where they do not say which."""
    made = POLICIES.get(str(description.get("policy")))
    options = dict(description.get("options") or {})
    if made is not None and "rule" in {each.name for each in fields(made)}:
        options.setdefault("rule", FIRST_RULE)
    for name, value in options.items():
        if isinstance(value, dict) and "policy" in value:
            options[name] = as_stored(value)
    return {**description, "options": options}


def as_in_release_0_1(description: dict[str, Any]) -> dict[str, Any]:
    """A description whose omitted options, inner policies' too, are those of release 0.1.

    What a log says must not change with a later release's defaults.
    """
    known = _RELEASE_0_1.get(str(description.get("policy")), {})
    options = {**known, **(description.get("options") or {})}
    for name, value in options.items():
        if isinstance(value, dict) and "policy" in value:
            options[name] = as_in_release_0_1(value)
    return {**description, "options": options}


def describe(policy: Policy) -> dict[str, Any]:
    """The policy's name and options, as JSON can hold them."""
    options = {}
    for field in fields(policy):
        value = getattr(policy, field.name)
        if isinstance(value, np.generic):
            value = value.item()
        options[field.name] = describe(value) if isinstance(value, Policy) else value
    return {"policy": policy.registered_name(), "options": options}


def from_description(description: dict[str, Any]) -> Policy:
    """The policy that :func:`describe` was given."""
    try:
        name, options = description["policy"], dict(description["options"])
    except (KeyError, TypeError):
        names = ", ".join(POLICIES)
        raise wrong("policy", description, f"one of {names} with options") from None
    if not isinstance(name, str) or name not in POLICIES:
        module, _, own = str(name).partition(":")
        if own:
            raise ValueError(f"policy {own} is not known here: import {module} first, its module")
        raise wrong("policy", name, f"one of {', '.join(POLICIES)}")
    for key, value in options.items():
        if isinstance(value, dict):
            options[key] = from_description(value)
    try:
        made: Policy = POLICIES[name](**options)
    except TypeError as error:
        raise ValueError(f"policy {name}: {error}") from None
    return made
