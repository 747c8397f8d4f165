"""The policies that are checked: each one's own examples, and each as Greedy-First's fallback."""

from __future__ import annotations

from dataclasses import fields

from greedyfirst.policies.glm_greedy import GLMGreedy
from greedyfirst.policies.greedy_first import GreedyFirst
from greedyfirst.policies.policy import POLICIES, Policy


def examples_of(kind: type[Policy]) -> dict[str, Policy]:
    """A policy's examples by name."""
    examples = kind.examples()
    found: dict[str, Policy] = {f"{kind.__name__}-{i}": each for i, each in enumerate(examples)}
    if kind.is_compiled() and not kind.watches:
        found[f"{kind.__name__}-fallback"] = as_fallback(examples[0])
    return found


def as_fallback(fallback: Policy) -> GreedyFirst:
    """Greedy-First with this policy as its fallback.

    λ₀ = 0.5 trips the test soon after t₀, so that the fallback has most of a run to itself.
    """
    link = getattr(fallback, "link", None)
    if link is None:
        return GreedyFirst(warmup="pinv", t0=30, lambda0=0.5, fallback=fallback)
    greedy = GLMGreedy(link=link, memory=getattr(fallback, "memory", GLMGreedy.memory))
    return GreedyFirst(greedy=greedy, t0=30, lambda0=0.5, fallback=fallback)


def unvaried_options(kind: type[Policy]) -> list[str]:
    """Options that have the same value in all of a policy's examples."""
    examples = kind.examples()
    return [
        option.name
        for option in fields(kind)
        if len({repr(getattr(policy, option.name)) for policy in examples}) < 2
    ]


#: The package's own policies; others' names have their modules in front.
KINDS = {name: kind for name, kind in POLICIES.items() if ":" not in name}
EXAMPLES = {name: policy for kind in KINDS.values() for name, policy in examples_of(kind).items()}
