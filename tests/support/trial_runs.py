"""Runs that every policy is put through: the same draw one at a time, in batches and compiled."""

import numpy as np

from greedyfirst import Agent
from greedyfirst.compiling.calls import run
from greedyfirst.policies.loops import loop_for, new_state
from greedyfirst.simulation.episode import play

N_ARMS, N_FEATURES = 3, 4
HORIZON = 150
SEED = 11
BATCH = 7


def draw_trial(horizon=HORIZON, seed=5):
    """Contexts and rewards: an intercept, two normals, and a column that is 0 for 20 rounds."""
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([np.ones(horizon), rng.normal(size=(horizon, N_FEATURES - 1))])
    contexts[:20, -1] = 0.0
    parameters = rng.normal(size=(N_ARMS, N_FEATURES))
    rewards = contexts @ parameters.T + 0.3 * rng.normal(size=(horizon, N_ARMS))
    return contexts, rewards


def suited(policy, rewards):
    """The rewards as a policy can learn from them: signs for 0 and 1, sizes for counts."""
    link = policy.reward_link().name
    if link in ("logistic", "probit"):
        return (rewards > 0).astype(float)
    return np.floor(np.abs(rewards)) if link == "poisson" else rewards


def new_agent(policy, seed=SEED):
    return Agent(policy, n_arms=N_ARMS, n_features=N_FEATURES, seed=seed)


def play_one_by_one(agent, contexts, rewards):
    """The arms chosen when each reward arrives before the next decision."""
    arms, rewards = [], suited(agent.policy, rewards)
    for context, row in zip(contexts, rewards, strict=True):
        arms.append(agent.choose(context))
        agent.update(context, arms[-1], float(row[arms[-1]]))
    return arms


def play_late(agent, contexts, rewards):
    """As :func:`play_in_batches`, but one call per decision and per reward."""
    arms, rewards = [], suited(agent.policy, rewards)
    for start in range(0, len(contexts), BATCH):
        rows = range(start, min(start + BATCH, len(contexts)))
        arms += [agent.choose(contexts[row]) for row in rows]
        for row in rows:
            agent.update(contexts[row], arms[row], float(rewards[row, arms[row]]))
    return arms


def play_in_batches(agent, contexts, rewards):
    """The arms chosen when decisions and rewards come in batches."""
    arms, rewards = [], suited(agent.policy, rewards)
    for start in range(0, len(contexts), BATCH):
        batch = contexts[start : start + BATCH]
        chosen = agent.choose_many(batch)
        paid = rewards[np.arange(start, start + len(batch)), chosen]
        agent.update_many(batch, chosen, paid)
        arms += chosen.tolist()
    return arms


def play_compiled(policy, contexts, rewards, seed=SEED):
    """The arms of ``simulate``'s compiled loop: an arm's regret is its number, which tells it."""
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
    assert arms.tolist() == np.diff(curve, prepend=0.0).tolist()
    return arms.tolist(), state
