"""Rows from before the first decision count as first pulls of their arms."""

import numpy as np
import pytest

from greedyfirst import (
    GLMUCB,
    Agent,
    EpsilonGreedy,
    ExploreThenExploit,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
)

PULLS = 3
POLICIES = [
    Greedy(initial_pulls=PULLS),
    Greedy(initial_pulls=PULLS, warmup="pinv"),
    EpsilonGreedy(epsilon=0.0, initial_pulls=PULLS),
    ExploreThenExploit(initial_pulls=PULLS),
    GLMGreedy(initial_pulls=PULLS),
    GLMUCB(initial_pulls=PULLS),
    GreedyFirst(initial_pulls=PULLS),
    GreedyFirst(
        warmup="ridge", initial_pulls=PULLS, t0=100, lambda0=1e-9, fallback=OLSBandit(h=1, q=1)
    ),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)


def rows(arms, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(len(arms), 2)), arms, rng.integers(2, size=len(arms)).astype(float)


def first_forced(agent, n=12):
    """The arms of the decisions that had to take theirs."""
    taken = []
    for context in np.random.default_rng(1).normal(size=(n, 2)):
        arm = agent.choose(context)
        if agent.forced:
            taken.append(arm)
        agent.update(context, arm, 1.0)
    return taken


def new(policy):
    return Agent(policy, n_arms=3, n_features=2, seed=0)


@each_policy
def test_only_the_missing_pulls_are_made(policy):
    """Of arm 0 there are five rows, of arm 1 two, of arm 2 none: 0, 1 and 3 are missing."""
    history = rows([0, 0, 1, 0, 0, 1, 0])
    at_once, one_by_one = new(policy), new(policy)
    at_once.update_many(*history)
    for row in zip(*history, strict=True):
        one_by_one.update(*row)
    for agent in (at_once, one_by_one):
        assert first_forced(agent) == [1, 2, 2, 2]


@each_policy
def test_enough_history_leaves_none(policy):
    agent = new(policy)
    agent.update_many(*rows([0, 1, 2] * PULLS))
    assert first_forced(agent) == []


@each_policy
def test_without_history_all_are_made_in_turns(policy):
    assert first_forced(new(policy)) == [0, 1, 2] * PULLS
    told = new(policy)
    for row in zip(*rows([0, 1, 2] * PULLS), strict=True):
        told.update(*row, step=0)  # not decided here, and said not to count
    assert first_forced(told) == [0, 1, 2] * PULLS


def test_rows_after_the_first_decision_change_no_plan():
    agent = new(Greedy(initial_pulls=PULLS))
    agent.choose([1.0, 0.0])
    agent.update([1.0, 0.0], 0, 1.0)
    agent.update_many(*rows([0, 1, 2] * PULLS))
    assert first_forced(agent) == [1, 2, 0, 1, 2, 0, 1, 2]


def test_forced_samples_of_ols_bandit_are_still_made():
    """History is chosen by somebody: its forced-sample estimates may not learn from it."""
    agent = new(OLSBandit(initial_pulls=PULLS))
    agent.update_many(*rows([0, 1, 2] * PULLS))
    assert first_forced(agent)[: 3 * PULLS] == [0, 1, 2] * PULLS
    handed = GreedyFirst(
        warmup="ridge",
        initial_pulls=PULLS,
        t0=100,
        carry_over="initial",
        fallback=OLSBandit(initial_pulls=PULLS),
    )
    agent = new(handed)
    agent.update_many(*rows([0, 1, 2] * PULLS))
    assert first_forced(agent) == [0, 1, 2] * PULLS


def test_the_plan_is_kept_in_files_and_arms_join_behind_it(tmp_path):
    agent = new(Greedy(initial_pulls=PULLS))
    agent.update_many(*rows([0, 0, 1, 0, 0, 1, 0]))
    agent.add_arm("new", initial_pulls=2)
    agent.save(tmp_path / "agent")
    for each in (agent, Agent.load(tmp_path / "agent")):
        assert first_forced(each) == [1, 2, 2, 2, 3, 3]


def test_the_arms_of_history_are_told_by_estimates_at_once():
    """Two arms that pay 1 and 2 for x = 1: after history the better one is chosen first."""
    agent = Agent(Greedy(warmup="pinv", initial_pulls=2), n_arms=2, n_features=1, seed=0)
    agent.update_many(np.ones((4, 1)), [0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0])
    assert [agent.choose([1.0]) for _ in range(4)] == [1, 1, 1, 1]
