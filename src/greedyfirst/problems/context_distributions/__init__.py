"""The context distributions of §2.2 of the paper, and ways to build others.

Each has ``n_features`` and ``sample(rng, size)``, which returns an array (size, n_features).
"""

from greedyfirst.problems.context_distributions.combined import Product, WithinBall, WithIntercept
from greedyfirst.problems.context_distributions.context_distribution import ContextDistribution
from greedyfirst.problems.context_distributions.gaussian import ClippedGaussian, TruncatedGaussian
from greedyfirst.problems.context_distributions.gibbs import Gibbs, Rademacher
from greedyfirst.problems.context_distributions.supplied import FromArray, FromFunction
from greedyfirst.problems.context_distributions.uniform import UniformBall, UniformBox

__all__ = [
    "ClippedGaussian",
    "ContextDistribution",
    "FromArray",
    "FromFunction",
    "Gibbs",
    "Product",
    "Rademacher",
    "TruncatedGaussian",
    "UniformBall",
    "UniformBox",
    "WithIntercept",
    "WithinBall",
]
