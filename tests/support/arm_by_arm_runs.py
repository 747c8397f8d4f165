"""The rule arm by arm as its theorems take it, in plain NumPy, many runs at once.

The penalty κI and the noise's scale are known, P₀ is that of the last look, and the next look is
when the rewards have grown by 30 %.
"""

import numpy as np


class Runs:
    """Estimates and widths of ``n_runs`` bandits with the same arms (n_arms, d)."""

    def __init__(self, arms, *, rule, sigma, penalty, n_runs, rng):
        self.arms, self.rule, self.sigma, self.penalty = np.asarray(arms), rule, sigma, penalty
        self.rng = rng
        K, d = self.arms.shape
        self.inverse = np.tile(np.eye(d) / penalty, (n_runs, K, 1, 1))
        self.moment = np.zeros((n_runs, K, d))
        self.gram = np.zeros((n_runs, K, d, d))
        self.pulls = np.zeros((n_runs, K))
        self.pooled_inverse = self.inverse[:, 0].copy()
        self.clock = self.looked_at = self.look_at = 0
        self.all = np.arange(n_runs)

    def variances(self, x):
        """V of each arm (n_runs, n_arms), and V₀, for contexts (n_runs, d)."""
        own = np.einsum("ri,rkij,rj->rk", x, self.inverse, x)
        return own, np.einsum("ri,rij,rj->r", x, self.pooled_inverse, x)

    def raises(self, x):
        own, by_all = self.variances(x)
        u = np.log(np.maximum(self.rule.theta * own / by_all[:, None], 1.0))
        K, d = self.arms.shape
        rounds = self.looked_at / (self.looked_at + self.rule.early * K * d)
        if self.looked_at == 0:
            rounds = 0.0
        q = self.rule.doubt * rounds * (u - np.log(1 + u))
        rows = self.rule.rows + self.pulls
        squares = q if self.rule.rows == np.inf else rows * (np.exp(q / rows) - 1)
        return self.sigma * np.sqrt(squares * own)

    def play(self, x):
        """One round; the arms and their regrets."""
        estimate = np.einsum("rkij,rkj->rki", self.inverse, self.moment)
        raised = self.raises(x)
        score = np.einsum("rki,ri->rk", estimate, x) + raised
        best = score == score.max(axis=1, keepdims=True)
        arm = (best * self.rng.random(best.shape)).argmax(axis=1)
        worth = x @ self.arms.T
        reward = worth[self.all, arm] + self.sigma * self.rng.normal(size=len(x))
        self.learn(x, arm, reward)
        return arm, worth.max(axis=1) - worth[self.all, arm]

    def learn(self, x, arm, reward):
        mine = self.inverse[self.all, arm]
        v = np.einsum("rij,rj->ri", mine, x)
        s = 1 + np.einsum("ri,ri->r", v, x)
        self.inverse[self.all, arm] = mine - np.einsum("ri,rj->rij", v, v) / s[:, None, None]
        self.gram[self.all, arm] += np.einsum("ri,rj->rij", x, x)
        self.moment[self.all, arm] += reward[:, None] * x
        self.pulls[self.all, arm] += 1
        self.clock += 1
        if self.clock >= self.look_at:
            self.looked_at = self.clock
            self.look_at = self.clock + 1 + int(self.rule.growth * self.clock)
            d = x.shape[1]
            pooled = self.gram.sum(axis=1) + self.penalty * np.eye(d)
            self.pooled_inverse = np.linalg.inv(pooled)
