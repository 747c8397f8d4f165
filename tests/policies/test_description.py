"""Policies as plain data: every policy's examples survive JSON."""

import json

import numpy as np
import pytest

from greedyfirst import OFUL, Agent, Greedy, GreedyFirst, OLSBandit, ThompsonSampling
from greedyfirst.policies.description import describe, from_description
from greedyfirst.testing.examples import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip_through_json(name):
    policy = EXAMPLES[name]
    again = from_description(json.loads(json.dumps(describe(policy))))
    assert again == policy
    assert type(again) is type(policy)
    assert hash(again) == hash(policy)


@pytest.mark.parametrize(
    "policy",
    [
        OLSBandit(h=np.float32(0.5), q=np.int64(2)),
        OFUL(sigma=np.float64(0.5)),
        GreedyFirst(t0=np.int32(5), carry_over=np.bool_(True)),
        ThompsonSampling(prior_mean=np.ones(2), prior_covariance=np.eye(2)),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_numpy_numbers_are_plain_data_as_well(policy, tmp_path):
    assert from_description(json.loads(json.dumps(describe(policy)))) == policy
    Agent(policy, n_arms=2, n_features=2).save(tmp_path / "agent")
    assert Agent.load(tmp_path / "agent").policy == policy


def test_policies_differ_by_their_options():
    examples = list(EXAMPLES.values())
    assert len(set(examples)) == len(examples)
    assert Greedy() != Greedy(warmup="pinv")


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"policy": "Greedy"},
        {"policy": "Nobody", "options": {}},
        {"policy": "Greedy", "options": {"unknown": 1}},
        {"policy": "Greedy", "options": {"warmup": "cold"}},
        {"policy": "Greedy", "options": 3},
        {"policy": ["Greedy"], "options": {}},
        "Greedy",
        None,
    ],
    ids=repr,
)
def test_what_is_no_description_is_refused(bad):
    with pytest.raises(ValueError, match=r"policy|warmup"):
        from_description(bad)
