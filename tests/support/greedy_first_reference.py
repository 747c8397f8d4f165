"""Algorithms 3 and 5 of the paper in plain NumPy, testing every arm in every round."""

from typing import NamedTuple

import numpy as np


class Switch(NamedTuple):
    switched_at: int  # 0 for never
    lambda0: float  # in force, 0 if it was not estimated
    tripping: list  # arms that may be blamed
    eigenvalues: np.ndarray  # (n_arms,) at the switch
    grams: np.ndarray  # (n_arms, d, d) at the switch, inside the span


def cumulative_grams(contexts, arms, n_arms):
    outer = np.einsum("ti,tj->tij", contexts, contexts)
    mine = arms[:, None] == np.arange(n_arms)
    return np.cumsum(outer[:, None] * mine[:, :, None, None], axis=0)


def inside_span(contexts, arms, n_arms, *, span):
    """Per round and arm: the Gram matrix in coordinates of the span, one list entry per round."""
    grams = cumulative_grams(contexts, arms, n_arms)
    if span == "full":
        return list(grams)
    projected = []
    for t in range(1, len(contexts) + 1):
        _, singular, directions = np.linalg.svd(contexts[:t], full_matrices=False)
        basis = directions[singular > 1e-9 * singular[0]]
        projected.append(basis @ grams[t - 1] @ basis.T)
    return projected


def smallest_eigenvalues(contexts, arms, n_arms, *, span):
    """λ_min of every arm's Gram matrix after each round (T, n_arms), 0 where it is singular."""
    result = np.zeros((len(contexts), n_arms))
    for t, grams in enumerate(inside_span(contexts, arms, n_arms, span=span)):
        values = np.linalg.eigvalsh(grams)
        singular = values[:, 0] <= 1e-13 * values[:, -1]
        result[t] = np.where(singular, 0.0, values[:, 0])
    return result


def switch_by_testing_every_round(
    contexts, arms, n_arms, *, t0, lambda0, lambda0_minimum, test_after, span
):
    """Algorithm 3 with ``lambda0``, Algorithm 5 without it."""
    eigenvalues = smallest_eigenvalues(contexts, arms, n_arms, span=span)
    grams = cumulative_grams(contexts, arms, n_arms)
    for t in range(1, len(contexts) + 1):
        now = eigenvalues[t - 1]
        if lambda0 is None and t == t0:
            estimate = now.min() / (2 * t0)
            if estimate == 0 or estimate < lambda0_minimum:
                return Switch(t, 0.0, np.flatnonzero(now == now.min()).tolist(), now, grams[t - 1])
            lambda0 = estimate
        if lambda0 is not None and t > test_after and now.min() < lambda0 * t / 4:
            tripping = np.flatnonzero(now < lambda0 * t / 4).tolist()
            return Switch(t, lambda0, tripping, now, grams[t - 1])
    return Switch(0, lambda0 or 0.0, [], eigenvalues[-1], grams[-1])
