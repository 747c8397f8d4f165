"""Logs whose truth is known: a softmax policy in contexts of normal features."""

import numpy as np

from greedyfirst.evaluation import LoggedData

K, D = 3, 4
EFFECTS = 0.5 * np.random.default_rng(1).normal(size=(K, D))
HABITS = 0.5 * np.random.default_rng(2).normal(size=(K, D))
NAMES = ("a", "b", "c")


def contexts(rng, n):
    return np.c_[np.ones(n), rng.normal(size=(n, D - 1))]


def logging_probabilities(rows):
    scores = np.exp(rows @ HABITS.T)
    return 0.1 / K + 0.9 * scores / scores.sum(axis=1, keepdims=True)


def target_probabilities(rows):
    """Nearly always the best arm."""
    return 0.05 / K + 0.95 * np.eye(K)[(rows @ EFFECTS.T).argmax(axis=1)]


def drawn(rng, probabilities):
    return (probabilities.cumsum(axis=1) > rng.random((len(probabilities), 1))).argmax(axis=1)


def make_log(seed, n, *, probabilities=logging_probabilities):
    rng = np.random.default_rng(seed)
    rows = contexts(rng, n)
    chances = probabilities(rows)
    arms = drawn(rng, chances)
    rewards = (rows * EFFECTS[arms]).sum(axis=1) + rng.normal(size=n)
    own = chances[np.arange(n), arms]
    return LoggedData(contexts=rows, arms=arms, rewards=rewards, propensities=own, arm_names=NAMES)


def true_value(policy=target_probabilities, n=2_000_000):
    rows = contexts(np.random.default_rng(99), n)
    return float((policy(rows) * (rows @ EFFECTS.T)).sum(axis=1).mean())
