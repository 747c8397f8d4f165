"""Checks that every policy passes: each with its own examples, and as Greedy-First's fallback.

``pytest tests/test_every_policy.py -k "Greedy-"`` runs those of one policy. The checks are those of
``greedyfirst.testing``; statistical ones have fixed seeds and a false-alarm rate of 1e-6 each.
"""

import fcntl
import json

import numpy as np
import pytest

from greedyfirst.policies.greedy_first import STATISTICS
from greedyfirst.simulation.bench import Instances
from greedyfirst.testing.checks import IN_PROCESS, Trial, require_uncompiled
from greedyfirst.testing.examples import EXAMPLES, KINDS, unvaried_options
from greedyfirst.testing.trial_runs import (
    N_ARMS,
    N_FEATURES,
    draw_trial,
    new_agent,
    play_one_by_one,
    suited,
)
from greedyfirst.testing.uncompiled import uncompiled_arms

LISTED = [kind.examples()[0] for kind in KINDS.values()]


@pytest.fixture(scope="session")
def arms_uncompiled(request, tmp_path_factory, worker_id):
    """The arms of all policies of this session by name, from one process for all workers."""
    wanted = {
        item.callspec.params["name"] for item in request.session.items if _is_uncompiled(item)
    }
    names = [name for name in EXAMPLES if name in wanted]
    root = tmp_path_factory.getbasetemp()
    root = root if worker_id == "master" else root.parent
    kept = root / "arms_uncompiled.json"
    with open(root / "arms_uncompiled.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            policies = [EXAMPLES[name] for name in names]
            arms = uncompiled_arms(policies, n_arms=N_ARMS, n_features=N_FEATURES)
            kept.write_text(json.dumps(arms))
    return dict(zip(names, json.loads(kept.read_text()), strict=True))


def _is_uncompiled(item):
    return getattr(item, "originalname", "") == "test_uncompiled_runs_choose_the_same_arms"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_option_is_varied(kind):
    lone = {"statistic"} if len(STATISTICS) == 1 else set()
    assert set(unvaried_options(kind)) <= lone


def test_the_bench_of_simulate_sums_the_regrets_of_the_same_arms():
    """``simulate`` hands each instance's decision seed and draw to that loop unchanged."""
    contexts, rewards = draw_trial(60)
    regrets = rewards.max(axis=1, keepdims=True) - rewards

    class Given:
        n_arms, n_features = N_ARMS, N_FEATURES

        def __init__(self, rewards):
            self.rewards = rewards

        def draw(self, rng, horizon):
            return contexts, self.rewards, regrets

    source = np.random.SeedSequence(3, spawn_key=(2,))
    seed = int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))
    for link in {policy.reward_link() for policy in LISTED}:
        learners = [policy for policy in LISTED if policy.reward_link() is link]
        problem = Given(suited(learners[0], rewards))
        task = Instances(
            problem=problem,
            policies=tuple(learners),
            seed=3,
            horizon=60,
            grid=np.arange(1, 61),
            keeps_arms=False,
        )
        played = task.prepare()(2)
        for place, policy in enumerate(learners):
            arms = play_one_by_one(new_agent(policy, seed), contexts, rewards)
            expected = np.cumsum(regrets[np.arange(60), arms])
            assert np.array_equal(played["curves"][place], expected)
            assert played["final"][place] == expected[-1]


@pytest.mark.parametrize("check", IN_PROCESS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_policy_passes(name, check):
    IN_PROCESS[check](Trial(policy=EXAMPLES[name]))


@pytest.mark.parametrize("name", EXAMPLES)
def test_uncompiled_runs_choose_the_same_arms(name, arms_uncompiled):
    require_uncompiled(Trial(policy=EXAMPLES[name]), arms_uncompiled[name])
