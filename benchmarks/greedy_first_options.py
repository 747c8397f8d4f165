"""Greedy-First's options in one paired run: same contexts and noise for all of them.

    python benchmarks/greedy_first_options.py [--instances 1000] [--jobs 2]

Prints the table of docs/greedy-first.md: mean regret at T = 10 000 and, for each option, the paired
difference to the variant that starts its fallback afresh and tests the full λ_min.
"""

import argparse

import numpy as np

from greedyfirst import GreedyFirst, OLSBandit, Policy, simulate
from greedyfirst.experiments import figure2
from greedyfirst.problems import GaussianNoise, LinearProblem

SETTINGS = {
    "Figure 2(c)": {"n_arms": 2, "n_features": 3, "intercept": True, "mixture": False},
    "Figure 2(d)": {"n_arms": 2, "n_features": 3, "intercept": True, "mixture": True},
    "K=5, d=7": {"n_arms": 5, "n_features": 7, "intercept": False, "mixture": False},
}
WARMUPS = ("none", "ridge", "pinv")


def problem(*, n_arms: int, n_features: int, intercept: bool, mixture: bool) -> LinearProblem:
    return LinearProblem(
        contexts=figure2.contexts(n_features, intercept=intercept),
        arms=figure2.arm_parameters(n_arms, n_features, intercept=intercept, mixture=mixture),
        noise=GaussianNoise(sigma=figure2.SIGMA),
    )


def variants(d: int) -> dict[str, Policy]:
    """Every warm-up and start of the fallback, with each span and carry-over."""
    result: dict[str, Policy] = {}
    for warmup in WARMUPS:
        for pulls in (0, d):
            fallback = OLSBandit(h=5, q=1, warmup=warmup, initial_pulls=pulls)
            for span in ("full", "pooled"):
                for carry_over in (False, True):
                    name = f"{warmup}|{pulls}|{span}|{'yes' if carry_over else 'no'}"
                    result[name] = GreedyFirst(
                        warmup=warmup, fallback=fallback, span=span, carry_over=carry_over
                    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    print(
        "| setting | warmup | fallback's initial pulls | span | carry over | regret ± | switches |"
        " paired difference ± |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for setting, options in SETTINGS.items():
        policies = variants(options["n_features"] + options["intercept"])
        result = simulate(
            problem(**options),
            policies,
            n_instances=arguments.instances,
            horizon=10_000,
            seed=arguments.seed,
            n_jobs=arguments.jobs,
        )
        for place, name in enumerate(result.policies):
            warmup, pulls, span, carry = name.split("|")
            base = result.policies.index(f"{warmup}|{pulls}|full|no")
            difference = result.final[:, place] - result.final[:, base]
            half = 2 * difference.std(ddof=1) / np.sqrt(len(difference))
            mean = result.final[:, place].mean()
            spread = 2 * result.final[:, place].std(ddof=1) / np.sqrt(len(difference))
            versus = "" if place == base else f"{difference.mean():+.2f} ± {half:.2f}"
            print(
                f"| {setting} | {warmup} | {pulls} | {span} | {carry} | {mean:.2f} ± {spread:.2f} |"
                f" {result.switches[name]} | {versus} |"
            )


if __name__ == "__main__":
    main()
