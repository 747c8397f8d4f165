"""How an arm is chosen: one algorithm, one file, named as in the paper."""

from types import ModuleType

from greedyfirst.policies import (
    epsilon_greedy,
    fixed_arm,
    glm_greedy,
    glm_ucb,
    greedy,
    greedy_first,
    oful,
    ols_bandit,
    oracle,
    prior_free_thompson_sampling,
    thompson_sampling,
    uniform,
)
from greedyfirst.policies.epsilon_greedy import EpsilonGreedy
from greedyfirst.policies.fixed_arm import FixedArm
from greedyfirst.policies.glm_greedy import GLMGreedy
from greedyfirst.policies.glm_ucb import GLMUCB
from greedyfirst.policies.greedy import Greedy
from greedyfirst.policies.greedy_first import GreedyFirst
from greedyfirst.policies.oful import OFUL
from greedyfirst.policies.ols_bandit import OLSBandit
from greedyfirst.policies.oracle import Oracle
from greedyfirst.policies.policy import KERNELS, Policy
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

#: The policies' table: a policy joins everything by a row here.
POLICIES: dict[type[Policy], ModuleType] = {
    Greedy: greedy,
    GreedyFirst: greedy_first,
    OLSBandit: ols_bandit,
    OFUL: oful,
    ThompsonSampling: thompson_sampling,
    PriorFreeThompsonSampling: prior_free_thompson_sampling,
    EpsilonGreedy: epsilon_greedy,
    Uniform: uniform,
    FixedArm: fixed_arm,
    Oracle: oracle,
    GLMGreedy: glm_greedy,
    GLMUCB: glm_ucb,
}
KERNELS.update({policy.Record: module for policy, module in POLICIES.items()})
