"""Corners of the generalised linear part: history, added arms, users' own links and problems."""

import numpy as np
import pytest

from greedyfirst import GLMUCB, Agent, GLMGreedy, Greedy, GreedyFirst, simulate
from greedyfirst.agent.running_policy import FIRST_ROOM
from greedyfirst.links import LINKS, Logistic


def plain_scores(agent, context, t, lambda0):
    """GLM-UCB's formula with all options at their defaults and the agent's own estimates."""
    model = agent.state.model
    size = model.estimate.size
    kappa = np.sqrt(3 + 2 * np.log(1 + 2 / lambda0))
    rho = 2 / 4 * (2 + np.exp(1) + np.exp(-1)) * kappa
    rho *= np.sqrt(2 * size * np.log(t) * np.log(2 * size * t / 0.01))
    spreads = [np.sqrt(context @ np.linalg.solve(gram, context)) for gram in model.gram]
    return agent.expected_rewards(context) + rho * np.array(spreads)


def work(agent, n, rng):
    for _ in range(n):
        context = rng.normal(size=2)
        agent.update(context, agent.choose(context), float(rng.integers(2)))


def smallest_eigenvalue(agent):
    return np.linalg.eigvalsh(agent.state.model.gram).min()


def test_lambda0_is_that_after_the_first_pulls_when_there_is_history():
    """Six rows of arm 0 from elsewhere are its first pulls; then arm 1 is pulled twice."""
    rng = np.random.default_rng(0)
    agent = Agent(GLMUCB(), n_arms=2, n_features=2, seed=0)
    agent.update_many(rng.normal(size=(6, 2)), [0] * 6, [0.0, 1.0] * 3)
    work(agent, 2, rng)
    lambda0 = smallest_eigenvalue(agent)
    agent.choose([1.0, 0.5])
    expected = plain_scores(agent, np.array([1.0, 0.5]), 3, lambda0)
    np.testing.assert_allclose(agent.state.scores.value, expected, rtol=1e-6)


def test_an_added_arm_leaves_lambda0_above_0():
    """Added one decision after the first pulls, itself pulled twice: all V are regular."""
    rng = np.random.default_rng(0)
    agent = Agent(GLMUCB(), n_arms=2, n_features=2, seed=0)
    work(agent, 5, rng)
    agent.add_arm()
    work(agent, 2, rng)
    assert smallest_eigenvalue(agent) > 1e-3
    agent.choose([1.0, 0.5])
    radius = agent.state.scores.value - agent.expected_rewards([1.0, 0.5])
    # Whether λ₀ is that of the two first arms or of all three: it is at least the latter.
    highest = plain_scores(agent, np.array([1.0, 0.5]), 8, smallest_eigenvalue(agent) / 10)
    assert (radius <= highest).all()


@pytest.mark.parametrize(("link", "z"), [("logistic", 730.0), ("poisson", 400.0)])
def test_a_ratio_of_slopes_that_is_infinite_is_refused(link, z):
    """Both slopes are finite and above 0, but k_μ/c_μ overflows: all scores would be infinite."""
    with pytest.raises(ValueError, match=r"^x_max \* b_max must be small enough"):
        GLMUCB(link=link, b_max=z).options(2, 2)


def test_the_largest_slope_of_a_link_of_ones_own():
    """A link's slope has one peak, which need not be at 0: here it is 1/4, at z = 2."""

    class Late(Logistic):
        name = "late"

        @staticmethod
        def slope(z):
            return Logistic.slope(z - 2.0)

    try:
        factor = GLMUCB(link="late", b_max=4.0).options(2, 2).slope_ratio
        slopes = [Late.slope(z) for z in np.linspace(-4, 4, 4001)]
        assert factor == pytest.approx(2 * max(slopes) / min(slopes), rel=1e-3)
    finally:
        del LINKS["late"]


def test_a_problem_of_ones_own_may_keep_its_parameters_under_that_name():
    """`parameters` is no part of a problem's interface; Greedy-First asks for none of them."""

    class Own:
        n_arms, n_features = 2, 1
        parameters = np.array([[1.0], [0.5]])

        def draw(self, rng, horizon):
            contexts = rng.normal(size=(horizon, 1))
            rewards = contexts @ self.parameters.T
            return contexts, rewards, rewards.max(axis=1, keepdims=True) - rewards

    result = simulate(Own(), {"Greedy-First": GreedyFirst()}, n_instances=2, horizon=30, seed=0)
    assert result.final.shape == (2, 1)


def test_an_added_arm_gets_the_first_pulls_of_the_greedy_policy():
    """As `GreedyFirst(initial_pulls=4)` gives it 4."""
    for options in ({"initial_pulls": 4}, {"greedy": Greedy(initial_pulls=4)}):
        agent = Agent(GreedyFirst(**options), n_arms=2, n_features=2, seed=0)
        agent.choose_many(np.ones((8, 2)))
        agent.add_arm()
        assert [agent.choose([1.0, 1.0]) for _ in range(4)] == [2] * 4, options


def test_a_refused_reward_does_not_enlarge_the_state():
    agent = Agent(GLMGreedy(), n_arms=2, n_features=1, seed=0)
    n = FIRST_ROOM
    agent.update_many(np.ones((n, 1)), np.arange(n) % 2, np.arange(n) % 4 // 2 * 1.0)
    before = agent.buffer.copy()
    with pytest.raises(ValueError, match=r"^reward must be"):
        agent.update([1.0], 0, 2.0)
    np.testing.assert_array_equal(agent.buffer, before)
    assert agent.room == FIRST_ROOM
