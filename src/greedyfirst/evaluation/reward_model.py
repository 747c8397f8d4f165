"""What each arm would have paid: a ridge regression per arm, fitted to logged rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from greedyfirst.agent import Agent
from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.policies import Greedy
from greedyfirst.validation import FloatArray


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

    def unknown_variance(self, log: LoggedData, direction: FloatArray) -> float:
        """The prior variance of what ``direction`` asks of arms that the log never took."""
        never = np.setdiff1d(np.arange(log.n_arms), log.arms)
        asked = direction[never]
        spread = np.einsum("ai,aij,aj->", asked, self.covariances[never], asked)
        return float(self.noise_variance * spread)
