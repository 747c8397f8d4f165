"""Greedy-First against plain NumPy versions of Algorithms 3 and 5 that test every round."""

import numpy as np
import pytest

from greedyfirst import OFUL, Agent, Greedy, GreedyFirst, OLSBandit, ThompsonSampling, simulate
from greedyfirst.problems import (
    ClippedGaussian,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
)
from greedyfirst.testing.trial_runs import play_compiled, play_one_by_one
from support.greedy_first_reference import smallest_eigenvalues, switch_by_testing_every_round

HORIZON = 120


def random_contexts(rng, d, horizon, *, collinear):
    """One of several laws; collinear ones have linear dependence, some only for a while."""
    kind = rng.integers(4)
    if kind == 0:
        contexts = rng.normal(size=(horizon, d))
    elif kind == 1:
        contexts = np.column_stack([np.ones(horizon), rng.uniform(-1, 1, size=(horizon, d - 1))])
    elif kind == 2:
        contexts = rng.normal(size=(horizon, d)) * np.float_power(10.0, rng.integers(-2, 2, d))
    else:
        contexts = np.eye(d)[rng.integers(d, size=horizon)] * rng.uniform(0.5, 1, (horizon, d))
    if collinear and d > 1:
        contexts[0, :-1] = 1.0  # a first row of zeros would have no span
        until = horizon if rng.random() < 0.5 else rng.integers(horizon)
        contexts[:until, -1] = contexts[:until, :-1].sum(axis=1)
    return np.ascontiguousarray(contexts)


def random_instance(seed, *, span):
    """A policy, contexts and rewards; thresholds are such that about half the runs switch."""
    rng = np.random.default_rng(seed)
    n_arms, d = int(rng.integers(2, 5)), int(rng.integers(1, 5))
    t0 = int(rng.integers(1, 40))
    options = {
        "warmup": str(rng.choice(["none", "ridge", "pinv"])),
        "initial_pulls": int(rng.integers(0, 4)),
        "t0": t0,
        "lambda0": None if rng.random() < 0.5 else float(np.float_power(10, rng.uniform(-4, 0))),
        "lambda0_minimum": 0.0 if rng.random() < 0.5 else 1e-3,
        "test_after": None if rng.random() < 0.5 else int(rng.integers(1, 60)),
    }
    contexts = random_contexts(rng, d, HORIZON, collinear=span == "pooled" or rng.random() < 0.1)
    rewards = contexts @ rng.normal(size=(d, n_arms)) + 0.3 * rng.normal(size=(HORIZON, n_arms))
    return GreedyFirst(**options, span=span), contexts, rewards


@pytest.mark.slow
@pytest.mark.parametrize(("span", "instances"), [("full", 400), ("pooled", 400)])
def test_the_lazy_test_is_that_of_testing_every_round(span, instances):
    switches = 0
    for seed in range(instances):
        policy, contexts, rewards = random_instance(seed, span=span)
        arms, state = play_compiled(policy, contexts, rewards, seed=seed)
        t0, test_after = policy.t0, policy.test_after or policy.t0
        expected = switch_by_testing_every_round(
            contexts,
            np.array(arms),
            rewards.shape[1],
            t0=t0,
            lambda0=policy.lambda0,
            lambda0_minimum=policy.lambda0_minimum,
            test_after=test_after,
            span=span,
        )
        watch = state.watch
        assert watch.switched_at == expected.switched_at, (seed, policy)
        assert watch.lambda0 == pytest.approx(expected.lambda0, rel=1e-6)
        if expected.switched_at:
            switches += 1
            culprit = watch.culprit
            assert culprit in expected.tripping
            weakest = watch.weakest[culprit]
            assert np.linalg.norm(weakest) == pytest.approx(1)
            gram = expected.grams[culprit]
            assert weakest @ gram @ weakest == pytest.approx(
                expected.eigenvalues[culprit], rel=1e-6, abs=1e-9 * max(np.trace(gram), 1.0)
            )
    assert instances / 5 < switches < instances * 4 / 5


def test_switch_counts_and_costs_of_figure_2a():
    """At most 10 eigenvalue computations in 10 000 rounds, as printed or not."""
    problem = LinearProblem(
        contexts=ClippedGaussian(covariance=0.5, n_features=3, bound=1),
        arms=GaussianParameters(n_arms=2, mean=np.zeros(3), covariance=1.0),
        noise=GaussianNoise(sigma=0.5),
    )
    policies = {
        "text": GreedyFirst(span="full"),
        "pooled": GreedyFirst(fallback=OLSBandit()),
        "practice": GreedyFirst(warmup="ridge", t0=24, lambda0_minimum=1e-5, test_after=48),
    }
    result = simulate(problem, policies, n_instances=50, horizon=10_000, seed=10, n_jobs=2)
    assert result.eigenvalue_computations.max() <= 10
    assert result.eigenvalue_computations.min() >= 2


# ---------------------------------------------------------------- before and after the switch


def switching_run(policy, *, seed=3, horizon=200, n_arms=3, d=3, contexts=None):
    """Play until the horizon; returns the agent, arms, contexts and rewards."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(horizon, d)) if contexts is None else contexts
    rewards = contexts @ rng.normal(size=(contexts.shape[1], n_arms)) + 0.3 * rng.normal(
        size=(len(contexts), n_arms)
    )
    agent = Agent(policy, n_arms=n_arms, n_features=contexts.shape[1], seed=seed)
    return agent, play_one_by_one(agent, contexts, rewards), contexts, rewards


def test_greedy_before_the_switch_and_a_fresh_fallback_after_it():
    fallback = OLSBandit(h=0.3, q=2, warmup="pinv")
    policy = GreedyFirst(warmup="pinv", t0=30, lambda0=0.5, carry_over=False, fallback=fallback)
    agent, arms, contexts, rewards = switching_run(policy)
    switch = agent.diversity().switched_at
    assert 30 < switch < 100
    greedy = Agent(Greedy(warmup="pinv"), n_arms=3, n_features=3, seed=3)
    before = play_one_by_one(greedy, contexts[:switch], rewards[:switch])
    fresh = Agent(fallback, n_arms=3, n_features=3, seed=99)
    after = play_one_by_one(fresh, contexts[switch:], rewards[switch:])
    assert arms == before + after


def test_a_zero_estimate_switches_at_t0():
    """Algorithm 5: one arm never gets a sample, since its rewards never look better."""
    policy = GreedyFirst(warmup="pinv", t0=20)
    contexts = np.tile([1.0, 0.0], (60, 1))
    agent, *_ = switching_run(policy, contexts=contexts)
    assert agent.diversity().switched_at == 20


def test_pooled_span_does_not_switch_where_features_are_collinear():
    kinds = np.random.default_rng(8).integers(3, size=400)
    kinds[:18] = np.arange(18) // 3 % 3  # the initial pulls show each arm all kinds
    contexts = np.column_stack([np.ones(400), np.eye(3)[kinds]])
    options = {"warmup": "pinv", "initial_pulls": 6, "t0": 40, "lambda0": 1e-4}
    full, *_ = switching_run(GreedyFirst(**options, span="full"), contexts=contexts)
    assert full.diversity().switched_at == 41
    pooled, *_ = switching_run(GreedyFirst(**options, span="pooled"), contexts=contexts)
    assert pooled.diversity().switched_at is None


# ---------------------------------------------------------------- samples carried over


@pytest.mark.parametrize("extra", [0, 60], ids=["at the switch", "60 rounds later"])
def test_carried_over_samples_make_the_all_sample_estimator(extra):
    policy = GreedyFirst(
        warmup="pinv", t0=30, lambda0=0.5, carry_over=True, fallback=OLSBandit(warmup="pinv")
    )
    whole, _, contexts, rewards = switching_run(policy)
    rows = slice(whole.diversity().switched_at + extra)
    agent = Agent(policy, n_arms=3, n_features=3, seed=3)
    arms = np.array(play_one_by_one(agent, contexts[rows], rewards[rows]))
    model = agent.state.fallback.model
    for arm in range(3):
        x, y = contexts[rows][arms == arm], rewards[rows][arms == arm, arm]
        assert np.allclose(model.gram[arm], x.T @ x, rtol=1e-9)
        assert np.allclose(
            model.estimate[arm], np.linalg.lstsq(x, y, rcond=None)[0], rtol=1e-6, atol=1e-9
        )
    forced_times = [(2**n - 1) * 3 + j for n in range(6) for j in (1, 2, 3)]
    forced_rows = agent.state.fallback.forced.pulls.sum()
    assert forced_rows == sum(t <= extra for t in forced_times)


def test_carried_over_samples_with_the_ridge_of_practice():
    """While an arm is singular its ridge penalty ‖X‖²/n² counts all samples."""
    policy = GreedyFirst(
        warmup="ridge", t0=30, span="full", carry_over=True, fallback=OLSBandit(warmup="ridge")
    )
    contexts = np.random.default_rng(4).normal(size=(30, 2)) @ [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    agent, arms, contexts, rewards = switching_run(policy, contexts=contexts)
    assert agent.diversity().switched_at == 30
    for arm in range(3):
        x = contexts[np.array(arms) == arm]
        y = rewards[np.array(arms) == arm, arm]
        penalty = (np.linalg.norm(x, 2) / max(len(x), 1)) ** 2 if len(x) else 1.0
        expected = np.linalg.solve(x.T @ x + penalty * np.eye(3), x.T @ y)
        assert np.allclose(agent.state.fallback.model.estimate[arm], expected, rtol=1e-6, atol=1e-9)


def test_carried_over_samples_keep_features_of_small_units():
    policy = GreedyFirst(
        warmup="pinv",
        initial_pulls=5,
        t0=60,
        lambda0_minimum=1e9,
        carry_over=True,
        fallback=OLSBandit(warmup="pinv"),
    )
    contexts = np.random.default_rng(5).normal(size=(60, 3)) * [1e4, 1.0, 1e-4]
    agent, arms, contexts, rewards = switching_run(policy, contexts=contexts)
    assert agent.diversity().switched_at == 60
    for arm in range(3):
        x, y = contexts[np.array(arms) == arm], rewards[np.array(arms) == arm, arm]
        expected = np.linalg.lstsq(x, y, rcond=None)[0]
        error = agent.state.fallback.model.estimate[arm] - expected
        assert np.linalg.norm(error) < 1e-6 * np.linalg.norm(expected)


def test_carried_over_samples_are_not_longer_contexts_to_oful():
    """L is the largest norm of a context; a row that stands for many has no such norm."""
    policy = GreedyFirst(warmup="pinv", t0=30, lambda0=0.5, carry_over=True, fallback=OFUL(sigma=1))
    agent, _, contexts, _ = switching_run(policy)
    assert agent.diversity().switched_at is not None
    longest = max(1.0, np.linalg.norm(contexts, axis=1).max())
    assert agent.state.fallback.longest_context <= longest * (1 + 1e-12)


def test_carried_over_samples_make_the_posterior():
    policy = GreedyFirst(
        warmup="pinv", t0=30, lambda0=0.5, carry_over=True, fallback=ThompsonSampling(sigma=0.3)
    )
    agent, arms, contexts, rewards = switching_run(policy)
    assert agent.diversity().switched_at is not None
    for arm in range(3):
        x, y = contexts[np.array(arms) == arm], rewards[np.array(arms) == arm, arm]
        covariance = np.linalg.inv(np.eye(3) + x.T @ x / 0.09)
        model = agent.state.fallback.model
        assert np.allclose(model.covariance[arm], covariance, rtol=1e-7, atol=1e-12)
        assert np.allclose(model.estimate[arm], covariance @ x.T @ y / 0.09, rtol=1e-7)


# ---------------------------------------------------------------- other answers to an alarm

ALARMING = {"warmup": "pinv", "t0": 30, "lambda0": 0.5}


def test_hold_stays_greedy_and_tells_the_decision_maker():
    agent, arms, contexts, rewards = switching_run(GreedyFirst(**ALARMING, on_alarm="hold"))
    greedy = Agent(Greedy(warmup="pinv"), n_arms=3, n_features=3, seed=3)
    assert arms == play_one_by_one(greedy, contexts, rewards)
    report = agent.diversity()
    assert (report.mode, report.switched_at) == ("greedy", None)
    assert report.culprit in agent.arm_names
    assert [arm.watched for arm in report.arms] == [arm.tripped_at is None for arm in report.arms]


def test_drop_stays_greedy_without_the_arm():
    agent, arms, contexts, rewards = switching_run(GreedyFirst(**ALARMING, on_alarm="drop"))
    report = agent.diversity()
    assert (report.mode, report.switched_at) == ("greedy", None)
    dropped_at = {k: arm.tripped_at for k, arm in enumerate(report.arms) if arm.dropped}
    assert 1 <= len(dropped_at) < 3
    greedy = Agent(Greedy(warmup="pinv"), n_arms=3, n_features=3, seed=3)
    expected = []
    for t, (context, row) in enumerate(zip(contexts, rewards, strict=True)):
        left = [arm for arm in range(3) if t < dropped_at.get(arm, np.inf)]
        expected.append(greedy.choose(context, eligible=left))
        greedy.update(context, expected[-1], float(row[expected[-1]]))
    assert arms == expected


def test_alarms_are_those_of_testing_each_arm_by_itself():
    """With ``hold`` an arm's alarm is at the first t > t₀ at which its own λ_min falls short."""
    agent, arms, contexts, _ = switching_run(GreedyFirst(**ALARMING, on_alarm="hold"))
    eigenvalues = smallest_eigenvalues(contexts, np.array(arms), 3, span="full")
    t = np.arange(1, len(arms) + 1)
    for arm, report in enumerate(agent.diversity().arms):
        short = t[(t > 30) & (eigenvalues[:, arm] < 0.5 * t / 4)]
        assert report.tripped_at == (short[0] if len(short) else None)


# ---------------------------------------------------------------- initial samples handed over


@pytest.mark.parametrize(
    "fallback",
    [
        OLSBandit(h=0.3, warmup="pinv", initial_pulls=4),
        OLSBandit(h=0.3, q=2, warmup="pinv", initial_pulls=6),
        OLSBandit(h=0.3, warmup="pinv", initial_pulls=4, refresh="scheduled"),
        OFUL(sigma=0.3),
        Greedy(warmup="pinv"),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_initial_samples_are_the_fallbacks_own_first_steps(fallback):
    """After the switch it decides as an agent of its own that made the initial pulls itself."""
    options = {"warmup": "pinv", "initial_pulls": 4, "t0": 30, "lambda0": 0.5}
    policy = GreedyFirst(**options, carry_over="initial", fallback=fallback)
    agent, arms, contexts, rewards = switching_run(policy)
    switch = agent.diversity().switched_at
    assert 30 < switch < 100
    own = Agent(fallback, n_arms=3, n_features=3, seed=3)
    for step in range(12):
        arm = step % 3
        own.choose(contexts[step])
        own.update(contexts[step], arm, rewards[step, arm])
    expected = []
    for step in range(switch, len(contexts)):
        probability = own.probabilities(contexts[step])
        own.choose(contexts[step])
        arm = arms[step]
        expected.append(probability[arm])
        own.update(contexts[step], arm, rewards[step, arm])
    assert min(expected) > 0.3  # certain, or a tie of at most three arms
    assert np.mean(np.array(expected) == 1) > 0.5
    np.testing.assert_array_equal(agent.state.fallback.model.gram, own.state.model.gram)
    if isinstance(fallback, OLSBandit):
        np.testing.assert_array_equal(agent.state.fallback.forced.pulls, own.state.forced.pulls)
        assert (agent.state.fallback.forced.pulls >= 4).all()


def test_without_initial_pulls_there_is_nothing_to_hand_over():
    with pytest.raises(ValueError, match=r"^carry_over must be True or False: .*got 'initial'"):
        GreedyFirst(carry_over="initial", fallback=OLSBandit(initial_pulls=3))
