"""How far bounded memory is from exact, in estimates and in regret: the table of docs/glm.md.

python benchmarks/glm_memory.py [--quick]

Estimates: one arm's rows are drawn from the problem's contexts and learned by `GLMGreedy` with each
memory; the distance from the exact estimate is in standard errors, that is in the norm of the
likelihood's second derivatives. Regret: the same instances for all, so differences are paired.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from greedyfirst import Agent, GLMGreedy, simulate
from greedyfirst.links import LINKS
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianParameters,
    GeneralizedLinearProblem,
    WithinBall,
)

FloatArray = NDArray[np.float64]
MEMORIES = (64, 256, 1024)
SEED = 10


def problem(link: str, n_features: int, x_max: float) -> GeneralizedLinearProblem:
    """Figure 3's law of contexts and parameters, for any link."""
    clipped = ClippedGaussian(n_features=n_features, covariance=0.5, bound=x_max)
    return GeneralizedLinearProblem(
        contexts=WithinBall(contexts=clipped, radius=x_max),
        arms=GaussianParameters(n_arms=2, mean=[0.0] * n_features),
        link=link,
    )


PROBLEMS = {
    "logistic, d=3, x_max=1": problem("logistic", 3, 1.0),
    "logistic, d=10, x_max=5": problem("logistic", 10, 5.0),
    "probit, d=3, x_max=1": problem("probit", 3, 1.0),
    "poisson, d=3, x_max=1": problem("poisson", 3, 1.0),
}


def estimate(link: str, memory: str | int, rows: FloatArray, rewards: FloatArray) -> FloatArray:
    """What an agent has learned from these rows of one arm."""
    policy = GLMGreedy(link=link, memory=memory)
    agent = Agent(policy, n_arms=1, n_features=rows.shape[1], seed=SEED)
    agent.update_many(rows, np.zeros(len(rows), np.int64), rewards)
    result: FloatArray = agent.state.model.estimate[0].copy()
    return result


def distances(case: GeneralizedLinearProblem, n: int, repetitions: int) -> list[float]:
    """The root mean square distance of each memory's estimate from the exact one."""
    squares = np.zeros(len(MEMORIES))
    slope = LINKS[case.link].slope
    for repetition in range(repetitions):
        draw = case.draw(np.random.default_rng((SEED, repetition)), n)
        rows, rewards = draw.contexts, np.ascontiguousarray(draw.rewards[:, 0])
        exact = estimate(case.link, "exact", rows, rewards)
        # Expected information: μ′²/V, V the variance of a reward.
        z = rows @ exact
        mean = np.array([LINKS[case.link].mean(each) for each in z])
        variance = mean if case.link == "poisson" else mean * (1.0 - mean)
        weights = np.array([slope(each) for each in z]) ** 2 / np.maximum(variance, 1e-300)
        information = (rows * weights[:, np.newaxis]).T @ rows
        for place, memory in enumerate(MEMORIES):
            off = estimate(case.link, memory, rows, rewards) - exact
            squares[place] += off @ information @ off
    return [float(each) for each in np.sqrt(squares / repetitions)]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="bounded memory against exact")
    parser.add_argument("--quick", action="store_true", help="few instances, short runs")
    quick = parser.parse_args().quick
    print("distance from the exact estimate, in standard errors")
    for name, case in PROBLEMS.items():
        for n in (1000,) if quick else (1000, 10_000):
            found = distances(case, n, 3 if quick else 20)
            cells = "  ".join(f"memory {m}: {d:.1e}" for m, d in zip(MEMORIES, found, strict=True))
            print(f"{name:26} n={n:6}  {cells}", flush=True)
    horizon, instances = (1000, 10) if quick else (5000, 100)
    print(f"\nregret after {horizon} rounds, {instances} instances, and paired differences from it")
    for name, case in PROBLEMS.items():
        d = case.n_features
        policies = {"exact": GLMGreedy(link=case.link, initial_pulls=d)} | {
            f"memory {m}": GLMGreedy(link=case.link, initial_pulls=d, memory=m) for m in MEMORIES
        }
        result = simulate(
            case, policies, n_instances=instances, horizon=horizon, seed=SEED, n_jobs=2
        )
        exact = result.final[:, 0]
        cells = [f"exact {exact.mean():.2f} ± {half_width(exact):.2f} ({result.seconds[0]:.0f} s)"]
        for place, label in enumerate(list(policies)[1:], start=1):
            off = result.final[:, place] - exact
            seconds = result.seconds[place]
            cells.append(f"{label}: {off.mean():+.3f} ± {half_width(off):.3f} ({seconds:.0f} s)")
        print(f"{name:26} " + "  ".join(cells), flush=True)


def half_width(values: FloatArray) -> float:
    """Half a 95 % confidence interval of the mean."""
    return 1.96 * float(values.std(ddof=1)) / float(np.sqrt(len(values)))


if __name__ == "__main__":
    main()
