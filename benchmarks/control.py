"""A control share of 10 %: how often is a policy called better that is not, and when one that is?

    python benchmarks/control.py [--trials 2000] [--only NAME]

Each trial is looked at every 25 decisions for 5000 decisions; "by 1000" counts trials in which any
look until then said "better". "Bounded" intervals know the range of the rewards, "asymptotic" ones
nothing. Where rewards have no range there are only the latter.
"""

from __future__ import annotations

import argparse

import numpy as np

from greedyfirst.evaluation.control import Comparison, in_control

SHARE, DECISIONS, EVERY = 0.1, 5000, 25
#: Of both groups: a function from (rng, n, difference) to rewards of the policy and of the control.
REWARDS = {
    "coins, 1 in 2": lambda rng, n, d: (rng.random(n) < 0.5 + d, rng.random(n) < 0.5),
    "coins, 1 in 20": lambda rng, n, d: (rng.random(n) < 0.05 + d, rng.random(n) < 0.05),
    "normal, variance 1": lambda rng, n, d: (rng.normal(d, 1, n), rng.normal(0, 1, n)),
    "exponential, mean 1": lambda rng, n, d: (rng.exponential(1, n) + d, rng.exponential(1, n)),
    "lognormal, sigma 1": lambda rng, n, d: (rng.lognormal(0, 1, n) + d, rng.lognormal(0, 1, n)),
    "minus lognormal, sigma 1": lambda rng, n, d: (
        d - rng.lognormal(0, 1, n),
        -rng.lognormal(0, 1, n),
    ),
}
JACKPOTS = {"1000 in 0.5 %": (1000, 0.005), "1000 in 1 %": (1000, 0.01), "30 in 1 %": (30, 0.01)}
for _name, (_size, _chance) in JACKPOTS.items():
    for _sign, _sense in ((1, ""), (-1, "minus ")):

        def _rewards(rng, n, d, size=_sign * _size, chance=_chance):
            both = [size * (rng.random(n) < chance) + rng.normal(0, 1, n) for _ in range(2)]
            return both[0] + d, both[1]

        REWARDS[f"{_sense}{_name}, and normal"] = _rewards
#: Differences for the chance to find out.
DIFFERENCES = {"coins, 1 in 2": 0.1, "coins, 1 in 20": 0.05, "normal, variance 1": 0.2}
DIFFERENCES |= {"exponential, mean 1": 0.2}


def first_better(name: str, difference: float, seed: int) -> list[float]:
    """The decision at which each sequence first says "better", infinite if it never does."""
    rng = np.random.default_rng(seed)
    policy, control = REWARDS[name](rng, DECISIONS, difference)
    trials = [Comparison(share=SHARE)]
    if name.startswith("coins"):
        trials.insert(0, Comparison(share=SHARE, low=0.0, high=1.0))
    found = [np.inf] * len(trials)
    for step in range(1, DECISIONS + 1):
        group = "control" if in_control(seed, step, SHARE) else "policy"
        reward = float((control if group == "control" else policy)[step - 1])
        for place, trial in enumerate(trials):
            trial.add(group, reward)
            if step % EVERY == 0 and found[place] == np.inf and trial.verdict() == "better":
                found[place] = step
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", default="", help="part of the rewards' names")
    options = parser.parse_args()
    trials = options.trials
    print("| rewards | difference | interval | by 1000 | by 2000 | by 5000 |")
    print("|" + "---|" * 6)
    for differences in (dict.fromkeys(REWARDS, 0.0), DIFFERENCES):
        for name, difference in differences.items():
            if options.only not in name:
                continue
            made = np.array([first_better(name, difference, seed) for seed in range(trials)])
            methods = ("bounded", "asymptotic")[-made.shape[1] :]
            for method, times in zip(methods, made.T, strict=True):
                shares = [np.mean(times <= n) for n in (1000, 2000, 5000)]
                cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
                print(f"| {name} | {difference:g} | {method} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
