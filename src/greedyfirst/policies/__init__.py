"""How an arm is chosen: one algorithm, one file, named as in the paper."""

from greedyfirst.policies.epsilon_greedy import EpsilonGreedy
from greedyfirst.policies.fixed_arm import FixedArm
from greedyfirst.policies.glm_greedy import GLMGreedy
from greedyfirst.policies.glm_ucb import GLMUCB
from greedyfirst.policies.greedy import Greedy
from greedyfirst.policies.greedy_first import GreedyFirst
from greedyfirst.policies.oful import OFUL
from greedyfirst.policies.ols_bandit import OLSBandit
from greedyfirst.policies.oracle import Oracle
from greedyfirst.policies.policy import POLICIES, Policy
from greedyfirst.policies.prior_free_thompson_sampling import PriorFreeThompsonSampling
from greedyfirst.policies.thompson_sampling import ThompsonSampling
from greedyfirst.policies.uniform import Uniform

__all__ = [
    "GLMUCB",
    "OFUL",
    "POLICIES",
    "EpsilonGreedy",
    "FixedArm",
    "GLMGreedy",
    "Greedy",
    "GreedyFirst",
    "OLSBandit",
    "Oracle",
    "Policy",
    "PriorFreeThompsonSampling",
    "ThompsonSampling",
    "Uniform",
]
