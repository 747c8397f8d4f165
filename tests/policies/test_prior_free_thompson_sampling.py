"""Prior-free Thompson sampling against the formula of EXPERIMENTS.md."""

import numpy as np
import pytest

from greedyfirst import Agent, PriorFreeThompsonSampling
from greedyfirst.testing.trial_runs import play_one_by_one

N_ARMS, D = 3, 4


@pytest.mark.parametrize(
    "options",
    [
        {"scale": 0.2, "delta": 0.99, "sigma": 0.5},
        {"scale": 0.2, "delta": 0.99, "sigma_start": 100.0},
        {"scale": 1.0, "delta": 0.1, "sigma_start": 1.0},
    ],
    ids=["known noise", "unknown noise", "theory"],
)
@pytest.mark.parametrize("horizon", [0, 1, 11, 12, 13, 100])
def test_draws_are_from_the_published_law(options, horizon):
    """N(β̂, v²B⁻¹), B = I + Σxx', v = c·σ̂·√(9·K·d·log(t/δ)); σ̂ estimated from t > K·d on."""
    rng = np.random.default_rng(31)
    contexts = rng.normal(size=(horizon, D))
    rewards = contexts @ rng.normal(size=(D, N_ARMS)) + 0.5 * rng.normal(size=(horizon, N_ARMS))
    agent = Agent(PriorFreeThompsonSampling(**options), n_arms=N_ARMS, n_features=D, seed=2)
    arms = np.array(play_one_by_one(agent, contexts, rewards), dtype=int)
    gram = np.array([np.eye(D)] * N_ARMS)
    moment = np.zeros((N_ARMS, D))
    squares = 0.0
    for x, arm, y in zip(contexts, arms, rewards[np.arange(horizon), arms], strict=True):
        gram[arm] += np.outer(x, x)
        moment[arm] += x * y
        squares += (y - x @ np.linalg.solve(gram[arm], moment[arm])) ** 2
    estimated = np.sqrt(squares / (horizon - D)) if horizon > N_ARMS * D else None
    sigma = options.get("sigma") or estimated or options["sigma_start"]
    t = horizon + 1
    v = options["scale"] * sigma * np.sqrt(9 * N_ARMS * D * np.log(t / options["delta"]))
    context = np.array([0.3, -1.0, 0.5, 2.0])
    agent.probabilities(context)
    for arm in range(N_ARMS):
        mean = context @ np.linalg.solve(gram[arm], moment[arm])
        spread = v * np.sqrt(context @ np.linalg.solve(gram[arm], context))
        assert agent.state.scores.value[arm] == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert agent.state.scores.spread[arm] == pytest.approx(spread, rel=1e-9)
