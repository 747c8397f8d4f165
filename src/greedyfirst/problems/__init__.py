"""Problems: laws of contexts, arm parameters and noise, and the runs drawn from them."""

from greedyfirst.problems.arm_parameters import (
    ArmParameters,
    FixedParameters,
    GaussianParameters,
    MixtureParameters,
    ParametersFromFunction,
)
from greedyfirst.problems.context_distributions import (
    ClippedGaussian,
    ContextDistribution,
    FromArray,
    FromFunction,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithinBall,
    WithIntercept,
)
from greedyfirst.problems.generalized_linear_problem import GeneralizedLinearProblem
from greedyfirst.problems.linear_problem import LinearProblem
from greedyfirst.problems.noise import GaussianNoise, Noise, TwoPointNoise, UniformNoise
from greedyfirst.problems.problem import Draw, Problem, measure_regrets
from greedyfirst.problems.table_problem import TableProblem

__all__ = [
    "ArmParameters",
    "ClippedGaussian",
    "ContextDistribution",
    "Draw",
    "FixedParameters",
    "FromArray",
    "FromFunction",
    "GaussianNoise",
    "GaussianParameters",
    "GeneralizedLinearProblem",
    "Gibbs",
    "LinearProblem",
    "MixtureParameters",
    "Noise",
    "ParametersFromFunction",
    "Problem",
    "Product",
    "Rademacher",
    "TableProblem",
    "TruncatedGaussian",
    "TwoPointNoise",
    "UniformBall",
    "UniformBox",
    "UniformNoise",
    "WithIntercept",
    "WithinBall",
    "measure_regrets",
]
