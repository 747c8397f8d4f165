"""Many runs of the Greedy Bandit at once, in plain NumPy, for the lemmas about single rounds."""

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass
class GreedyRuns:
    """Runs of Algorithm 1 after ``initial_pulls`` of each arm: Gram matrices and estimates."""

    contexts: object
    arms: np.ndarray
    sigma: float
    n_runs: int
    seed: int
    initial_pulls: int = 0

    def __post_init__(self):
        self.arms = np.asarray(self.arms, dtype=float)
        K, d = self.arms.shape
        self.rng = np.random.default_rng(self.seed)
        self.gram = np.zeros((self.n_runs, K, d, d))
        self.moment = np.zeros((self.n_runs, K, d))
        self.estimate = np.zeros((self.n_runs, K, d))
        self.pulls = np.zeros((self.n_runs, K), dtype=int)
        self.t = 0
        self.regret = np.zeros(self.n_runs)

    def run(self, n_rounds):
        """Play rounds; ``regret`` is that of the last one."""
        for _ in range(n_rounds):
            self._round()
        return self

    def _round(self):
        K = len(self.arms)
        every = np.arange(self.n_runs)
        x = self.contexts.sample(self.rng, self.n_runs)
        if self.t < K * self.initial_pulls:
            arm = np.full(self.n_runs, self.t % K)
        else:
            scores = np.einsum("rkd,rd->rk", self.estimate, x)
            best = scores == scores.max(axis=1, keepdims=True)
            arm = np.argmax(best * self.rng.random(scores.shape), axis=1)
        values = x @ self.arms.T
        self.regret = values.max(axis=1) - values[every, arm]
        y = values[every, arm] + self.sigma * self.rng.standard_normal(self.n_runs)
        self.gram[every, arm] += x[:, :, None] * x[:, None, :]
        self.moment[every, arm] += x * y[:, None]
        self.pulls[every, arm] += 1
        self.t += 1
        self._estimate(every, arm)

    def _estimate(self, every, arm):
        gram = self.gram[every, arm]
        regular = np.linalg.det(gram) > 1e-9
        solved = np.linalg.solve(gram[regular], self.moment[every, arm][regular][..., None])
        self.estimate[every[regular], arm[regular]] = solved[..., 0]

    @property
    def smallest_eigenvalues(self):
        """λ_min of each run's and arm's Gram matrix."""
        return np.linalg.eigvalsh(self.gram)[..., 0]

    @property
    def errors(self):
        """‖β̂ - β‖ of each run and arm."""
        return np.linalg.norm(self.estimate - self.arms, axis=-1)


def chance_of_as_many(happened, bound):
    """The chance of at least as many events, if each had the probability that the bound allows."""
    happened = np.asarray(happened)
    return float(stats.binom.sf(happened.sum() - 1, happened.size, bound))
