"""What logged decisions prove: the value of a policy on decisions that another one made."""

from greedyfirst.evaluation.adaptive_weights import ArmValue, arm_values
from greedyfirst.evaluation.control import Comparison, in_control
from greedyfirst.evaluation.estimators import ESTIMATORS, Estimate
from greedyfirst.evaluation.evaluate import Evaluation, evaluate
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.evaluation.replay_log import LogReplay, replay_log
from greedyfirst.evaluation.support import Support
from greedyfirst.evaluation.targets import always, shares_of

__all__ = [
    "ESTIMATORS",
    "ArmValue",
    "Comparison",
    "Estimate",
    "Evaluation",
    "LogReplay",
    "LoggedData",
    "Support",
    "always",
    "arm_values",
    "evaluate",
    "in_control",
    "replay_log",
    "shares_of",
]
