"""Contextual bandits that explore only when the data says they must."""

from greedyfirst.agent import Agent
from greedyfirst.policies import (
    GLMUCB,
    OFUL,
    EpsilonGreedy,
    FixedArm,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Oracle,
    Policy,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    Uniform,
)
from greedyfirst.simulation import SimulationResult, simulate
from greedyfirst.version import __version__

__all__ = [
    "GLMUCB",
    "OFUL",
    "Agent",
    "EpsilonGreedy",
    "FixedArm",
    "GLMGreedy",
    "Greedy",
    "GreedyFirst",
    "OLSBandit",
    "Oracle",
    "Policy",
    "PriorFreeThompsonSampling",
    "SimulationResult",
    "ThompsonSampling",
    "Uniform",
    "__version__",
    "simulate",
]
