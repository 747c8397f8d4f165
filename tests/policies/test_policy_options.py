"""Bad options: a ValueError that names the argument and shows its value."""

import re

import numpy as np
import pytest

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    FixedArm,
    Greedy,
    GreedyFirst,
    OLSBandit,
    PriorFreeThompsonSampling,
    ThompsonSampling,
)

NOT_NUMBERS = ["1", True, None, [1.0], {}, 1j, float("nan"), float("inf")]
NOT_POSITIVE = [0, 0.0, -1, -1e-9, *NOT_NUMBERS]
NOT_WHOLE = [1.0, 1.5, "1", True, None, float("nan"), [1]]
NOT_COUNTS = [-1, *NOT_WHOLE]
NOT_POSITIVE_COUNTS = [0, *NOT_COUNTS]
NOT_WARMUPS = ["", "Ridge", "zero", None, 0, True, ["none"]]
NOT_FLAGS = [0, 1, "yes", None]
NOT_PROBABILITIES = [0, 1, 1.5, -0.1, *NOT_NUMBERS]


def without(values, *allowed):
    return [value for value in values if not any(value is item for item in allowed)]


BAD = {
    (Greedy, "warmup"): NOT_WARMUPS,
    (Greedy, "initial_pulls"): NOT_COUNTS,
    (OLSBandit, "h"): NOT_POSITIVE,
    (OLSBandit, "q"): NOT_POSITIVE_COUNTS,
    (OLSBandit, "warmup"): NOT_WARMUPS,
    (OLSBandit, "initial_pulls"): NOT_COUNTS,
    (OLSBandit, "refresh"): ["", "never", None, True],
    (GreedyFirst, "warmup"): NOT_WARMUPS,
    (GreedyFirst, "initial_pulls"): NOT_COUNTS,
    (GreedyFirst, "t0"): without(NOT_POSITIVE_COUNTS, None),
    (GreedyFirst, "lambda0"): without(NOT_POSITIVE, None),
    (GreedyFirst, "fallback"): ["OLSBandit", OLSBandit, GreedyFirst(), 3],
    (GreedyFirst, "span"): ["", "all", 1],
    (GreedyFirst, "carry_over"): [
        "initial",
        "all",
        *without(NOT_FLAGS, None),
    ],  # no initial pulls to hand over
    (GreedyFirst, "on_alarm"): ["", "stop", True],
    (GreedyFirst, "lambda0_minimum"): [-1e-9, *NOT_NUMBERS],
    (GreedyFirst, "test_after"): without(NOT_POSITIVE_COUNTS, None),
    (GreedyFirst, "statistic"): ["", "largest_eigenvalue", True],
    (OFUL, "regularization"): NOT_POSITIVE,
    (OFUL, "delta"): NOT_PROBABILITIES,
    (OFUL, "sigma"): without(NOT_POSITIVE, None),
    (OFUL, "sigma_start"): NOT_POSITIVE,
    (PriorFreeThompsonSampling, "scale"): NOT_POSITIVE,
    (PriorFreeThompsonSampling, "delta"): NOT_PROBABILITIES,
    (PriorFreeThompsonSampling, "sigma"): without(NOT_POSITIVE, None),
    (PriorFreeThompsonSampling, "sigma_start"): NOT_POSITIVE,
    (ThompsonSampling, "sigma"): without(NOT_POSITIVE, None),
    (ThompsonSampling, "sigma_start"): NOT_POSITIVE,
    (EpsilonGreedy, "epsilon"): [-0.1, 1.1, *NOT_NUMBERS],
    (EpsilonGreedy, "warmup"): NOT_WARMUPS,
    (EpsilonGreedy, "initial_pulls"): NOT_COUNTS,
    (FixedArm, "arm"): NOT_COUNTS,
}


@pytest.mark.parametrize(
    ("policy", "option", "value"),
    [
        pytest.param(policy, option, value, id=f"{policy.__name__}-{option}-{value!r:.20}")
        for (policy, option), values in BAD.items()
        for value in values
    ],
)
def test_a_bad_option_is_refused_by_name_and_value(policy, option, value):
    with pytest.raises(ValueError, match=rf"^{option} must be ") as raised:
        policy(**{option: value})
    assert repr(value)[:60] in str(raised.value)


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        ("prior_mean", "0", "'0'"),
        ("prior_mean", None, "None"),
        ("prior_mean", True, "True"),
        ("prior_mean", float("nan"), "nan"),
        ("prior_mean", [0.0, float("inf")], "inf"),
        ("prior_mean", np.zeros((2, 2)), "0."),
        ("prior_mean", [[1.0], [1.0, 2.0]], "2.0"),
        ("prior_mean", [1.0, 2.0, 3.0], "(3,)"),
        ("prior_covariance", "1", "'1'"),
        ("prior_covariance", None, "None"),
        ("prior_covariance", float("nan"), "nan"),
        ("prior_covariance", 0.0, "0.0"),
        ("prior_covariance", -1.0, "-1.0"),
        ("prior_covariance", [1.0, 0.0], "0.0"),
        ("prior_covariance", [1.0, 2.0, 3.0], "(3,)"),
        ("prior_covariance", [[1.0, 0.5], [0.4, 1.0]], "0.4"),
        ("prior_covariance", [[1.0, 2.0], [2.0, 1.0]], "2.0"),
        ("prior_covariance", [[1.0], [1.0, 2.0]], "2.0"),
        ("prior_covariance", np.ones((1, 1, 1)), "1."),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_a_bad_prior_is_refused_by_name_and_value(option, value, shown):
    """At the latest when it meets a problem's size, here two features."""
    with pytest.raises(ValueError, match=rf"^{option} must be .*{re.escape(shown)}"):
        Agent(ThompsonSampling(**{option: value}), n_arms=2, n_features=2)


@pytest.mark.parametrize("policy", [Greedy, GreedyFirst, OLSBandit, ThompsonSampling])
def test_options_are_keyword_only_and_frozen(policy):
    with pytest.raises(TypeError):
        policy("ridge")
    with pytest.raises(TypeError):
        policy(unknown=1)
    made = policy()
    with pytest.raises(AttributeError):
        made.warmup = "pinv"
