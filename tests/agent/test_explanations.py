"""What an agent says beside the arm: forced or not, alarms, each feature's part, what lacks."""

import numpy as np
import pytest
import statsmodels.api as sm

from greedyfirst import (
    Agent,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    ThompsonSampling,
    Uniform,
)


def trial(policy, n=200, n_arms=2, seed=4, **options):
    """An agent after n decisions on contexts (1, u), arm 0 by far the best."""
    agent = Agent(policy, n_arms=n_arms, n_features=2, seed=1, **options)
    rng = np.random.default_rng(seed)
    for _ in range(n):
        context = np.array([1.0, rng.uniform(-1, 1)])
        arm = agent.choose(context)
        agent.update(context, arm, 2.0 - 2.0 * arm + 0.1 * rng.normal())
    return agent


def test_initial_pulls_and_forced_samples_are_called_forced():
    agent = Agent(Greedy(initial_pulls=2), n_arms=3, n_features=2, seed=1)
    forced = []
    for _ in range(8):
        agent.choose([1.0, 0.5])
        forced.append(agent.forced)
    assert forced == [True] * 6 + [False] * 2

    bandit = Agent(OLSBandit(h=1, q=1), n_arms=2, n_features=2, seed=1)
    forced = []
    for _ in range(12):
        bandit.choose([1.0, 0.5])
        forced.append(bandit.forced)
    # 𝒯ᵢ with K = 2, q = 1: (2ⁿ-1)·2 + 1, 2 for n = 0, 1, 2
    assert [t for t, was in enumerate(forced, 1) if was] == [1, 2, 3, 4, 7, 8]


def test_the_mode_says_how_the_last_decision_was_made():
    def modes(policy, n):
        agent = Agent(policy, n_arms=2, n_features=2, seed=1)
        found = []
        for t in range(n):
            context = [1.0, float(t % 3)]
            arm = agent.choose(context)
            found.append(agent.mode)
            agent.update(context, arm, 1.0 - arm)
        return found

    assert modes(Greedy(initial_pulls=1), 4) == ["forced"] * 2 + ["greedy"] * 2
    assert modes(OLSBandit(q=1), 6) == ["forced"] * 4 + ["policy"] * 2
    assert modes(Uniform(), 2) == ["policy"] * 2
    switching = GreedyFirst(initial_pulls=2, t0=6, lambda0=100.0, fallback=Uniform())
    assert modes(switching, 10) == ["forced"] * 4 + ["greedy"] * 3 + ["fallback"] * 3


@pytest.mark.parametrize("rule", [2, 1])
def test_the_mode_tells_an_arm_that_is_explored_from_a_greedy_choice(rule):
    """Where arms are explored one by one; only the scores of arms that starve are raised."""
    agent = trial(GreedyFirst(on_alarm="hold", rule=rule), arm_names=["good", "poor"])
    context = [1.0, 0.2]
    agent.choose(context)
    assert (agent.mode, agent.explored_arms) == ("greedy", ())
    assert agent.alarmed_at[0] == 0 < agent.alarmed_at[1] == agent.diversity().arms[1].tripped_at
    agent.answer("explore_arm", "poor")
    agent.choose(context, eligible=["poor"])
    assert (agent.mode, agent.explored_arms) == ("explored", ("poor",))
    agent.choose(context, eligible=["good"])
    assert agent.mode == "greedy"
    assert [*agent.raised_by] == ["poor"]  # which was not eligible
    agent.explore()
    agent.update(context, "good", 2.0, step=0)  # arms are looked at after the next reward
    agent.choose(context)
    assert (agent.mode, agent.explored_arms) == ("fallback", ("good", "poor"))
    agent.drop_arm("poor")
    agent.choose(context)
    assert (agent.mode, agent.explored_arms) == ("greedy", ())
    assert Agent(Greedy(), n_arms=2, n_features=2).alarmed_at.tolist() == [0, 0]


@pytest.mark.parametrize("greedy", [None, GLMGreedy()])
@pytest.mark.parametrize("rule", [2, 1])
def test_a_score_is_the_linear_predictor_and_what_it_was_raised_by(rule, greedy):
    agent = Agent(GreedyFirst(greedy=greedy, rule=rule), n_arms=3, n_features=2, seed=1)
    rng = np.random.default_rng(5)
    raised = 0
    for _ in range(150):
        context = np.array([1.0, rng.normal()])
        arm = agent.choose(context)
        scores, by = agent.state.scores.value.copy(), agent.raised_by
        assert tuple(by) == agent.explored_arms
        added = [by.get(name, 0.0) for name in agent.arm_names]
        predictor = agent.contributions(context).sum(axis=1)
        np.testing.assert_allclose(scores, predictor + added, rtol=1e-9, atol=1e-9)
        assert arm in np.flatnonzero(scores >= scores.max() - 1e-9)
        raised += len(by)
        agent.update(context, arm, float(rng.random() < [0.7, 0.6, 0.2][arm]))
    assert raised > 30


def test_nothing_is_raised_where_nothing_is_explored_arm_by_arm():
    agent = trial(Greedy(), n=5)
    agent.choose([1.0, 0.5])
    assert agent.raised_by == {}


def test_pulls_are_the_rewards_each_arm_has_learned_from():
    agent = trial(GreedyFirst(warmup="pinv", t0=20), n=50)
    agent.choose([1.0, 0.0])
    agent.update_many([[1.0, 0.5]] * 3, [1, 1, 1], [0.0, 0.0, 0.0])
    assert agent.pulls.sum() == agent.rewards == 53
    assert agent.pulls.tolist() == [arm.pulls for arm in agent.diversity().arms]


def test_contributions_add_up_to_the_linear_predictor():
    agent = trial(Greedy(warmup="pinv"))
    context = np.array([1.0, -0.7])
    parts = agent.contributions(context)
    assert parts.shape == (2, 2)
    np.testing.assert_array_equal(parts, agent.state.model.estimate * context)
    np.testing.assert_array_equal(parts.sum(axis=1), agent.expected_rewards(context))

    logistic = Agent(GLMGreedy(link="logistic"), n_arms=2, n_features=2, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(80):
        x = np.array([1.0, rng.normal()])
        arm = int(rng.integers(2))
        logistic.update(x, arm, float(rng.random() < 1 / (1 + np.exp(-x[1]))), step=0)
    predictor = logistic.contributions(context).sum(axis=1)
    np.testing.assert_allclose(logistic.expected_rewards(context), 1 / (1 + np.exp(-predictor)))
    with pytest.raises(ValueError, match="context must be"):
        agent.contributions([1.0, np.nan])


def test_history_may_come_while_decisions_wait():
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=1)
    waiting = np.array([1.0, 2.0])
    arm = agent.choose(waiting)
    agent.update([1.0, 0.0], 1 - arm, 5.0, step=0)
    assert (agent.decisions, agent.joined, agent.foreign) == (1, 0, 1)
    agent.update(waiting, arm, 1.0, step=1)
    assert (agent.joined, agent.foreign, agent.rewards) == (1, 1, 2)


def test_alarms_are_counted_once():
    agent = trial(GreedyFirst(warmup="pinv", t0=10, lambda0=1.0, on_alarm="hold"), n=10)
    before = agent.alarms
    assert before == 0
    rng = np.random.default_rng(0)
    for _ in range(100):
        context = np.array([1.0, rng.uniform(-1, 1)])
        agent.update(context, agent.choose(context), 1.0)
    tripped = [arm.tripped_at for arm in agent.diversity().arms]
    assert agent.alarms == sum(at is not None for at in tripped) > 0
    assert trial(Greedy(), n=5).alarms == 0


def test_a_retired_arm_changes_nothing_else():
    policy = GreedyFirst(warmup="pinv", initial_pulls=3, t0=12, lambda0=0.2)
    agent = trial(policy, n_arms=3, arm_names=["a", "b", "c"])
    assert agent.diversity().mode == "fallback"
    switched_at = agent.diversity().switched_at
    learned = agent.state.fallback.model.gram.copy()
    agent.retire_arm("c")
    report = agent.diversity()
    assert (report.mode, report.switched_at) == ("fallback", switched_at)
    assert [arm.dropped for arm in report.arms] == [False, False, True]
    np.testing.assert_array_equal(agent.state.fallback.model.gram, learned)
    rng = np.random.default_rng(0)
    arms = [agent.choose([1.0, rng.uniform(-1, 1)]) for _ in range(100)]
    assert 2 not in arms
    agent.retire_arm("a")
    with pytest.raises(ValueError, match="arm must be an arm other than the last one"):
        agent.retire_arm("b")


def test_the_samples_needed_would_do():
    """Given about that many more samples at usual contexts, the arm passes."""
    agent = trial(GreedyFirst(warmup="pinv", initial_pulls=4, t0=10, lambda0=0.2, on_alarm="hold"))
    starved = agent.diversity().arms[1]
    assert starved.min_eigenvalue < starved.threshold
    assert starved.samples_needed > 0
    assert agent.diversity().arms[0].samples_needed == 0
    rng = np.random.default_rng(1)
    counts = {0.5: None, 2.0: None}
    for share in counts:
        other = Agent.from_bytes(agent.to_bytes())
        for _ in range(int(np.ceil(share * starved.samples_needed))):
            other.update([1.0, rng.uniform(-1, 1)], 1, 0.0, step=0)
        after = other.diversity().arms[1]
        counts[share] = after.min_eigenvalue >= after.threshold
    assert counts == {0.5: False, 2.0: True}


def test_the_samples_that_a_later_arm_needs():
    """Its line begins where it was added, and rises as fast as the others'."""
    policy = GreedyFirst(warmup="pinv", t0=10, lambda0=2.0, on_alarm="hold")
    agent = Agent(policy, n_arms=2, n_features=2, seed=1)

    def learn(arm, times):
        for number in range(times):
            agent.update([1.0, (-1.0) ** number], arm, 1.0, step=0)

    learn(0, 200)
    later = agent.add_arm("later", initial_pulls=0)
    learn(0, 100)
    told = agent.diversity().arms[later].samples_needed
    assert told == 100
    learn(later, told - 2)
    short = agent.diversity().arms[later]
    assert short.min_eigenvalue < short.threshold
    learn(later, 2)
    enough = agent.diversity().arms[later]
    assert enough.min_eigenvalue >= enough.threshold


def test_no_number_of_samples_would_do_where_the_line_rises_faster():
    agent = trial(GreedyFirst(warmup="pinv", initial_pulls=4, t0=10, lambda0=50.0, on_alarm="hold"))
    assert agent.diversity().arms[1].samples_needed is None
    assert trial(Greedy(warmup="pinv")).diversity().arms[0].samples_needed is None


def test_bytes_hold_the_whole_agent():
    agent = trial(GreedyFirst(warmup="pinv", t0=10, lambda0=0.2))
    other = Agent.from_bytes(agent.to_bytes())
    np.testing.assert_array_equal(agent.buffer, other.buffer)
    assert (other.decisions, other.joined, other.foreign) == (200, 200, 0)
    with pytest.raises(ValueError, match="content is not a greedyfirst agent file"):
        Agent.from_bytes(agent.to_bytes()[:-1])


def test_standard_errors_are_those_of_the_posterior():
    """Var(x'β) = x'(Σ₀⁻¹ + X'X/σ²)⁻¹x, for a prior and a noise that are given."""
    sigma, prior = 0.5, np.diag([1.0, 4.0, 0.25])
    policy = ThompsonSampling(prior_covariance=prior, sigma=sigma)
    agent = Agent(policy, n_arms=2, n_features=3, seed=1)
    rows = np.random.default_rng(0).normal(size=(40, 3))
    for row in rows:
        agent.update(row, 1, float(row.sum()), step=0)
    context = np.array([1.0, -2.0, 0.5])
    posterior = np.linalg.inv(np.linalg.inv(prior) + rows.T @ rows / sigma**2)
    expected = [np.sqrt(context @ matrix @ context) for matrix in (prior, posterior)]
    assert agent.standard_errors(context) == pytest.approx(expected, rel=1e-9)


def test_standard_errors_of_learned_ridge_tend_to_those_of_least_squares():
    agent = Agent(Greedy(), n_arms=1, n_features=3, seed=1)
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(2000), rng.normal(size=(2000, 2))])
    rewards = rows @ [1.0, 0.5, -0.5] + rng.normal(scale=0.3, size=2000)
    assert agent.standard_errors(rows[0]) is None  # the noise is not known yet
    agent.update_many(rows, np.zeros(2000, int), rewards)
    fitted = sm.OLS(rewards, rows).fit()
    for context in rows[:5]:
        expected = fitted.get_prediction(context).se_mean
        assert agent.standard_errors(context) == pytest.approx(expected, rel=0.02)


def test_standard_errors_with_a_link_are_by_the_delta_method():
    agent = Agent(GLMGreedy(), n_arms=2, n_features=2, seed=1)
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(3000), rng.normal(size=3000)])
    rewards = (rng.random(3000) < 1 / (1 + np.exp(-(rows @ [0.3, 0.8])))).astype(float)
    for row, value in zip(rows, rewards, strict=True):
        agent.update(row, 0, value, step=0)
    fitted = sm.GLM(rewards, rows, family=sm.families.Binomial()).fit()
    for context in rows[:5]:
        expected = fitted.get_prediction(context[None]).se[0]
        told = agent.standard_errors(context)
        assert told[0] == pytest.approx(expected, rel=0.02)
        assert np.isnan(told[1])


def test_least_squares_tells_no_standard_errors():
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=1)
    agent.update([1.0, 2.0], 0, 1.0, step=0)
    assert agent.standard_errors([1.0, 2.0]) is None
    with pytest.raises(ValueError, match="context must be"):
        agent.standard_errors([1.0])
