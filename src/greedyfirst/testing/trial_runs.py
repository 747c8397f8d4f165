"""Runs that every policy is put through: the same draw one at a time, in batches and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyfirst.agent import Agent
from greedyfirst.compiling.calls import run
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.policies.policy import Policy
from greedyfirst.simulation.episode import play
from greedyfirst.validation import FloatArray

N_ARMS, N_FEATURES = 3, 4
HORIZON = 150
SEED = 11
BATCH = 7


def draw_trial(
    horizon: int = HORIZON, seed: int = 5, *, n_arms: int = N_ARMS, n_features: int = N_FEATURES
) -> tuple[FloatArray, FloatArray]:
    """Contexts and rewards: an intercept, then normals, the last of which is 0 for 20 rounds."""
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([np.ones(horizon), rng.normal(size=(horizon, n_features - 1))])
    contexts[:20, -1] = 0.0
    parameters = rng.normal(size=(n_arms, n_features))
    rewards = contexts @ parameters.T + 0.3 * rng.normal(size=(horizon, n_arms))
    return contexts, rewards


def suited(policy: Policy, rewards: FloatArray) -> FloatArray:
    """The rewards as a policy can learn from them: signs for 0 and 1, sizes for counts."""
    link = policy.reward_link().name
    if link in ("logistic", "probit"):
        return (rewards > 0).astype(float)
    counts: FloatArray = np.floor(np.abs(rewards))
    return counts if link == "poisson" else rewards


def new_agent(
    policy: Policy, seed: int = SEED, *, n_arms: int = N_ARMS, n_features: int = N_FEATURES
) -> Agent:
    """An agent of the policy before its first decision."""
    return Agent(policy, n_arms=n_arms, n_features=n_features, seed=seed)


def play_one_by_one(agent: Agent, contexts: FloatArray, rewards: FloatArray) -> list[int]:
    """The arms chosen when each reward arrives before the next decision."""
    arms: list[int] = []
    rewards = suited(agent.policy, rewards)
    for context, row in zip(contexts, rewards, strict=True):
        arms.append(agent.choose(context))
        agent.update(context, arms[-1], float(row[arms[-1]]))
    return arms


def play_late(agent: Agent, contexts: FloatArray, rewards: FloatArray) -> list[int]:
    """As :func:`play_in_batches`, but one call per decision and per reward."""
    arms: list[int] = []
    rewards = suited(agent.policy, rewards)
    for start in range(0, len(contexts), BATCH):
        rows = range(start, min(start + BATCH, len(contexts)))
        arms += [agent.choose(contexts[row]) for row in rows]
        for row in rows:
            agent.update(contexts[row], arms[row], float(rewards[row, arms[row]]))
    return arms


def play_in_batches(agent: Agent, contexts: FloatArray, rewards: FloatArray) -> list[int]:
    """The arms chosen when decisions and rewards come in batches."""
    arms: list[int] = []
    rewards = suited(agent.policy, rewards)
    for start in range(0, len(contexts), BATCH):
        batch = contexts[start : start + BATCH]
        chosen = agent.choose_many(batch)
        paid = rewards[np.arange(start, start + len(batch)), chosen]
        agent.update_many(batch, chosen, paid)
        arms += chosen.tolist()
    return arms


def play_compiled(
    policy: Policy, contexts: FloatArray, rewards: FloatArray, seed: int = SEED
) -> tuple[list[int], Any]:
    """The arms of ``simulate``'s loop, and the state that it ends with.

    An arm's regret is its number, so that the curve tells the arms too.
    """
    rewards = suited(policy, rewards)
    horizon, n_features = contexts.shape
    n_arms = rewards.shape[1]
    options = policy.options(n_arms, n_features)
    _, state = new_state(options, n_arms, n_features, horizon)
    regrets = np.tile(np.arange(n_arms, dtype=float), (horizon, 1))
    curve = np.zeros(horizon)
    grid = np.arange(1, horizon + 1)
    loop = loop_for(play, policy, options, state)
    tables = contexts, rewards, regrets, np.ones(n_arms)
    arms = np.full(horizon, -1, np.int16)
    run(loop, options, state, seed, *tables, grid, curve, np.zeros(n_arms), arms)
    if arms.tolist() != np.diff(curve, prepend=0.0).tolist():
        raise AssertionError("the curve of simulate's loop is not that of the arms that it played")
    return arms.tolist(), state
