"""Agents with generalised linear rewards: impossible rewards, growing states, expectations."""

import math

import numpy as np
import pytest

from greedyfirst import GLMUCB, OFUL, Agent, GLMGreedy, GreedyFirst
from greedyfirst.agent.running_policy import FIRST_ROOM
from greedyfirst.testing.trial_runs import play_compiled, play_one_by_one
from support.glm_reference import MEANS, draw_rewards, maximum_likelihood

N_ARMS, D = 2, 2
SHARE, COUNT = "a number from 0 to 1", "a whole number of at least 0"
GREEDY_FIRST = GreedyFirst(
    greedy=GLMGreedy(initial_pulls=4), t0=30, lambda0=0.5, fallback=GLMUCB(reward_max=0.01)
)


def make(policy, seed=7):
    return Agent(policy, n_arms=N_ARMS, n_features=D, seed=seed)


def draw_run(link, horizon, seed=0):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(horizon, D))
    return contexts, draw_rewards(rng, link, 0.5 * contexts @ rng.normal(size=(D, N_ARMS)))


def assert_maximum_likelihood(model, link, contexts, arms, rewards):
    """The estimate of every arm is statsmodels' fit of its rows."""
    for arm in range(len(model.estimate)):
        mine = np.asarray(arms) == arm
        assert model.pulls[arm] == mine.sum()
        truth = maximum_likelihood(link, contexts[mine], rewards[mine])
        np.testing.assert_allclose(model.estimate[arm], truth, rtol=1e-6, atol=1e-8)


# -------------------------------------------------------------------- impossible rewards


@pytest.mark.parametrize(
    ("link", "reward", "expected"),
    [
        ("logistic", 2.0, SHARE),
        ("logistic", 2, SHARE),
        ("logistic", -0.5, SHARE),
        ("logistic", math.nan, SHARE),
        ("logistic", math.inf, SHARE),
        ("logistic", np.nextafter(1, 2), SHARE),
        ("probit", 1.5, SHARE),
        ("poisson", -1, COUNT),
        ("poisson", 1.5, COUNT),
        ("poisson", math.inf, COUNT),
        ("poisson", math.nan, COUNT),
    ],
)
def test_impossible_rewards_are_told_and_change_nothing(link, reward, expected):
    contexts, rewards = draw_run(link, 60)
    agent, twin = (make(GLMGreedy(link=link)) for _ in range(2))
    for each in (agent, twin):
        play_one_by_one(each, contexts[:20], rewards[:20])
        each.choose_many(contexts[20:23])
    before = agent.buffer.copy()
    shown = f"(link {link!r}), got {float(reward)!r}"
    with pytest.raises(ValueError, match=r"^reward must be ") as raised:
        agent.update(contexts[0], 1, reward)
    assert expected in str(raised.value)
    assert str(raised.value).endswith(shown)
    # update_many tells the first of two bad ones, and does not learn the good one before it.
    if math.isfinite(reward):
        with pytest.raises(ValueError, match=r"^rewards\[1\] must be ") as raised:
            agent.update_many(contexts[:4], [0, 1, 0, 1], [1.0, reward, 0.0, -7.0])
        assert expected in str(raised.value)
        assert str(raised.value).endswith(shown)
    else:
        with pytest.raises(ValueError, match=r"^rewards must be "):
            agent.update_many(contexts[:2], [0, 1], [1.0, reward])
    np.testing.assert_array_equal(agent.buffer, before)
    assert (agent.decisions, agent.joined, agent.foreign) == (23, 20, 0)
    rest = contexts[23:], rewards[23:]
    assert play_one_by_one(agent, *rest) == play_one_by_one(twin, *rest)
    np.testing.assert_array_equal(agent.buffer, twin.buffer)


@pytest.mark.parametrize("reward", [2.0, -1.0])
def test_greedy_first_refuses_them_before_and_after_a_switch(reward):
    agent = make(GREEDY_FIRST)
    for _ in range(2):
        before = agent.buffer.copy()
        with pytest.raises(ValueError, match=r"^reward must be a number from 0 to 1"):
            agent.update([1.0, 0.0], 0, reward)
        np.testing.assert_array_equal(agent.buffer, before)
        agent.explore()


@pytest.mark.parametrize(("link", "reward"), [("logistic", 0.25), ("probit", 0.75)])
def test_shares_between_0_and_1_are_taken(link, reward):
    """The maximum is at μ(β) = the mean of the rewards."""
    agent = Agent(GLMGreedy(link=link), n_arms=1, n_features=1, seed=0)
    agent.update_many(np.ones((2, 1)), [0, 0], [reward, reward])
    assert agent.expected_rewards([1.0])[0] == pytest.approx(reward, rel=1e-9)


# -------------------------------------------------------------------- states that grow


@pytest.mark.parametrize("link", ["logistic", "poisson"])
def test_past_the_first_room_as_with_room_from_the_start(link):
    """The compiled loop has room for its horizon; the agent's state is enlarged twice."""
    horizon = 2 * FIRST_ROOM + 200
    contexts, rewards = draw_run(link, horizon)
    policy = GLMGreedy(link=link, initial_pulls=3)
    agent = make(policy)
    arms = play_one_by_one(agent, contexts, rewards)
    expected, state = play_compiled(policy, contexts, rewards, seed=7)
    assert arms == expected
    np.testing.assert_array_equal(agent.state.model.estimate, state.model.estimate)
    np.testing.assert_array_equal(agent.state.model.gram, state.model.gram)
    paid = rewards[np.arange(horizon), arms]
    assert_maximum_likelihood(agent.state.model, link, contexts, arms, paid)


def test_greedy_first_past_the_first_room():
    """Both phases' rows grow, after a switch and with ties of neither."""
    horizon = FIRST_ROOM + 200
    contexts, rewards = draw_run("logistic", horizon)
    agent = make(GREEDY_FIRST)
    arms = play_one_by_one(agent, contexts, rewards)
    expected, state = play_compiled(GREEDY_FIRST, contexts, rewards, seed=7)
    assert 0 < agent.diversity().switched_at < FIRST_ROOM
    assert arms == expected
    np.testing.assert_array_equal(agent.state.model.estimate, state.model.estimate)
    paid = rewards[np.arange(horizon), arms]
    for model in (agent.state.greedy.model, agent.state.fallback.model):
        assert_maximum_likelihood(model, "logistic", contexts, arms, paid)


@pytest.mark.parametrize("saved_after", [FIRST_ROOM - 1, FIRST_ROOM, FIRST_ROOM + 1])
def test_saved_before_and_after_it_grows(saved_after, tmp_path):
    contexts, rewards = draw_run("logistic", FIRST_ROOM + 60)
    agent = make(GLMGreedy(initial_pulls=3))
    if saved_after == FIRST_ROOM:
        agent.drop_arm(0)
    play_one_by_one(agent, contexts[:saved_after], rewards[:saved_after])
    agent.save(tmp_path / "agent")
    loaded = Agent.load(tmp_path / "agent")
    assert loaded.dropped.tolist() == agent.dropped.tolist()
    rest = contexts[saved_after:], rewards[saved_after:]
    assert play_one_by_one(loaded, *rest) == play_one_by_one(agent, *rest)
    np.testing.assert_array_equal(loaded.buffer, agent.buffer)
    assert loaded.room == agent.room == 2 * FIRST_ROOM


def test_three_thousand_rows_at_once_are_one_by_one():
    contexts, rewards = draw_run("logistic", 3000)
    arms = np.random.default_rng(1).integers(N_ARMS, size=3000)
    paid = rewards[np.arange(3000), arms]
    many, one = make(GLMGreedy()), make(GLMGreedy())
    many.update_many(contexts, arms, paid)
    for context, arm, reward in zip(contexts, arms, paid, strict=True):
        one.update(context, int(arm), float(reward))
    np.testing.assert_array_equal(many.state.model.estimate, one.state.model.estimate)
    assert (many.rewards, many.foreign) == (one.rewards, one.foreign) == (3000, 3000)
    assert_maximum_likelihood(many.state.model, "logistic", contexts, arms, paid)
    np.testing.assert_array_equal(
        many.choose_many(contexts[:50]),
        np.array([one.choose(context) for context in contexts[:50]]),
    )


def test_a_dropped_arm_stays_dropped_when_the_state_grows():
    contexts, rewards = draw_run("logistic", FIRST_ROOM + 30)
    agent = make(GLMGreedy())
    agent.drop_arm(1)
    assert set(play_one_by_one(agent, contexts, rewards)) == {0}


def test_an_added_arm_and_a_growing_state():
    """An arm added just before the room is used up; all rows stay with their arms."""
    rng = np.random.default_rng(2)
    horizon, added = 2 * FIRST_ROOM + 100, FIRST_ROOM - 10
    contexts = rng.normal(size=(horizon, D))
    rewards = draw_rewards(rng, "logistic", 0.5 * contexts @ rng.normal(size=(D, 3)))
    agent = make(GLMGreedy(initial_pulls=3))
    arms = play_one_by_one(agent, contexts[:added], rewards[:added])
    before = agent.state.model.estimate.copy()
    assert agent.add_arm("new", initial_pulls=20) == 2
    np.testing.assert_array_equal(agent.state.model.estimate, [*before, [0.0, 0.0]])
    arms += play_one_by_one(agent, contexts[added:], rewards[added:])
    assert arms[added : added + 20] == [2] * 20
    paid = rewards[np.arange(horizon), arms]
    assert_maximum_likelihood(agent.state.model, "logistic", contexts, arms, paid)


def test_bounded_memory_does_not_grow():
    """With 2048 rows of each arm kept nothing is folded yet; the buffer keeps its size."""
    contexts, rewards = draw_run("logistic", 1500)
    bounded, exact = make(GLMGreedy(memory=2048)), make(GLMGreedy())
    size = bounded.buffer.size
    arms = play_one_by_one(bounded, contexts, rewards)
    assert bounded.buffer.size == size
    assert arms == play_one_by_one(exact, contexts, rewards)
    np.testing.assert_array_equal(bounded.state.model.estimate, exact.state.model.estimate)


# -------------------------------------------------------------------- what it knows


@pytest.mark.parametrize("link", ["logistic", "probit", "poisson", "identity"])
def test_expected_rewards_are_expectations(link):
    contexts, rewards = draw_run(link, 200)
    agent = make(GLMGreedy(link=link))
    arms = np.tile([0, 1], 100)
    paid = rewards[np.arange(200), arms]
    agent.update_many(contexts, arms, paid)
    for probe in contexts[:5]:
        truth = [
            MEANS[link](probe @ maximum_likelihood(link, contexts[arm::2], paid[arm::2]))
            for arm in range(N_ARMS)
        ]
        np.testing.assert_allclose(agent.expected_rewards(probe), truth, rtol=1e-6)


def test_an_agent_that_knows_nothing_expects_one_half():
    np.testing.assert_array_equal(make(GLMGreedy()).expected_rewards([1.0, 2.0]), 0.5)
    np.testing.assert_array_equal(make(GLMGreedy(link="poisson")).expected_rewards([1.0, 2.0]), 1.0)


@pytest.mark.parametrize(
    "fallback", [GLMUCB(), OFUL(sigma=0.5)], ids=lambda each: type(each).__name__
)
def test_expected_rewards_of_greedy_first_are_those_of_the_phase(fallback):
    """μ(x'β̂) before the switch; after it linear if the fallback is: ridge regression for OFUL."""
    contexts, rewards = draw_run("logistic", 40)
    policy = GreedyFirst(greedy=GLMGreedy(initial_pulls=20), fallback=fallback)
    agent = make(policy)
    arms = np.array(play_one_by_one(agent, contexts, rewards))
    paid = rewards[np.arange(40), arms]
    rows = [(contexts[arms == arm], paid[arms == arm]) for arm in range(N_ARMS)]
    probe = np.array([0.3, -2.0])
    likely = [MEANS["logistic"](probe @ maximum_likelihood("logistic", *each)) for each in rows]
    np.testing.assert_allclose(agent.expected_rewards(probe), likely, rtol=1e-7)
    agent.explore()
    if isinstance(fallback, OFUL):
        linear = [probe @ np.linalg.solve(np.eye(D) + x.T @ x, x.T @ y) for x, y in rows]
        np.testing.assert_allclose(agent.expected_rewards(probe), linear, rtol=1e-9)
    else:
        np.testing.assert_allclose(agent.expected_rewards(probe), likely, rtol=1e-7)
    agent.keep_greedy(0)
    np.testing.assert_allclose(agent.expected_rewards(probe), likely, rtol=1e-7)


@pytest.mark.parametrize("policy", [GLMGreedy(), GLMUCB()], ids=lambda each: type(each).__name__)
def test_probabilities_are_the_decisions_to_come(policy):
    contexts, rewards = draw_run("logistic", 50)
    agent = make(policy)
    undecided = 0
    for context, row in zip(contexts, rewards, strict=True):
        probabilities = agent.probabilities(context)
        assert probabilities.sum() == 1.0
        arm = agent.choose(context)
        if probabilities.max() < 1:
            undecided += 1
            np.testing.assert_array_equal(probabilities, 0.5)
        else:
            assert probabilities[arm] == 1.0
        agent.update(context, arm, float(row[arm]))
    assert undecided == isinstance(
        policy, GLMGreedy
    )  # its first decision; the other pulls in turns


@pytest.mark.parametrize(
    "policy", [GLMGreedy(), GREEDY_FIRST], ids=lambda each: type(each).__name__
)
def test_the_report_is_about_the_rows(policy):
    contexts, rewards = draw_run("logistic", 100)
    agent = Agent(policy, n_arms=2, n_features=2, seed=7, arm_names=["ad", "none"])
    arms = np.array(play_one_by_one(agent, contexts, rewards))
    report = agent.diversity()
    for place, arm in enumerate(report.arms):
        x = contexts[arms == place]
        values, directions = np.linalg.eigh(x.T @ x)
        assert (arm.name, arm.pulls) == (["ad", "none"][place], len(x))
        assert arm.min_eigenvalue == pytest.approx(values[0], rel=1e-9)
        weakest = [arm.weakest_direction[name] for name in ("x0", "x1")]
        assert abs(weakest @ directions[:, 0]) == pytest.approx(1.0)
        assert f"{arm.min_eigenvalue:.4g}" in str(report)
    if policy is GREEDY_FIRST:
        assert report.mode == "fallback"
        assert f"switched after {report.switched_at} rewards, because of" in str(report)
        assert report.arms[0].threshold == pytest.approx(0.5 * 100 / 4)
    else:
        assert (report.mode, report.arms[0].threshold) == ("not tested", None)
