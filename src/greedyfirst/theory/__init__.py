"""What the paper proves, as numbers: covariate diversity, regret bounds, success probabilities."""

from greedyfirst.theory.bounds.arm_by_arm_inputs import ArmByArmInputs
from greedyfirst.theory.bounds.arm_by_arm_means import (
    MeanRegret,
    arm_by_arm_mean_regret,
    worst_mean_regret,
)
from greedyfirst.theory.bounds.arm_by_arm_regret import ArmByArmRegret, arm_by_arm_regret
from greedyfirst.theory.bounds.arm_by_arm_rule import ArmByArmRule, round_of_return
from greedyfirst.theory.bounds.diversity_lemmas import (
    diversity_from_symmetry,
    half_space_probability,
    lacking_diversity_probability,
)
from greedyfirst.theory.bounds.eigenvalue_sample import EigenvalueSample
from greedyfirst.theory.bounds.estimation_lemmas import (
    estimate_failure_probability,
    generalized_error_bound,
    generalized_estimate_failure_probability,
)
from greedyfirst.theory.bounds.failure_bound import SuccessInputs, failure_terms
from greedyfirst.theory.bounds.greedy_first_regret import (
    GreedyFirstRegret,
    greedy_first_regret,
    switch_probability,
)
from greedyfirst.theory.bounds.lead_choice import LeadChoice, choose_lead, success_inputs
from greedyfirst.theory.bounds.margin_rates import MarginRate, margin_rate
from greedyfirst.theory.bounds.norm_bounds import largest_norm
from greedyfirst.theory.bounds.ols_bandit_regret import (
    OLSBanditInputs,
    OLSBanditRegret,
    ols_bandit_regret,
)
from greedyfirst.theory.bounds.poorly_known_rounds import poorly_known_rounds
from greedyfirst.theory.bounds.problem_constants import (
    LeadEstimate,
    MarginEstimate,
    ProblemConstants,
)
from greedyfirst.theory.bounds.raise_probability import (
    raise_probability,
    raise_probability_after_pulls,
    share_slack,
)
from greedyfirst.theory.bounds.regret_bounds import (
    RegretBound,
    generalized_linear_regret,
    greedy_regret,
)
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.theory.bounds.round_regret import generalized_round_regret, greedy_round_regret
from greedyfirst.theory.bounds.success_lemmas import (
    early_estimate_failure,
    initial_estimate_failure,
    later_diversity_failure,
    later_estimate_failure,
)
from greedyfirst.theory.bounds.success_probability import (
    SuccessProbability,
    greedy_first_success,
    greedy_first_success_limit,
    greedy_success,
    greedy_success_limit,
    simple_greedy_first_success,
    simple_greedy_success,
)
from greedyfirst.theory.diversity.closed_forms import DiversityConstant, diversity_constant
from greedyfirst.theory.diversity.covariate_diversity import measure_diversity
from greedyfirst.theory.diversity.result import CovariateDiversity
from greedyfirst.theory.diversity.sampling_error import SamplingError

__all__ = [
    "ArmByArmInputs",
    "ArmByArmRegret",
    "ArmByArmRule",
    "CovariateDiversity",
    "DiversityConstant",
    "EigenvalueSample",
    "GreedyFirstRegret",
    "LeadChoice",
    "LeadEstimate",
    "MarginEstimate",
    "MarginRate",
    "MeanRegret",
    "OLSBanditInputs",
    "OLSBanditRegret",
    "ProblemConstants",
    "RegretBound",
    "RegretInputs",
    "SamplingError",
    "SuccessInputs",
    "SuccessProbability",
    "arm_by_arm_mean_regret",
    "arm_by_arm_regret",
    "choose_lead",
    "diversity_constant",
    "diversity_from_symmetry",
    "early_estimate_failure",
    "estimate_failure_probability",
    "failure_terms",
    "generalized_error_bound",
    "generalized_estimate_failure_probability",
    "generalized_linear_regret",
    "generalized_round_regret",
    "greedy_first_regret",
    "greedy_first_success",
    "greedy_first_success_limit",
    "greedy_regret",
    "greedy_round_regret",
    "greedy_success",
    "greedy_success_limit",
    "half_space_probability",
    "initial_estimate_failure",
    "lacking_diversity_probability",
    "largest_norm",
    "later_diversity_failure",
    "later_estimate_failure",
    "margin_rate",
    "measure_diversity",
    "ols_bandit_regret",
    "poorly_known_rounds",
    "raise_probability",
    "raise_probability_after_pulls",
    "round_of_return",
    "share_slack",
    "simple_greedy_first_success",
    "simple_greedy_success",
    "success_inputs",
    "switch_probability",
    "worst_mean_regret",
]
