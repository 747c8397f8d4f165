"""Context distributions by name, for the command line."""

from __future__ import annotations

from greedyfirst.problems.context_distributions.context_distribution import ContextDistribution
from greedyfirst.problems.context_distributions.gaussian import TruncatedGaussian
from greedyfirst.problems.context_distributions.gibbs import Rademacher
from greedyfirst.problems.context_distributions.uniform import UniformBall, UniformBox
from greedyfirst.validation import choice

#: Laws of contexts by the name that the command line takes; each with norm at most ``x_max``.
CONTEXTS = ("ball", "box", "gaussian", "rademacher")


def context_law(name: str, *, n_features: int, x_max: float) -> ContextDistribution:
    """A law of contexts whose norm is at most ``x_max``."""
    choice("contexts", name, CONTEXTS)
    if name == "ball":
        return UniformBall(n_features=n_features, radius=x_max)
    if name == "gaussian":
        return TruncatedGaussian(n_features=n_features, covariance=x_max**2 / 4, bound=x_max)
    if name == "box":
        side = x_max / n_features**0.5
        return UniformBox(n_features=n_features, half_width=side)
    return Rademacher(n_features=n_features, scale=x_max / n_features**0.5)
