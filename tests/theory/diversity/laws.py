"""The context distributions of §2.2 in d dimensions, for tests."""

import numpy as np

from greedyfirst.problems import (
    ClippedGaussian,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
)


def some_covariance(d):
    factor = np.random.default_rng(d).standard_normal((d, d))
    return factor @ factor.T / d + 0.1 * np.eye(d)


def couplings(d):
    return 0.2 * np.random.default_rng(10 + d).standard_normal((d, d))


LAWS = {
    "ball": lambda d: UniformBall(n_features=d, radius=1.7),
    "box": lambda d: UniformBox(n_features=d, half_width=np.arange(1.0, d + 1.0)),
    "gaussian": lambda d: TruncatedGaussian(n_features=d, bound=1.3, covariance=0.5),
    "gaussian, diagonal": lambda d: TruncatedGaussian(
        n_features=d, bound=1.3, covariance=np.linspace(0.2, 2.0, d)
    ),
    "gaussian, matrix": lambda d: TruncatedGaussian(
        n_features=d, bound=1.3, covariance=some_covariance(d)
    ),
    "gaussian, box": lambda d: TruncatedGaussian(
        n_features=d, bound=1.0, covariance=0.5, norm="linf"
    ),
    "clipped": lambda d: ClippedGaussian(n_features=d, bound=1.0, covariance=0.5),
    "rademacher": lambda d: Rademacher(n_features=d),
    "gibbs": lambda d: Gibbs(couplings=couplings(d)),
    "product": lambda d: Product(parts=[UniformBall(n_features=d - 1), Rademacher(n_features=1)]),
}
