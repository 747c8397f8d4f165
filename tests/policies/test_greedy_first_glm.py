"""Greedy-First over generalised linear rewards: the test, the hand-over, refused combinations."""

import numpy as np
import pytest

from greedyfirst import (
    GLMUCB,
    OFUL,
    Agent,
    EpsilonGreedy,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    simulate,
)
from greedyfirst.problems import GeneralizedLinearProblem, UniformBall
from greedyfirst.testing.trial_runs import play_compiled, play_one_by_one
from support.glm_reference import draw_rewards, maximum_likelihood
from support.greedy_first_reference import smallest_eigenvalues, switch_by_testing_every_round

N_ARMS, D = 3, 3
# λ₀ = 0.5 trips the test soon after t₀.
SOON = {"t0": 30, "lambda0": 0.5}
LOGISTIC = GLMGreedy(initial_pulls=4)


def draw_run(link="logistic", *, horizon=200, n_arms=N_ARMS, d=D, seed=3):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(horizon, d))
    return contexts, draw_rewards(rng, link, 0.6 * contexts @ rng.normal(size=(d, n_arms)))


def rows_of(contexts, rewards, arms, arm):
    mine = np.array(arms) == arm
    return contexts[: len(mine)][mine], rewards[: len(mine)][mine, arm]


def played(policy, contexts, rewards, seed=3):
    agent = Agent(policy, n_arms=rewards.shape[1], n_features=contexts.shape[1], seed=seed)
    return agent, play_one_by_one(agent, contexts, rewards)


def at_the_switch(policy, link="logistic", *, by_hand=False):
    """An agent right after its switch, its arms, and all contexts and rewards."""
    contexts, rewards = draw_run(link)
    if by_hand:
        agent, arms = played(policy, contexts[:40], rewards[:40])
        assert agent.diversity().mode == "greedy"
        agent.explore()
    else:
        whole, _ = played(policy, contexts, rewards)
        rows = slice(whole.diversity().switched_at)
        agent, arms = played(policy, contexts[rows], rewards[rows])
    assert agent.diversity().mode == "fallback"
    assert agent.diversity().switched_at == len(arms) >= 30
    return agent, arms, contexts, rewards


# ---------------------------------------------------------------- when it switches


def test_the_switch_is_that_of_testing_every_round():
    """Smallest eigenvalues of all arms' Gram matrices by NumPy, against λ₀t/4."""
    switches = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        link = str(rng.choice(["logistic", "poisson"]))
        n_arms, d, t0 = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(5, 40))
        policy = GreedyFirst(
            greedy=GLMGreedy(link=link, initial_pulls=int(rng.integers(4))),
            t0=t0,
            lambda0=None if rng.random() < 0.5 else float(np.float_power(10, rng.uniform(-0.5, 1))),
            span="full" if rng.random() < 0.5 else "pooled",
            fallback=GLMUCB(link=link),
        )
        contexts, rewards = draw_run(link, horizon=100, n_arms=n_arms, d=d, seed=seed)
        arms, state = play_compiled(policy, contexts, rewards, seed=seed)
        expected = switch_by_testing_every_round(
            contexts,
            np.array(arms),
            n_arms,
            t0=t0,
            lambda0=policy.lambda0,
            lambda0_minimum=0.0,
            test_after=t0,
            span=policy.span,
        )
        assert state.watch.switched_at == expected.switched_at, seed
        assert state.watch.lambda0 == pytest.approx(expected.lambda0, rel=1e-6)
        switches += expected.switched_at > 0
    assert 12 < switches < 48


def test_greedy_before_the_switch():
    policy = GreedyFirst(greedy=LOGISTIC, **SOON, fallback=GLMUCB())
    _, arms, contexts, rewards = at_the_switch(policy)
    _, greedy = played(LOGISTIC, contexts[: len(arms)], rewards[: len(arms)])
    assert arms == greedy
    eigenvalues = smallest_eigenvalues(contexts[: len(arms)], np.array(arms), N_ARMS, span="full")
    short = eigenvalues.min(axis=1) < 0.5 * np.arange(1, len(arms) + 1) / 4
    assert short[-1]
    assert not short[30:-1].any()


# ---------------------------------------------------------------- what the fallback gets

ways = pytest.mark.parametrize("by_hand", [False, True], ids=["by the test", "by hand"])


@ways
@pytest.mark.parametrize("link", ["logistic", "poisson"])
def test_glm_ucb_starts_with_the_maximum_likelihood_of_the_greedy_phase(link, by_hand):
    """And goes on to that of all rows: none is lost and none counts twice."""
    options = {**SOON, "t0": 100} if by_hand else SOON
    policy = GreedyFirst(
        greedy=GLMGreedy(link=link, initial_pulls=4),
        **options,
        fallback=GLMUCB(link=link, reward_max=0.01),
    )
    agent, arms, contexts, rewards = at_the_switch(policy, link, by_hand=by_hand)
    model, greedy = agent.state.fallback.model, agent.state.greedy.model
    np.testing.assert_array_equal(model.estimate, greedy.estimate)
    np.testing.assert_array_equal(model.pulls, np.bincount(arms, minlength=N_ARMS))
    assert model.exists.any()
    for rest in (0, 1, 100):
        more = slice(len(arms), len(arms) + rest)
        arms += play_one_by_one(agent, contexts[more], rewards[more])
        for arm in np.flatnonzero(model.exists):
            x, y = rows_of(contexts, rewards, arms, arm)
            assert model.pulls[arm] == len(x)
            assert np.allclose(model.gram[arm], x.T @ x, rtol=1e-9)
            truth = maximum_likelihood(link, x, y)
            assert np.allclose(model.estimate[arm], truth, rtol=1e-6, atol=1e-8)
    assert model.exists.all()


@ways
def test_a_linear_fallback_gets_the_least_squares_of_all_rows(by_hand):
    """OFUL's estimate is ridge regression with penalty 1, of the greedy phase's rows and later."""
    options = {**SOON, "t0": 100} if by_hand else SOON
    policy = GreedyFirst(greedy=LOGISTIC, **options, fallback=OFUL(sigma=0.5))
    agent, arms, contexts, rewards = at_the_switch(policy, by_hand=by_hand)
    for rest in (0, 30):
        more = slice(len(arms), len(arms) + rest)
        arms += play_one_by_one(agent, contexts[more], rewards[more])
        estimate = agent.state.fallback.model.estimate
        for arm in range(N_ARMS):
            x, y = rows_of(contexts, rewards, arms, arm)
            truth = np.linalg.solve(np.eye(D) + x.T @ x, x.T @ y)
            assert np.allclose(estimate[arm], truth, rtol=1e-7, atol=1e-10)
        probe = contexts[-1]
        assert np.allclose(agent.expected_rewards(probe), estimate @ probe, rtol=1e-12)


def test_ols_bandit_gets_the_least_squares_of_all_rows():
    policy = GreedyFirst(greedy=LOGISTIC, **SOON, fallback=OLSBandit(warmup="pinv"))
    contexts, rewards = draw_run()
    arms, state = play_compiled(policy, contexts, rewards, seed=3)
    assert 30 < state.watch.switched_at < 150
    for arm in range(N_ARMS):
        x, y = rows_of(contexts, rewards, arms, arm)
        truth = np.linalg.lstsq(x, y, rcond=None)[0]
        assert np.allclose(state.fallback.model.estimate[arm], truth, rtol=1e-7)
        assert state.fallback.model.pulls[arm] == len(x)


@ways
def test_without_carry_over_the_fallback_starts_afresh(by_hand):
    """As an agent with the fallback alone on the contexts that follow; no ties in these runs."""
    options = {**SOON, "t0": 100} if by_hand else SOON
    fallback = GLMUCB(reward_max=0.01)
    policy = GreedyFirst(greedy=LOGISTIC, **options, carry_over=False, fallback=fallback)
    agent, arms, contexts, rewards = at_the_switch(policy, by_hand=by_hand)
    np.testing.assert_array_equal(agent.state.fallback.model.estimate, 0.0)
    np.testing.assert_array_equal(agent.state.fallback.model.pulls, 0.0)
    rest = contexts[len(arms) :], rewards[len(arms) :]
    _, fresh = played(fallback, *rest, seed=99)
    assert play_one_by_one(agent, *rest) == fresh


def test_back_to_greedy_and_into_the_fallback_again():
    """The fallback forgets its own phase, and is then handed all rows there are."""
    policy = GreedyFirst(greedy=LOGISTIC, t0=100, lambda0=0.5, fallback=GLMUCB())
    agent, arms, contexts, rewards = at_the_switch(policy, by_hand=True)
    arms += play_one_by_one(agent, contexts[40:60], rewards[40:60])
    agent.keep_greedy(0)
    np.testing.assert_array_equal(agent.state.fallback.model.pulls, 0.0)
    arms += play_one_by_one(agent, contexts[60:80], rewards[60:80])
    agent.explore()
    model = agent.state.fallback.model
    np.testing.assert_array_equal(model.pulls, np.bincount(arms, minlength=N_ARMS))
    for arm in np.flatnonzero(model.exists):
        truth = maximum_likelihood("logistic", *rows_of(contexts, rewards, arms, arm))
        assert np.allclose(model.estimate[arm], truth, rtol=1e-6, atol=1e-8)
    assert model.exists.any()


def test_a_fallback_is_told_the_true_b_max():
    """The parameters (2, 0) and (0, 1): b_max is 2."""
    problem = GeneralizedLinearProblem(
        contexts=UniformBall(n_features=2), arms=[[2.0, 0.0], [0.0, 1.0]]
    )
    policies = {
        str(b_max): GreedyFirst(
            greedy=LOGISTIC, **SOON, fallback=GLMUCB(b_max=b_max, reward_max=0.003)
        )
        for b_max in (None, 2.0, 4.0)
    }
    result = simulate(problem, policies, n_instances=4, horizon=300, seed=1)
    assert (result.switched_at > 0).any()
    np.testing.assert_array_equal(result.final[:, 0], result.final[:, 1])
    assert (result.final[:, 0] != result.final[:, 2]).any()


# ---------------------------------------------------------------- refused combinations


@pytest.mark.parametrize(
    ("argument", "shown", "expected", "options"),
    [
        (
            "fallback",
            "GLMUCB(",
            "link, memory and rule",
            {"greedy": LOGISTIC, "fallback": GLMUCB(link="probit")},
        ),
        (
            "fallback",
            "GLMGreedy(",
            "link, memory and rule",
            {"greedy": GLMGreedy(link="poisson"), "fallback": GLMGreedy()},
        ),
        ("fallback", "GLMUCB(", "memory", {"greedy": LOGISTIC, "fallback": GLMUCB(memory=64)}),
        ("fallback", "GLMUCB(", "memory", {"greedy": GLMGreedy(memory=64), "fallback": GLMUCB()}),
        (
            "fallback",
            "GLMGreedy(",
            "memory",
            {"greedy": GLMGreedy(memory=64), "fallback": GLMGreedy(memory=128)},
        ),
        ("fallback", "GLMUCB(", "link, memory and rule", {"fallback": GLMUCB()}),
        (
            "fallback",
            "GLMGreedy(",
            "link, memory and rule",
            {"greedy": Greedy(), "fallback": GLMGreedy()},
        ),
        (
            "fallback",
            "GreedyFirst(",
            "a policy other than GreedyFirst",
            {"greedy": LOGISTIC, "fallback": GreedyFirst()},
        ),
        ("greedy", "GLMUCB(", "a Greedy or a GLMGreedy", {"greedy": GLMUCB()}),
        ("greedy", "OFUL(", "a Greedy or a GLMGreedy", {"greedy": OFUL()}),
        ("greedy", "EpsilonGreedy(", "a Greedy or a GLMGreedy", {"greedy": EpsilonGreedy()}),
        ("greedy", "GreedyFirst(", "a Greedy or a GLMGreedy", {"greedy": GreedyFirst()}),
        ("greedy", "'logistic'", "a Greedy or a GLMGreedy", {"greedy": "logistic"}),
        ("greedy", "GLMGreedy", "a Greedy or a GLMGreedy", {"greedy": GLMGreedy}),
        (
            "warmup and initial_pulls",
            "('ridge', 0)",
            "left out",
            {"greedy": LOGISTIC, "warmup": "ridge"},
        ),
        (
            "warmup and initial_pulls",
            "('auto', 2)",
            "left out",
            {"greedy": Greedy(), "initial_pulls": 2},
        ),
    ],
)
def test_phases_that_do_not_fit_are_refused(argument, shown, expected, options):
    with pytest.raises(ValueError, match=rf"^{argument} must be ") as raised:
        GreedyFirst(**options)
    before, _, after = str(raised.value).partition(", got ")
    assert expected in before
    assert shown in after


def test_phases_that_fit_are_taken():
    bounded = GLMGreedy(memory=64)
    for policy in (
        GreedyFirst(greedy=bounded, fallback=GLMUCB(memory=64)),
        GreedyFirst(greedy=bounded, fallback=OFUL()),
        GreedyFirst(greedy=Greedy(warmup="pinv"), fallback=OLSBandit()),
    ):
        assert policy.reward_link() is policy.greedy.reward_link()


def test_greedy_given_as_a_policy_is_the_greedy_of_the_options():
    contexts, rewards = draw_run("identity", horizon=100)
    given = GreedyFirst(greedy=Greedy(warmup="pinv", initial_pulls=2), **SOON)
    options = GreedyFirst(warmup="pinv", initial_pulls=2, **SOON)
    (one, state), (other, twin) = (
        play_compiled(policy, contexts, rewards) for policy in (given, options)
    )
    assert one == other
    assert state.watch.switched_at == twin.watch.switched_at > 0
