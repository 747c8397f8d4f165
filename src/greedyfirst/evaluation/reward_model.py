"""What each arm would have paid: a ridge regression per arm, fitted to logged rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.agent import Agent
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.policies import Greedy
from greedyfirst.validation import FloatArray

# A level with a smaller share of the rows left to it is that of the coefficients, but for rounding.
FIXED = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class RewardModel:
    """Estimates of :mod:`greedyfirst.models.learned_ridge`: units and penalty are learned."""

    #: β per arm (n_arms, d), P per arm (n_arms, d, d), σ².
    coefficients: FloatArray
    covariances: FloatArray
    noise_variance: float

    @classmethod
    def fit(cls, log: LoggedData) -> RewardModel:
        """Fit all rows of a log."""
        agent = Agent(Greedy(), n_arms=log.n_arms, n_features=log.contexts.shape[1], seed=0)
        agent.update_many(log.contexts, log.arms, log.rewards)
        model: Any = agent.state.model
        return cls(
            coefficients=model.estimate.copy(),
            covariances=model.covariance.copy(),
            noise_variance=float(model.noise_variance),
        )

    def predict(self, contexts: FloatArray) -> FloatArray:
        """Every arm's expected reward (n, n_arms)."""
        predicted: FloatArray = contexts @ self.coefficients.T
        return predicted

    def influence(self, log: LoggedData, direction: FloatArray) -> FloatArray:
        r"""How much each row moves :math:`\sum_a g_a^\top\hat\beta_a`, times n (n,).

        ``log`` is what was fitted, ``direction`` holds :math:`g_a` per arm (n_arms, d). A row of
        arm a moves its estimate by :math:`P_ax(y - x^\top\hat\beta_a)/(1 - x^\top P_ax)`: by the
        error that it would have if it had been left out.
        """
        taken = self.covariances[log.arms]
        gains = np.einsum("nij,nj->ni", taken, log.contexts)
        leverage = np.einsum("ni,ni->n", gains, log.contexts).clip(max=0.99)
        errors = log.rewards - np.einsum("ni,ni->n", log.contexts, self.coefficients[log.arms])
        along = np.einsum("ni,ni->n", gains, direction[log.arms])
        moved: FloatArray = len(log) * along * errors / (1 - leverage)
        return moved

    def shrinkage_variance(self, log: LoggedData, direction: FloatArray) -> float:
        r"""The prior variance of what the penalty does to :math:`\sum_a g_a^\top\hat\beta_a`.

        An arm's estimate is off by :math:`(I - P_aG_a)(b - \beta_a)`, b the prior mean: nothing
        along what its rows have shown, all along what they have not. With β from the prior that
        has the variance :math:`\sigma^2g_a^\top(P_a - P_aG_aP_a)g_a`, for an arm that was never
        taken :math:`\sigma^2g_a^\top P_ag_a`.
        """
        spread = 0.0
        for arm, (asked, covariance) in enumerate(zip(direction, self.covariances, strict=True)):
            moved = covariance @ asked
            seen = log.contexts[log.arms == arm] @ moved
            spread += max(float(asked @ moved - seen @ seen), 0.0)
        return self.noise_variance * spread

    def level_shift(self, log: LoggedData, direction: FloatArray, shares: FloatArray) -> float:
        r"""How much the direct method would rise if each arm had a level without a penalty.

        With e the arm's residuals and s the sum of its n contexts, such a level is
        :math:`\delta_a = \sum e/(n - s^\top P_as)`, and moves the coefficients by
        :math:`-P_as\delta_a`. Where an arm has few rows for its columns, the prior mean that all
        arms share hides the level; ``shares`` (n_arms,) is how often each arm is asked for.
        """
        errors = log.rewards - np.einsum("ni,ni->n", log.contexts, self.coefficients[log.arms])
        shift = 0.0
        for arm in np.unique(log.arms):
            rows = log.arms == arm
            total = log.contexts[rows].sum(axis=0)
            moved = self.covariances[arm] @ total
            free = rows.sum() - total @ moved
            if free > FIXED * rows.sum():
                shift += errors[rows].sum() / free * (shares[arm] - direction[arm] @ moved)
        return float(shift)
