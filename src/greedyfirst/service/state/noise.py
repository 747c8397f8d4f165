"""What is known of the noise of a deployment's rewards: intervals are as wide as it is large."""

from __future__ import annotations

import math
from typing import NamedTuple

from greedyfirst.agent.intervals import estimated_sigma, linear_model
from greedyfirst.links import Identity
from greedyfirst.service.state.deployment import Deployment


class Noise(NamedTuple):
    """The scale with which rewards are sub-Gaussian, whatever came before."""

    #: None if nothing is known of it; infinite while all rewards were alike.
    sigma: float | None
    #: False where it was estimated: then levels are approximate.
    known: bool
    #: Where it comes from, for people.
    sentence: str
    #: Why there are no intervals of effects, which need linear rewards; None if there are.
    why_no_effects: str | None


def noise_of(deployment: Deployment) -> Noise:
    """The noise, by the range of rewards where that binds, else by the model."""
    no_effects = _why_no_effects(deployment)
    bound = _bound(deployment)
    if isinstance(bound, float):
        bounded = f"Rewards have a range, so the scale of their noise is at most {bound:g}."
        return Noise(bound, True, bounded, no_effects)
    try:
        found = estimated_sigma(linear_model(deployment.agent))
    except ValueError:
        unknown = (
            f"There are no intervals: the scale of the rewards’ noise is not known, since {bound}, "
            "and the policy’s model does not estimate it."
        )
        return Noise(None, False, unknown, no_effects or unknown)
    if not math.isfinite(found):
        seen = f"No noise has been seen yet, so intervals have no ends: {bound}."
        return Noise(found, False, seen, no_effects)
    said = f"The scale of the rewards’ noise, {found:.3g}, is estimated, since {bound}: the level"
    return Noise(found, False, f"{said} is approximate.", no_effects)


def _bound(deployment: Deployment) -> float | str:
    """Half the range that all learned rewards lie in (Hoeffding's lemma), or why there is none."""
    limits = deployment.specification.reward_range
    largest = deployment.agent.policy.reward_link().largest_sigma
    if largest is not None:
        return largest
    if limits is None or limits.low is None or limits.high is None:
        return "the specification has no reward_range with both ends"
    if deployment.specification.rewards == "sum":
        return "the range is that of a reward’s parts, whose number has no bound"
    corrected = deployment.amendments.corrected.values()
    values = [value for parts in corrected for value in parts.values() if value is not None]
    if not all(map(limits.has, values)):
        return "a person confirmed a reward outside the range"
    return (limits.high - limits.low) / 2


def _why_no_effects(deployment: Deployment) -> str | None:
    """Why intervals of effects and expected rewards do not exist."""
    policy = deployment.agent.policy
    link = policy.reward_link()
    if link is not Identity:
        return (
            f"This policy’s rewards follow a generalised linear model ({link.name}). The intervals "
            "that hold at all times are for linear rewards only, so none are shown."
        )
    try:
        linear_model(deployment.agent)
    except ValueError:
        return (
            f"{type(policy).__name__} with these options does not keep the sums of all rewards "
            "that intervals are made from, so none are shown."
        )
    return None
