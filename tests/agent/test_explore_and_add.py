"""The switch to the fallback, by hand and with rewards on their way; arms added at run time."""

import numpy as np
import pytest
from test_answers import LAMBDA0, T0, Diary, first_alarm

from greedyfirst import (
    Agent,
    EpsilonGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Oracle,
    ThompsonSampling,
    Uniform,
)
from greedyfirst.agent.running_policy import FIRST_ROOM

# K = 2, q = 1: T_1 = {1, 3, 7, 15, …}, T_2 = {2, 4, 8, 16, …}.
SCHEDULE = {1: 0, 2: 1, 3: 0, 4: 1, 7: 0, 8: 1, 15: 0, 16: 1}


def forced_of(arms):
    return {step: arms[step - 1] for step in SCHEDULE}


# -------------------------------------------------------------------- explore


def test_explore_before_any_alarm():
    diary = Diary(fallback=OLSBandit(h=1, q=1))
    diary.work(9)
    diary.agent.explore()
    report = diary.agent.diversity()
    assert (report.mode, report.switched_at, report.culprit) == ("fallback", 9, None)
    assert forced_of(diary.work(20)) == SCHEDULE
    diary.agent.explore()  # a second time changes nothing
    assert diary.agent.diversity().switched_at == 9


def test_explore_before_any_reward():
    diary = Diary(fallback=OLSBandit(h=1, q=1))
    diary.agent.explore()
    assert diary.agent.diversity().mode == "fallback"
    assert forced_of(diary.work(20)) == SCHEDULE


@pytest.mark.parametrize("by_hand", [True, False])
def test_carry_over_hands_all_rows_to_the_fallback(by_hand):
    diary = Diary(fallback=OLSBandit(warmup="pinv"), carry_over=True)
    if by_hand:
        diary.work(10)
        diary.agent.explore()
    else:
        diary.work_until_alarm()
    for more in (0, 1, 30):
        diary.work(more)
        for arm in range(2):
            truth = [1.0, -0.3] @ diary.least_squares(arm)
            assert diary.agent.expected_rewards([1.0, -0.3])[arm] == pytest.approx(truth, rel=1e-8)
    assert diary.agent.state.fallback.forced.pulls.sum() == 9  # of 31 decisions, by the schedule


@pytest.mark.parametrize("by_hand", [True, False])
def test_carry_over_to_thompson_sampling(by_hand):
    """The posterior of all rows: Λ = I + X'X/σ², Λμ = X'y/σ²."""
    diary = Diary(fallback=ThompsonSampling(sigma=0.5), carry_over=True)
    if by_hand:
        diary.work(10)
        diary.agent.explore()
    else:
        diary.work_until_alarm()
    for arm in range(2):
        X, y = diary.rows(arm)
        precision = np.eye(2) + X.T @ X / 0.25
        model = diary.agent.state.fallback.model
        np.testing.assert_allclose(model.covariance[arm], np.linalg.inv(precision), rtol=1e-9)
        np.testing.assert_allclose(
            model.estimate[arm], np.linalg.solve(precision, X.T @ y / 0.25), rtol=1e-8
        )


@pytest.mark.parametrize("by_hand", [True, False])
def test_without_carry_over_the_fallback_starts_afresh(by_hand):
    diary = Diary(fallback=OLSBandit(h=1, q=1), carry_over=False)
    if by_hand:
        diary.work(10)
        diary.agent.explore()
    else:
        diary.work_until_alarm()
    np.testing.assert_array_equal(diary.agent.expected_rewards([1.0, 0.3]), 0.0)
    fresh = Agent(OLSBandit(h=1, q=1, warmup="none"), n_arms=2, n_features=2, seed=0)
    start = len(diary.arms)
    arms = diary.work(40)
    assert forced_of(arms) == SCHEDULE
    for context, arm, reward in list(zip(diary.contexts, diary.arms, diary.rewards, strict=True))[
        start:
    ]:
        fresh.choose(context)
        fresh.update(context, arm, reward)
    np.testing.assert_array_equal(
        diary.agent.state.fallback.model.estimate, fresh.state.model.estimate
    )
    np.testing.assert_array_equal(
        diary.agent.state.fallback.forced.estimate, fresh.state.forced.estimate
    )


@pytest.mark.parametrize("by_hand", [True, False])
def test_initial_samples_become_forced_samples(by_hand):
    """Three pulls of each arm; the schedule goes on behind them: steps 7 and 8 are forced."""
    diary = Diary(fallback=OLSBandit(h=1, q=1, initial_pulls=3), carry_over="initial")
    if by_hand:
        diary.work(10)
        diary.agent.explore()
    else:
        diary.work_until_alarm()
    forced, model = diary.agent.state.fallback.forced, diary.agent.state.fallback.model
    for arm in range(2):
        X, y = diary.rows(arm, 6)
        np.testing.assert_allclose(forced.gram[arm], X.T @ X, rtol=1e-12)
        np.testing.assert_allclose(model.gram[arm], X.T @ X, rtol=1e-12)
        expected = np.linalg.lstsq(X, y, rcond=None)[0]
        np.testing.assert_allclose(forced.estimate[arm], expected, rtol=1e-8)
    arms = diary.work(10)  # its own steps 7 to 16
    assert {step: arms[step - 7] for step in SCHEDULE if step > 6} == {7: 0, 8: 1, 15: 0, 16: 1}
    np.testing.assert_array_equal(forced.pulls, [5, 5])


def test_an_agent_that_explores_within_the_initial_pulls_goes_on_with_them():
    diary = Diary(fallback=OLSBandit(h=1, q=1, initial_pulls=3), carry_over="initial")
    diary.work(3)
    diary.agent.explore()
    assert diary.work(5) == [1, 0, 1, 0, 1]
    np.testing.assert_array_equal(diary.agent.state.fallback.forced.pulls, [4, 4])


def test_late_rewards_of_initial_pulls_are_forced_samples_too():
    diary = Diary(fallback=OLSBandit(h=1, q=1, initial_pulls=3), carry_over="initial")
    agent, late = diary.agent, []
    for _ in range(9):
        context = np.array([1.0, diary.rng.uniform(-1, 1)])
        late.append((context, agent.choose(context)))
    for row in late[:4]:
        diary.learn(*row)
    agent.explore()
    np.testing.assert_array_equal(agent.state.fallback.forced.pulls, [2, 2])
    for row in late[4:]:  # two more initial ones, and three of the greedy phase
        diary.learn(*row)
    np.testing.assert_array_equal(agent.state.fallback.forced.pulls, [3, 3])
    assert agent.state.fallback.model.pulls.sum() == 9
    diary.work(2)  # own steps 7 and 8
    np.testing.assert_array_equal(agent.state.fallback.forced.pulls, [4, 4])


@pytest.mark.parametrize("dropped_again", [False, True])
def test_an_added_arm_is_pulled_behind_the_initial_samples(dropped_again):
    diary = Diary(fallback=OLSBandit(h=1, q=1, initial_pulls=3), carry_over="initial")
    diary.work(8)
    diary.agent.add_arm(initial_pulls=2)
    diary.work(2)
    if dropped_again:
        diary.agent.explore()
        diary.work(4)
        diary.agent.keep_greedy(0)
    diary.agent.explore()
    state = diary.agent.state.fallback
    np.testing.assert_array_equal(state.forced.pulls, [3, 3, 0])
    assert diary.work(2) == [2, 2]
    np.testing.assert_array_equal(state.forced.pulls, [3, 3, 2])


def test_a_switch_while_rewards_are_on_their_way():
    """The fallback's schedule starts with its first own decision, and late rewards are greedy."""
    diary = Diary(fallback=OLSBandit(h=1, q=1), carry_over=False)
    agent, late = diary.agent, []
    while agent.diversity().mode == "greedy":
        context = np.array([1.0, diary.rng.uniform(-1, 1)])
        late.append((context, agent.choose(context)))
        if len(late) > 7:
            diary.learn(*late.pop(0))
    assert agent.decisions == agent.joined + 7
    assert first_alarm(diary, range(2)) == (agent.diversity().switched_at, "arm 1")
    arms = []
    for _ in range(20):
        context = np.array([1.0, diary.rng.uniform(-1, 1)])
        arms.append(agent.choose(context))
        late.append((context, arms[-1]))
    assert forced_of(arms) == SCHEDULE
    for row in late[:7]:
        diary.learn(*row)
    assert agent.state.fallback.forced.pulls.sum() == 0
    for row in late[7:]:
        diary.learn(*row)
    np.testing.assert_array_equal(agent.state.fallback.forced.pulls, [4, 4])
    assert agent.state.fallback.model.pulls.sum() == 27


def test_a_switch_by_history_alone():
    """Rows that were decided elsewhere can trip the test too."""
    diary = Diary(fallback=OLSBandit(h=1, q=1), carry_over=False, initial_pulls=0)
    for u in np.linspace(-1, 1, T0 + 1):
        diary.learn(np.array([1.0, u]), 0)
    assert diary.agent.diversity().switched_at == T0 + 1
    assert forced_of(diary.work(20)) == SCHEDULE


def test_back_from_the_fallback_and_into_it_again():
    diary = Diary(fallback=OLSBandit(h=1, q=1), carry_over=False)
    diary.work_until_alarm()
    diary.work(10)
    diary.agent.keep_greedy(1)
    assert set(diary.work(50)) == {0}
    diary.agent.explore()
    np.testing.assert_array_equal(diary.agent.expected_rewards([1.0, 0.3]), 0.0)
    assert forced_of(diary.work(20)) == SCHEDULE


# -------------------------------------------------------------------- add_arm


@pytest.mark.parametrize("decided", [0, 1, 20])
@pytest.mark.parametrize(
    "policy", [Greedy(warmup="pinv"), EpsilonGreedy(epsilon=0.0, warmup="none")]
)
def test_a_new_arm_gets_its_pulls_then_competes(policy, decided):
    agent = Agent(policy, n_arms=2, n_features=1, seed=0)
    for _ in range(decided):
        agent.update([1.0], agent.choose([1.0]), 1.0)
    agent.update_many([[1.0], [1.0]], [0, 1], [1.0, 0.5])  # history
    assert agent.add_arm("better", initial_pulls=4) == 2
    assert agent.arm_names == ("arm 0", "arm 1", "better")
    assert agent.probabilities([1.0]).tolist() == [0.0, 0.0, 1.0]
    for _ in range(4):
        assert agent.choose([1.0]) == 2
        agent.update([1.0], "better", 3.0)
    np.testing.assert_allclose(agent.expected_rewards([1.0])[2], 3.0)
    assert agent.expected_rewards([1.0])[0] > 0
    assert agent.choose([1.0]) == 2
    assert agent.choose([-1.0]) != 2
    assert agent.choose([1.0], eligible=["arm 0"]) == 0


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (0, 0), (5, 5)])
def test_how_many_pulls_a_new_arm_gets(given, expected):
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=3, seed=0)
    contexts = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    agent.update_many(contexts, agent.choose_many(contexts), contexts.sum(axis=1))
    agent.add_arm(initial_pulls=given)  # by its estimates, 0, it would never be chosen
    due = [agent.probabilities(x)[2] == 1.0 and agent.choose(x) == 2 for x in contexts[:6]]
    assert due == [place < expected for place in range(6)]


def test_policies_own_initial_pulls_are_the_default():
    agent = Agent(Greedy(initial_pulls=2), n_arms=2, n_features=3, seed=0)
    arms = agent.choose_many(np.ones((4, 3))).tolist()
    assert arms == [0, 1, 0, 1]
    agent.add_arm()
    assert agent.choose_many(np.ones((2, 3))).tolist() == [2, 2]


def test_an_arm_added_among_the_initial_pulls_gets_all_of_its_own():
    agent = Agent(Greedy(initial_pulls=3), n_arms=2, n_features=1, seed=0)
    first = agent.choose_many(np.ones((2, 1))).tolist()
    agent.add_arm()
    rest = agent.choose_many(np.ones((7, 1))).tolist()
    assert [(first + rest).count(arm) for arm in range(3)] == [3, 3, 3]


def test_two_new_arms_follow_each_other():
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=1, seed=0)
    agent.update([1.0], agent.choose([1.0]), 1.0)
    agent.add_arm(initial_pulls=2)
    agent.add_arm(initial_pulls=2)
    assert agent.choose_many(np.ones((4, 1))).tolist() == [2, 2, 3, 3]
    assert agent.arm_names[-2:] == ("arm 2", "arm 3")


def test_what_was_learned_stays():
    for policy in (Greedy(warmup="pinv"), ThompsonSampling(), OLSBandit(warmup="none"), Uniform()):
        agent = Agent(policy, n_arms=2, n_features=3, seed=0)
        rng = np.random.default_rng(1)
        agent.update_many(rng.normal(size=(30, 3)), rng.integers(2, size=30), rng.normal(size=30))
        probe = rng.normal(size=3)
        before = agent.expected_rewards(probe)
        agent.add_arm()
        np.testing.assert_array_equal(agent.expected_rewards(probe), [*before, 0.0])
        assert len(agent.probabilities(probe)) == agent.n_arms == 3


def test_drop_and_add():
    agent = Agent(Uniform(), n_arms=2, n_features=1, seed=0)
    agent.drop_arm(0)
    agent.add_arm("new")
    assert set(agent.choose_many(np.ones((100, 1)))) == {1, 2}
    np.testing.assert_allclose(agent.probabilities([1.0]), [0.0, 0.5, 0.5])
    agent.drop_arm(1)
    with pytest.raises(ValueError, match="arm"):
        agent.drop_arm("new")


@pytest.mark.parametrize("added_after", [T0 + 3, T0 - 2])
@pytest.mark.parametrize("lambda0", [0.01, None])
def test_greedy_first_gives_a_new_arm_t0_rewards(added_after, lambda0):
    """Without pulls of its own, it trips the test at the first reward past t₀ of its life."""
    diary = Diary(lambda0=lambda0, t0=T0, initial_pulls=4)
    diary.work(added_after)
    diary.agent.add_arm("new", initial_pulls=0)
    for extra in range(1, T0 + 1):
        diary.work(1)
        assert diary.agent.diversity().mode == "greedy", f"{extra} rewards after"
    assert diary.agent.diversity().arms[2].pulls < 2
    diary.work(1)
    report = diary.agent.diversity()
    assert (report.mode, report.culprit) == ("fallback", "new")


def test_the_new_arms_threshold_counts_from_its_birth():
    diary = Diary(lambda0=LAMBDA0)
    diary.work(10)
    diary.agent.add_arm()
    diary.work(6)
    thresholds = [arm.threshold for arm in diary.agent.diversity().arms]
    np.testing.assert_allclose(thresholds, LAMBDA0 * np.array([16, 16, 6]) / 4)


def test_an_arm_added_while_the_fallback_decides():
    diary = Diary(fallback=Greedy(warmup="pinv"), carry_over=True)
    diary.work_until_alarm()
    diary.work(5)
    diary.agent.add_arm(initial_pulls=3)
    assert diary.work(3) == [2, 2, 2]
    assert diary.agent.diversity().mode == "fallback"


def test_a_new_arm_is_watched():
    agent = Agent(GreedyFirst(), n_arms=2, n_features=2, seed=0)
    agent.add_arm("new")
    assert [arm.watched for arm in agent.diversity().arms] == [True] * 3
    assert agent.diversity().arms[2].name == "new"


def test_an_arm_that_the_policy_has_no_place_for_changes_nothing():
    agent = Agent(Oracle(parameters=[[1.0, 0.0], [0.0, 1.0]]), n_arms=2, n_features=2, seed=1)
    with pytest.raises(ValueError, match="parameters"):
        agent.add_arm("third")
    assert agent.arm_names == ("arm 0", "arm 1")
    assert agent.choose([1.0, 0.0]) == 0


class SmallGreedy(Greedy):
    """No memory for more than two arms, nor for more rows than an agent has room for at first."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        if n_arms > 2 or memory.rows > FIRST_ROOM:
            raise MemoryError(f"no room for {n_arms} arms and {memory.rows} rows")
        return Greedy.init(policy, n_arms, n_features, memory)


def test_an_arm_that_cannot_be_added_leaves_the_agent_as_it_was():
    agent, twin = (Agent(SmallGreedy(), n_arms=2, n_features=2, seed=3) for _ in range(2))
    rng = np.random.default_rng(1)
    for context in rng.normal(size=(20, 2)):
        for each in (agent, twin):
            each.update(context, each.choose(context), float(context[0]))
    for _ in range(2):
        with pytest.raises(MemoryError, match="no room for 3 arms"):
            agent.add_arm()
    rows = rng.normal(size=(2000, 2))
    with pytest.raises(MemoryError, match="2 arms and 2048 rows"):
        agent.update_many(rows, np.zeros(2000, int), rows[:, 0])
    assert (agent.arm_names, agent.room, len(agent.dropped)) == (twin.arm_names, FIRST_ROOM, 2)
    for context in rng.normal(size=(20, 2)):
        assert agent.choose(context) == twin.choose(context)
        for each in (agent, twin):
            each.update(context, 1, float(context[1]))
    assert agent.to_bytes() == twin.to_bytes()
