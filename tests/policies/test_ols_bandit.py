"""OLS Bandit against the forced-sample sets and the filter of the appendix (Algorithm 4)."""

import numpy as np
import pytest

from greedyfirst import Agent, OLSBandit
from greedyfirst.testing.trial_runs import play_one_by_one


def forced_arms(n_arms, q, horizon):
    """T_i of the appendix by brute force: {step: arm}, both as the library counts them."""
    times = {}
    for n in range(20):
        for i in range(1, n_arms + 1):
            for j in range(q * (i - 1) + 1, q * i + 1):
                times[(2**n - 1) * n_arms * q + j] = i - 1
    return {step: arm for step, arm in times.items() if step <= horizon}


def counting_agent(policy, n_arms, d=1):
    return Agent(policy, n_arms=n_arms, n_features=d, seed=1)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
@pytest.mark.parametrize("n_arms", [1, 2, 3, 7])
def test_forced_samples_are_those_of_the_appendix(n_arms, q):
    horizon = 700
    agent = counting_agent(OLSBandit(q=q), n_arms)
    forced = {}
    for step in range(1, horizon + 1):
        before = agent.state.forced.pulls.copy()
        due = agent.probabilities([1.0])
        arm = agent.choose([1.0])
        agent.update([1.0], arm, 0.0)
        if (agent.state.forced.pulls != before).any():
            forced[step] = arm
            assert due[arm] == 1
            assert agent.state.forced.pulls[arm] == before[arm] + 1
    assert forced == forced_arms(n_arms, q, horizon)
    assert agent.state.model.pulls.sum() == horizon


def test_initial_pulls_are_in_turns_and_count_as_forced():
    """EXPERIMENTS: the first K·d rounds are round-robin, after them the paper's set."""
    n_arms, pulls, q, horizon = 3, 4, 2, 120
    agent = counting_agent(OLSBandit(q=q, initial_pulls=pulls), n_arms)
    expected = {step: (step - 1) % n_arms for step in range(1, n_arms * pulls + 1)}
    scheduled = forced_arms(n_arms, q, horizon)
    expected |= {step: arm for step, arm in scheduled.items() if step > n_arms * pulls}
    forced = {}
    for step in range(1, horizon + 1):
        before = agent.state.forced.pulls.sum()
        arm = agent.choose([1.0])
        agent.update([1.0], arm, 0.0)
        if agent.state.forced.pulls.sum() != before:
            forced[step] = arm
    assert forced == expected


def test_a_forced_arm_that_is_not_eligible_is_not_forced():
    agent = counting_agent(OLSBandit(), 2)
    assert agent.choose([1.0], eligible=[1]) == 1
    agent.update([1.0], 1, 1.0)
    assert agent.state.forced.pulls.sum() == 0
    assert agent.choose([1.0]) == 1


def taught(h, forced_rewards, own_rewards):
    """Three arms whose forced and all-sample estimates at x = 1 are known means.

    Steps 1 to 6 are forced (q = 2); the rows after them were not decided here.
    """
    agent = counting_agent(OLSBandit(h=h, q=2, warmup="none"), 3)
    for step in range(6):
        arm = agent.choose([1.0])
        assert arm == step // 2
        agent.update([1.0], arm, forced_rewards[arm])
    for arm, reward in enumerate(own_rewards):
        agent.update([1.0], arm, reward)
    agent.decisions = 15  # steps 7 to 12 are forced again, 13 to 18 are not
    return agent


def test_the_filter_is_half_of_h():
    """Forced means 1, 0.8 and 0; all-sample means (2·forced + own)/3 would pick the last arm."""
    forced, own = [1.0, 0.8, 0.0], [0.0, 2.0, 9.0]
    means = [(2 * f + o) / 3 for f, o in zip(forced, own, strict=True)]
    for h, expected in [(0.1, [0]), (0.39, [0]), (0.41, [0, 1]), (1.99, [0, 1]), (2.01, [0, 1, 2])]:
        agent = taught(h, forced, own)
        probabilities = agent.probabilities([1.0])
        best = max(expected, key=means.__getitem__)
        assert probabilities.tolist() == [float(arm == best) for arm in range(3)]
        kept = np.isfinite(agent.state.scores.value)
        assert np.flatnonzero(kept).tolist() == expected
        assert agent.state.scores.value[best] == pytest.approx(means[best])


@pytest.mark.parametrize("more", [0, 200, 4000])
def test_an_h_that_is_learned_is_four_deviations_of_the_rewards(more):
    forced, own = [1.0, 0.8, 0.0], [0.9, 3.0, -2.0]
    agent = taught("auto", forced, own)
    agent.update_many(np.ones((more, 1)), np.zeros(more, int), np.full(more, 0.9))
    rewards = [*np.repeat(forced, 2), *own, *np.full(more, 0.9)]
    h = 4 * np.std(rewards, ddof=1)
    agent.probabilities([1.0])
    kept = np.isfinite(agent.state.scores.value)
    assert kept.tolist() == [forced[arm] >= 1.0 - h / 2 for arm in range(3)]
    assert kept.sum() == {0: 3, 200: 2, 4000: 1}[more]


def test_no_arm_is_ruled_out_before_two_rewards_differ():
    agent = counting_agent(OLSBandit(h="auto", warmup="none"), 2)
    agent.update_many(np.ones((5, 1)), [0, 0, 0, 0, 1], np.full(5, 7.0))
    agent.decisions = 4
    assert np.isfinite(agent.probabilities([1.0])).all()
    assert np.isfinite(agent.state.scores.value).all()


def test_an_arm_exactly_h_half_below_stays():
    """Algorithm 4 keeps arms with X'β ≥ max - h/2."""
    agent = taught(1.0, [1.0, 0.5, 0.25], [1.0, 8.0, 0.0])
    assert agent.probabilities([1.0])[1] == 1


def test_the_filter_looks_at_eligible_arms_only():
    agent = taught(0.5, [5.0, 1.0, 0.9], [0.0, 0.0, 3.0])
    assert agent.choose([1.0], eligible=[1, 2]) == 2


@pytest.mark.parametrize("pulls", [0, 2, 5])
def test_scheduled_refresh_is_at_forced_samples_behind_the_initial_pulls(pulls):
    """Decisions between them use the estimates of then; before the first, all arms are alike."""
    n_arms, d, horizon, h, q = 3, 2, 300, 0.6, 2
    rng = np.random.default_rng(10)
    contexts = rng.normal(size=(horizon, d))
    rewards = contexts @ rng.normal(size=(d, n_arms)) + 0.5 * rng.normal(size=(horizon, n_arms))
    options = {"h": h, "q": q, "warmup": "pinv", "initial_pulls": pulls, "refresh": "scheduled"}
    agent = Agent(OLSBandit(**options), n_arms=n_arms, n_features=d, seed=2)
    arms = np.zeros(horizon, int)
    forced = {step: (step - 1) % n_arms for step in range(1, n_arms * pulls + 1)}
    schedule = forced_arms(n_arms, q, horizon)
    scheduled = {step: arm for step, arm in schedule.items() if step > n_arms * pulls}
    forced |= scheduled
    is_forced = np.array([step in forced for step in range(1, horizon + 1)])
    in_use = np.zeros((2, n_arms, d))
    ties = 0
    for t in range(horizon):
        probability = agent.probabilities(contexts[t])
        arms[t] = agent.choose(contexts[t])
        agent.update(contexts[t], int(arms[t]), rewards[t, arms[t]])
        if t + 1 in scheduled:
            assert arms[t] == scheduled[t + 1]
            for row, rows in enumerate((is_forced[: t + 1], np.ones(t + 1, bool))):
                mine = rows & (arms[: t + 1] == arms[t])
                x, y = contexts[: t + 1][mine], rewards[: t + 1][mine, arms[t]]
                in_use[row, arms[t]] = np.linalg.lstsq(x, y, rcond=None)[0]
        elif t + 1 not in forced:
            scores = in_use @ contexts[t]
            scores[1, scores[0] < scores[0].max() - h / 2] = -np.inf
            best = scores[1] >= scores[1].max() - 1e-9
            np.testing.assert_allclose(probability, best / best.sum(), atol=1e-12)
            ties += best.sum() > 1
    assert ties == {0: 0, 2: 0, 5: 3}[pulls]  # rounds 16 to 18, before the schedule's 43


@pytest.mark.parametrize("warmup", ["none", "ridge", "pinv"])
def test_a_plain_numpy_version_takes_the_same_arms(warmup):
    """Algorithm 4 with lstsq from scratch, where estimates do not tie."""
    n_arms, d, horizon, h, q = 3, 2, 300, 0.6, 2
    rng = np.random.default_rng(9)
    contexts = rng.normal(size=(horizon, d))
    rewards = contexts @ rng.normal(size=(d, n_arms)) + 0.5 * rng.normal(size=(horizon, n_arms))
    agent = Agent(OLSBandit(h=h, q=q, warmup=warmup), n_arms=n_arms, n_features=d, seed=2)
    arms = np.array(play_one_by_one(agent, contexts, rewards))
    forced = forced_arms(n_arms, q, horizon)
    is_forced = np.array([step in forced for step in range(1, horizon + 1)])
    for t in range(horizon):
        if is_forced[t]:
            assert arms[t] == forced[t + 1]
            continue
        scores = np.zeros((2, n_arms))
        for row, rows in enumerate((is_forced[:t], np.ones(t, bool))):
            for arm in range(n_arms):
                mine = rows & (arms[:t] == arm)
                estimate = np.linalg.lstsq(contexts[:t][mine], rewards[:t][mine, arm], rcond=None)
                scores[row, arm] = contexts[t] @ estimate[0]
        scores[1, scores[0] < scores[0].max() - h / 2] = -np.inf
        assert arms[t] == np.argmax(scores[1])
