"""The paper's theorems as functions: regret bounds, success probabilities, and their constants."""

from greedyfirst.theory.constants import LeadEstimate, MarginEstimate, ProblemConstants
from greedyfirst.theory.eigenvalue_sample import EigenvalueSample
from greedyfirst.theory.failure_bound import SuccessInputs, failure_terms
from greedyfirst.theory.greedy_first_regret import (
    GreedyFirstRegret,
    greedy_first_regret,
    switch_probability,
)
from greedyfirst.theory.lead_choice import LeadChoice, choose_lead, success_inputs
from greedyfirst.theory.margin_rates import MarginRate, margin_rate
from greedyfirst.theory.norm_bounds import largest_norm
from greedyfirst.theory.regret_bounds import (
    RegretBound,
    RegretInputs,
    generalized_linear_regret,
    greedy_regret,
)
from greedyfirst.theory.success_probability import (
    SuccessProbability,
    greedy_first_success,
    greedy_first_success_limit,
    greedy_success,
    greedy_success_limit,
    simple_greedy_first_success,
    simple_greedy_success,
)

__all__ = [
    "EigenvalueSample",
    "GreedyFirstRegret",
    "LeadChoice",
    "LeadEstimate",
    "MarginEstimate",
    "MarginRate",
    "ProblemConstants",
    "RegretBound",
    "RegretInputs",
    "SuccessInputs",
    "SuccessProbability",
    "choose_lead",
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
    "simple_greedy_first_success",
    "simple_greedy_success",
    "success_inputs",
    "switch_probability",
]
