"""What the paper proves, as numbers: covariate diversity, regret bounds, success probabilities."""

from greedyfirst.theory.bounds.eigenvalue_sample import EigenvalueSample
from greedyfirst.theory.bounds.failure_bound import SuccessInputs, failure_terms
from greedyfirst.theory.bounds.greedy_first_regret import (
    GreedyFirstRegret,
    greedy_first_regret,
    switch_probability,
)
from greedyfirst.theory.bounds.lead_choice import LeadChoice, choose_lead, success_inputs
from greedyfirst.theory.bounds.margin_rates import MarginRate, margin_rate
from greedyfirst.theory.bounds.norm_bounds import largest_norm
from greedyfirst.theory.bounds.problem_constants import (
    LeadEstimate,
    MarginEstimate,
    ProblemConstants,
)
from greedyfirst.theory.bounds.regret_bounds import (
    RegretBound,
    RegretInputs,
    generalized_linear_regret,
    greedy_regret,
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
    "CovariateDiversity",
    "DiversityConstant",
    "EigenvalueSample",
    "GreedyFirstRegret",
    "LeadChoice",
    "LeadEstimate",
    "MarginEstimate",
    "MarginRate",
    "ProblemConstants",
    "RegretBound",
    "RegretInputs",
    "SamplingError",
    "SuccessInputs",
    "SuccessProbability",
    "choose_lead",
    "diversity_constant",
    "failure_terms",
    "generalized_linear_regret",
    "greedy_first_regret",
    "greedy_first_success",
    "greedy_first_success_limit",
    "greedy_regret",
    "greedy_success",
    "greedy_success_limit",
    "largest_norm",
    "margin_rate",
    "measure_diversity",
    "simple_greedy_first_success",
    "simple_greedy_success",
    "success_inputs",
    "switch_probability",
]
