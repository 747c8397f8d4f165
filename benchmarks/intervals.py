"""Coverage of intervals on data that policies chose themselves: at all times, and naive ones.

    python benchmarks/intervals.py [--runs 2000] [--noises]

With --noises, the second table: the noise's scale is estimated, and the noise is not normal with
one scale. Two arms with an intercept and a normal feature x get rows in turn, up to 3000 each; both
coefficients of both arms, and what is expected at x = 2 and -1, are looked at every 50 rows an arm.
"Missed" counts paths in which any was outside its interval at any look at which it had one: "one
scale" are intervals with the estimated σ for all rows, "from 300" counts looks from 300 rows an arm
on. "Given" counts intervals at 300, 1000 and 3000 rows an arm.

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


ROWS, EVERY, FROM = 3000, 50, 300
#: Noise of mean 0 by (rng, x).
NOISES = {
    "normal": lambda rng, x: rng.normal(size=len(x)),
    "normal, sd = exp(x)": lambda rng, x: np.exp(x) * rng.normal(size=len(x)),
    "normal, sd = x²": lambda rng, x: x**2 * rng.normal(size=len(x)),
    "normal, sd = |x|³": lambda rng, x: abs(x) ** 3 * rng.normal(size=len(x)),
    "Pareto(1.5)": lambda rng, x: rng.pareto(1.5, len(x)) - 2,
    "30 in 1 %": lambda rng, x: jackpots(rng, x, 30, 0.01, 0.0),
    "30 in 1 %, and normal": lambda rng, x: jackpots(rng, x, 30, 0.01, 1.0),
    "30 in 0.5 %, and normal": lambda rng, x: jackpots(rng, x, 30, 0.005, 1.0),
    "30 in 2 %, and normal": lambda rng, x: jackpots(rng, x, 30, 0.02, 1.0),
    "coins, 1 in 50": lambda rng, x: jackpots(rng, x, 1, 0.02, 0.0),
    "lognormal, sigma 1": lambda rng, x: rng.lognormal(size=len(x)) - np.exp(0.5),
    "lognormal, sigma 2": lambda rng, x: rng.lognormal(0, 2, size=len(x)) - np.exp(2),
    "t with 3 degrees": lambda rng, x: rng.standard_t(3, size=len(x)),
    "t with 2 degrees": lambda rng, x: rng.standard_t(2, size=len(x)),
}


def jackpots(rng, x, size, chance, sd):
    """A rare large reward less its mean, and normal noise."""
    rare = size * ((rng.random(len(x)) < chance) - chance)
    return rare + sd * rng.normal(size=len(x))


def path(noise, d, n_arms, seed):
    """At each look, of each interval: its error, half-width, and that of one scale."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n_arms * ROWS), rng.normal(size=(n_arms * ROWS, d - 1))])
    rewards = noise(rng, rows[:, 1] if d > 1 else rng.normal(size=len(rows)))
    arms = np.arange(len(rows)) % n_arms
    points = np.vstack([np.eye(d), [np.r_[1.0, np.full(d - 1, x)] for x in (2.0, -1.0)]])
    agent = Agent(Greedy(), n_arms=n_arms, n_features=d, seed=seed)
    looks = []
    for place in range(0, len(rows), EVERY * n_arms):
        part = slice(place, place + EVERY * n_arms)
        agent.update_many(rows[part], arms[part], rewards[part])
        found = agent.intervals(points)
        one = np.full_like(found.half_width, np.inf)
        if np.isfinite(found.sigma):
            one = agent.intervals(points, sigma=found.sigma).half_width
        looks.append(np.stack([np.abs(found.estimate), found.half_width, one]))
    return np.array(looks)


def noises(paths, d, n_arms, names):
    """Print the table of noises."""
    print(
        f"| noise, {n_arms} arms, {d} features | one scale: missed from 300 | missed from 300",
        end=" ",
    )
    print("| missed at all | given at 300 | 1000 | 3000 | half-width over one scale |")
    print("|" + "---|" * 8)
    from_300 = slice(FROM // EVERY - 1, None)
    for name in names:
        counts, widths = np.zeros(6), []
        for seed in range(paths):
            error, half, one = np.moveaxis(path(NOISES[name], d, n_arms, seed), 1, 0)
            missed, before = error > half, error > one
            given = [np.isfinite(half[rows // EVERY - 1]).mean() for rows in (300, 1000, 3000)]
            counts += [before[from_300].any(), missed[from_300].any(), missed.any(), *given]
            ratios = half[-1] / one[-1]
            widths.extend(ratios[np.isfinite(ratios)])
        cells = [f"{100 * count / paths:.1f} %" for count in counts]
        cells.append(f"{np.median(widths):.2f}" if widths else "none")
        print("|", " | ".join([name, *cells]), "|", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--noises", action="store_true", help="the table of noises")
    parser.add_argument("--only", default="", help="part of the noises' names")
    parser.add_argument("--features", type=int, default=2)
    parser.add_argument("--arms", type=int, default=2)
    options = parser.parse_args()
    if options.noises:
        names = [name for name in NOISES if options.only in name]
        noises(options.runs, options.features, options.arms, names)
        return
    runs = options.runs
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
