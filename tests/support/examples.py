"""The policies that the common checks run: each one's own examples, and each as a fallback."""

from dataclasses import fields

from greedyfirst import GLMGreedy, GreedyFirst
from greedyfirst.links import Identity
from greedyfirst.policies import POLICIES

# λ₀ = 0.5 trips the test soon after t₀, so that fallbacks have most of a run to themselves.
SOON = {"t0": 30, "lambda0": 0.5}


def examples_of(kind):
    """A policy's examples by name."""
    return {
        f"{kind.__name__}-{number}": policy for number, policy in enumerate(kind.examples())
    } | as_fallback(kind)


def as_fallback(kind):
    """Greedy-First with the policy's first example as its fallback."""
    if kind.watches or not kind.is_compiled():
        return {}
    fallback = kind.examples()[0]
    inside = GreedyFirst(**greedy_for(fallback), **SOON, fallback=fallback)
    return {f"{kind.__name__}-fallback": inside}


def greedy_for(fallback):
    """The greedy phase that learns from the same rewards."""
    if fallback.reward_link() is Identity and not hasattr(fallback, "link"):
        return {"warmup": "pinv"}
    return {"greedy": GLMGreedy(link=fallback.link, memory=fallback.memory)}


#: The package's own policies; tests define others, whose names have their modules in front.
KINDS = {name: kind for name, kind in POLICIES.items() if ":" not in name}
EXAMPLES = {name: policy for kind in KINDS.values() for name, policy in examples_of(kind).items()}


def unvaried_options(kind):
    """Options that have the same value in all of a policy's examples."""
    examples = kind.examples()
    return [
        option.name
        for option in fields(kind)
        if len({repr(getattr(policy, option.name)) for policy in examples}) < 2
    ]
