"""Contextual bandits that explore only when the data says they must.

What is named here is imported when it is first asked for: ``greedyfirst.client`` alone needs
neither numba nor pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from greedyfirst.version import __version__

if TYPE_CHECKING:
    from greedyfirst.agent import Agent
    from greedyfirst.policies.epsilon_greedy import EpsilonGreedy
    from greedyfirst.policies.explore_then_exploit import ExploreThenExploit
    from greedyfirst.policies.fixed_arm import FixedArm
    from greedyfirst.policies.glm_greedy import GLMGreedy
    from greedyfirst.policies.glm_ucb import GLMUCB
    from greedyfirst.policies.greedy import Greedy
    from greedyfirst.policies.greedy_first import GreedyFirst
    from greedyfirst.policies.lin_ucb import LinUCB
    from greedyfirst.policies.oful import OFUL
    from greedyfirst.policies.ols_bandit import OLSBandit
    from greedyfirst.policies.oracle import Oracle
    from greedyfirst.policies.policy import Policy
    from greedyfirst.policies.prior_free_thompson_sampling import PriorFreeThompsonSampling
    from greedyfirst.policies.thompson_sampling import ThompsonSampling
    from greedyfirst.policies.uniform import Uniform
    from greedyfirst.simulation import SimulationResult, simulate
    from greedyfirst.tables import Categorical, Numeric, Schema, infer_schema

__all__ = [
    "GLMUCB",
    "OFUL",
    "Agent",
    "Categorical",
    "EpsilonGreedy",
    "ExploreThenExploit",
    "FixedArm",
    "GLMGreedy",
    "Greedy",
    "GreedyFirst",
    "LinUCB",
    "Numeric",
    "OLSBandit",
    "Oracle",
    "Policy",
    "PriorFreeThompsonSampling",
    "Schema",
    "SimulationResult",
    "ThompsonSampling",
    "Uniform",
    "__version__",
    "infer_schema",
    "simulate",
]

_HOMES = {
    "Agent": "agent",
    "Categorical": "tables",
    "Numeric": "tables",
    "Schema": "tables",
    "SimulationResult": "simulation",
    "infer_schema": "tables",
    "simulate": "simulation",
}


def __getattr__(name: str) -> Any:
    """What is named above, and every policy by its name."""
    if not name.startswith("_"):
        home = import_module(f"{__name__}.{_HOMES.get(name, 'policies')}")
        if name in home.__all__:
            return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
