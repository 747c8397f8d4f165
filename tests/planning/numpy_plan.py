"""A plan by brute force: greedy least squares and a fixed trial in plain NumPy, trial by trial."""

from statistics import NormalDist

import numpy as np
from scipy import linalg, stats

from greedyfirst import Agent, GreedyFirst

COSTS = ["not_best", "worse_on_average", "regret", "starving"]
NAMES = ["width", "covered", "error", *COSTS, "right_arm", "right_person"]


def least_squares(rows, rewards):
    return np.linalg.lstsq(rows, rewards, rcond=None)[0]


def play_greedy(contexts, rewards, first_pulls, rng):
    """Arms of greedy least squares after first pulls in turns; ties at random."""
    n_arms = rewards.shape[1]
    arms, estimates = [], np.zeros((n_arms, contexts.shape[1]))
    for t, x in enumerate(contexts):
        values = estimates @ x
        arm = t % n_arms
        if t >= first_pulls * n_arms:
            arm = rng.choice(np.flatnonzero(values == values.max()))
        arms.append(arm)
        own = np.array(arms) == arm
        estimates[arm] = least_squares(contexts[: t + 1][own], rewards[: t + 1, arm][own])
    return np.array(arms)


def interval(contexts, arms, seen, mean, a, b):
    """Width, estimate of the difference a - b at the mean, from one regression per arm."""
    d, squares, freedom, found = contexts.shape[1], 0.0, 0, {}
    for arm in np.unique(arms):
        rows, rewards = contexts[arms == arm], seen[arms == arm]
        if np.linalg.matrix_rank(rows) < d:
            continue
        beta = least_squares(rows, rewards)
        squares += ((rewards - rows @ beta) ** 2).sum()
        freedom += len(rows) - d
        found[arm] = mean @ beta, mean @ np.linalg.inv(rows.T @ rows) @ mean
    if a not in found or b not in found:
        return np.inf, np.inf
    half = stats.t.ppf(0.975, freedom) * np.sqrt(squares / freedom * (found[a][1] + found[b][1]))
    return 2 * half, found[a][0] - found[b][0]


def starves(contexts, arms, seen, k):
    """Whether an arm holds less than 0.6/K of what is known: (G_i + κQ) against (ΣG + κQ).

    Beside an intercept Q is of the features' means and variances when the prior was learned last;
    the penalty κ, and when that was, are Greedy-First's own.
    """
    agent = Agent(GreedyFirst(), n_arms=k, n_features=contexts.shape[1], seed=0)
    agent.update_many(contexts, arms, seen)
    model = agent.state.greedy.model
    known = contexts[: model.learned_at]
    prior = model.penalty * (np.outer(known.mean(0), known.mean(0)) + np.diag(known.var(0)))
    total = contexts.T @ contexts + prior
    shares = [
        linalg.eigh(rows.T @ rows + prior, total, eigvals_only=True)[0]
        for rows in (contexts[arms == arm] for arm in range(k))
    ]
    return min(shares) < 0.6 / k


def measure(contexts, rewards, expected, arms, beta, mean, new):
    """The numbers of one trial in the order of NAMES."""
    n, k = rewards.shape
    steps, outcomes = np.arange(n), beta @ mean
    a, b = np.argsort(-outcomes)[:2]
    width, estimate = interval(contexts, arms, rewards[steps, arms], mean, a, b)
    error = abs(estimate - (outcomes[a] - outcomes[b]))
    lost = expected.max(axis=1) - expected[steps, arms]
    estimates = np.zeros_like(beta)
    for arm in range(k):
        rows = contexts[arms == arm]
        if len(rows):
            estimates[arm] = least_squares(rows, rewards[arms == arm, arm])
    guessed, best = (new @ estimates.T).argmax(axis=1), (new @ beta.T).argmax(axis=1)
    return (
        width,
        error <= width / 2 if np.isfinite(width) else np.nan,
        error,
        (lost > 0).mean(),
        (outcomes[arms] < outcomes[a]).mean(),
        lost.sum(),
        starves(contexts, arms, rewards[steps, arms], k),
        (estimates @ mean).argmax() == a,
        (guessed == best).mean(),
    )


def brute_force(draw_contexts, draw_beta, mean, *, people, noise, first_pulls, trials, seed):
    """Measures (designs, trials, names) of greedy and of a fixed trial."""
    rng = np.random.default_rng(seed)
    greedy, fixed = [], []
    for _ in range(trials):
        beta = draw_beta(rng)
        contexts, new = draw_contexts(rng, people), draw_contexts(rng, 200)
        expected = contexts @ beta.T
        rewards = expected + noise * rng.normal(size=expected.shape)
        told = (beta, mean, new)
        arms = play_greedy(contexts, rewards, first_pulls, rng)
        greedy.append(measure(contexts, rewards, expected, arms, *told))
        equal = rng.permutation(np.arange(people) % len(beta))
        fixed.append(measure(contexts, rewards, expected, equal, *told))
    return np.array([greedy, fixed], float)


def quantile(values, share):
    """A quantile and its standard error by the bootstrap."""
    rng = np.random.default_rng(0)
    again = np.quantile(rng.choice(values, (400, len(values))), share, axis=1, method="lower")
    spread = again.std() if np.isfinite(again).all() else np.inf
    return np.quantile(values, share, method="lower"), spread


def summary(measured):
    """Numbers and their standard errors, by the names of a plan's frame."""
    column = dict(zip(NAMES, measured.T, strict=True))
    found = {
        "width": quantile(column["width"], 0.5),
        "width_80": quantile(column["width"], 0.8),
        "error_95": quantile(column["error"], 0.95),
    }
    for name, source in {"coverage": "covered", **{n: n for n in NAMES[3:]}}.items():
        values = column[source][~np.isnan(column[source])]
        found[name] = values.mean(), values.std() / np.sqrt(len(values))
    return found


def chance_of_a_false_alarm(sigmas, comparisons):
    """That any of so many agreeing numbers differs by more than this."""
    return 1 - (1 - 2 * NormalDist().cdf(-sigmas)) ** comparisons
