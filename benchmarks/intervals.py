"""Coverage of intervals on data that policies chose themselves: at all times, and naive ones.

    python benchmarks/intervals.py [--runs 2000]

Naive intervals are the textbook's: estimate ± 1.96 standard errors, with the true noise. Both are
looked at 100 times along the path; "at all times" counts paths in which every coefficient of every
arm was covered at every look, "at the end" coefficients at the last look.
"""

from __future__ import annotations

import argparse

import numpy as np

from greedyfirst import Agent, Greedy, GreedyFirst, ThompsonSampling

POLICIES = {
    "Greedy": Greedy(initial_pulls=1),
    "Greedy-First": GreedyFirst(initial_pulls=1),
    "Thompson sampling": ThompsonSampling(prior_covariance="auto"),
}
LOOKS = 100
#: Arms, features, decisions, size of the effects.
SETTINGS = {
    "2 arms, 3 features, effects of 0.3": (2, 3, 300, 0.3),
    "5 arms, all alike": (5, 1, 300, 0.0),
}


def play(policy, n_arms, d, horizon, size, seed):
    """Whether all was covered at all looks, by ours and naively; naive coverage; half-widths."""
    rng = np.random.default_rng(seed)
    effects = size * rng.normal(size=(n_arms, d))
    agent = Agent(policy, n_arms=n_arms, n_features=d, seed=seed)
    grams = np.zeros((n_arms, d, d))
    held = naively = True
    for step in range(1, horizon + 1):
        row = np.r_[1.0, rng.normal(size=d - 1)]
        arm = agent.choose(row)
        agent.update(row, arm, effects[arm] @ row + rng.normal())
        grams[arm] += np.outer(row, row)
        if step % (horizon // LOOKS) == 0:
            found = agent.intervals(np.eye(d), sigma=1.0)
            errors, naive = abs(found.estimate - effects.T), naive_half_widths(grams)
            held &= not (errors > found.half_width).any()
            naively &= not (errors > naive).any()
    known = np.isfinite(naive)
    ratios = found.half_width[known] / naive[known]
    return held, naively, (errors <= naive)[known], ratios


def naive_half_widths(grams):
    """1.96 standard errors of each coefficient (d, n_arms), infinite while it has none."""
    halves = np.full((grams.shape[1], len(grams)), np.inf)
    for arm, gram in enumerate(grams):
        if np.linalg.matrix_rank(gram) == len(gram):
            halves[:, arm] = 1.96 * np.sqrt(np.diag(np.linalg.inv(gram)))
    return halves


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    headings = ("setting", "policy", "ours, at all times", "naive, at all times")
    print("|", " | ".join([*headings, "naive, at the end", "half-width, ours over naive"]), "|")
    print("|" + "---|" * 6)
    for setting, (n_arms, d, horizon, size) in SETTINGS.items():
        for name, policy in POLICIES.items():
            made = [play(policy, n_arms, d, horizon, size, seed) for seed in range(runs)]
            ours, naively, covered, ratios = zip(*made, strict=True)
            shares = (np.mean(ours), np.mean(naively), np.concatenate(covered).mean())
            cells = [f"{share:.1%}" for share in shares]
            cells.append(f"{np.median(np.concatenate(ratios)):.2f}")
            print("|", " | ".join([setting, name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
