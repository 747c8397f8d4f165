"""Alarms, the diversity report, and the decision-maker's answers."""

import numpy as np
import pytest

from greedyfirst import Agent, Greedy, GreedyFirst, ThompsonSampling

# Contexts (1, u): arm 0 is the best everywhere, so Greedy starves the others. λ₀ and t₀ are given,
# which makes the round of the switch a matter of arithmetic.
FEATURES = ["intercept", "dose"]
LAMBDA0, T0 = 0.2, 12
MEANS = np.array([[2.0, 0.3], [-1.0, 0.2], [-2.0, -0.1]])


class Diary:
    """An agent at work, and the rows it has learned from."""

    def __init__(self, n_arms=2, seed=0, **options):
        options = {"warmup": "pinv", "initial_pulls": 3, "t0": T0, "lambda0": LAMBDA0} | options
        self.agent = Agent(
            GreedyFirst(**options), n_arms=n_arms, n_features=2, seed=1, feature_names=FEATURES
        )
        self.rng = np.random.default_rng(seed)
        self.contexts, self.arms, self.rewards = [], [], []

    def work(self, n):
        for _ in range(n):
            context = np.array([1.0, self.rng.uniform(-1, 1)])
            self.learn(context, self.agent.choose(context))
        return self.arms[len(self.arms) - n :]

    def learn(self, context, arm):
        reward = MEANS[min(arm, 2)] @ context + 0.1 * self.rng.normal()
        self.agent.update(context, arm, reward)
        self.contexts.append(context)
        self.arms.append(arm)
        self.rewards.append(reward)

    def work_until_alarm(self, most=500):
        for _ in range(most):
            self.work(1)
            if self.agent.diversity().mode == "fallback":
                return self.agent.diversity()
        raise AssertionError("no alarm")

    def rows(self, arm, n=None):
        mine = np.array(self.arms[:n]) == arm
        return np.array(self.contexts[:n])[mine], np.array(self.rewards[:n])[mine]

    def gram(self, arm, n=None):
        X, _ = self.rows(arm, n)
        return X.T @ X

    def least_squares(self, arm):
        return np.linalg.lstsq(*self.rows(arm), rcond=None)[0]


def first_alarm(diary, arms):
    """By numpy, every round: the first t > t₀ with λ_min < λ₀t/4, and the arm."""
    for t in range(T0 + 1, len(diary.arms) + 1):
        for arm in arms:
            if np.linalg.eigvalsh(diary.gram(arm, t))[0] < LAMBDA0 * t / 4:
                return t, f"arm {arm}"
    return None


# -------------------------------------------------------------------- the alarm and the report


@pytest.mark.parametrize("seed", range(5))
def test_the_switch_is_at_the_round_of_the_definition(seed):
    diary = Diary(seed=seed)
    report = diary.work_until_alarm()
    assert (report.switched_at, report.culprit) == first_alarm(diary, range(2))
    assert report.switched_at == report.rewards == len(diary.arms)
    assert [arm.tripped_at for arm in report.arms] == [None, report.switched_at]


def test_lambda0_is_estimated_at_t0():
    """Algorithm 5: λ̂₀ = min λ_min/(2t₀)."""
    diary = Diary(lambda0=None)
    diary.work(T0 - 1)
    assert diary.agent.diversity().lambda0 is None
    assert [arm.threshold for arm in diary.agent.diversity().arms] == [None, None]
    diary.work(1)
    smallest = min(np.linalg.eigvalsh(diary.gram(arm))[0] for arm in range(2))
    assert diary.agent.diversity().lambda0 == pytest.approx(smallest / (2 * T0), rel=1e-9)


def test_a_zero_estimate_switches_at_t0():
    diary = Diary(lambda0=None, initial_pulls=1)
    diary.work(T0)
    report = diary.agent.diversity()
    assert (report.mode, report.switched_at, report.culprit) == ("fallback", T0, "arm 1")


@pytest.mark.parametrize("n", [8, 13, 40])
def test_report_is_that_of_the_arms_own_rows(n):
    diary = Diary()
    diary.work(n)
    report = diary.agent.diversity()
    assert report.rewards == n
    assert report.lambda0 == LAMBDA0
    for k, arm in enumerate(report.arms):
        values, directions = np.linalg.eigh(diary.gram(k))
        assert arm.name == f"arm {k}"
        assert arm.pulls == diary.arms.count(k)
        assert arm.min_eigenvalue == pytest.approx(values[0], rel=1e-9)
        assert arm.threshold == pytest.approx(LAMBDA0 * n / 4, rel=1e-12)
        assert (arm.watched, arm.dropped) == (True, False)
        weights = np.array([arm.weakest_direction[name] for name in FEATURES])
        sign = np.sign(weights @ directions[:, 0])
        np.testing.assert_allclose(sign * weights, directions[:, 0], atol=1e-9)
        sizes = np.abs(list(arm.weakest_direction.values()))
        assert (np.diff(sizes) <= 0).all()
    assert "intercept" in str(report)


def test_report_counts_history():
    diary = Diary()
    for u in (-1.0, 0.0, 1.0):
        diary.learn(np.array([1.0, u]), 1)
    arm = diary.agent.diversity().arms[1]
    assert (arm.pulls, arm.min_eigenvalue) == (3, pytest.approx(2.0))
    assert arm.threshold == pytest.approx(LAMBDA0 * 3 / 4)


def test_report_inside_the_span_of_all_contexts():
    """An intercept beside one-hot columns: λ_min among the directions that contexts have had."""
    rng = np.random.default_rng(4)
    contexts = np.column_stack([np.ones(60), np.eye(2)[rng.integers(2, size=60)]])
    arms = rng.integers(2, size=60)
    basis = np.linalg.svd(contexts)[2][:2].T
    for span in ("pooled", "full"):
        agent = Agent(GreedyFirst(span=span), n_arms=2, n_features=3, seed=0)
        agent.update_many(contexts, arms, rng.normal(size=60))
        report = agent.diversity()
        assert report.mode == {"pooled": "greedy", "full": "fallback"}[span]
        for k, arm in enumerate(report.arms):
            X = contexts[arms == k]
            inside = np.linalg.eigvalsh(basis.T @ X.T @ X @ basis)[0]
            truth = inside if span == "pooled" else 0.0
            assert arm.min_eigenvalue == pytest.approx(truth, rel=1e-9)


def test_report_of_another_policy():
    agent = Agent(ThompsonSampling(), n_arms=2, n_features=2, seed=0)
    agent.update_many(np.diag([2.0, 3.0]), [0, 0], [1.0, 1.0])
    report = agent.diversity()
    assert (report.mode, report.lambda0, report.switched_at, report.culprit) == (
        "not tested",
        None,
        None,
        None,
    )
    assert [arm.min_eigenvalue for arm in report.arms] == [pytest.approx(4.0), 0.0]
    assert [arm.watched for arm in report.arms] == [False, False]


# -------------------------------------------------------------------- answers


def test_drop_arm_goes_on_greedily_without_it():
    diary = Diary()
    diary.work_until_alarm()
    diary.agent.drop_arm("arm 1")
    report = diary.agent.diversity()
    assert (report.mode, report.switched_at) == ("greedy", None)
    assert [arm.dropped for arm in report.arms] == [False, True]
    assert set(diary.work(300)) == {0}
    assert diary.agent.diversity().mode == "greedy"
    np.testing.assert_array_equal(diary.agent.probabilities([1.0, 0.0]), [1.0, 0.0])
    with pytest.raises(ValueError, match="arm"):
        diary.agent.drop_arm(0)
    with pytest.raises(ValueError, match="eligible"):
        diary.agent.choose([1.0, 0.0], eligible=[1])
    diary.agent.drop_arm(1)
    assert set(diary.work(10)) == {0}


def test_a_dropped_arm_is_not_chosen_where_it_is_best():
    agent = Agent(Greedy(warmup="pinv"), n_arms=3, n_features=1, seed=0)
    for arm, reward in enumerate([1.0, 2.0, 3.0]):
        agent.update([1.0], arm, reward)
    assert agent.choose([1.0]) == 2
    agent.drop_arm(2)
    assert agent.choose([1.0]) == 1
    agent.drop_arm("arm 1")
    assert agent.choose_many([[1.0], [-1.0]]).tolist() == [0, 0]
    with pytest.raises(ValueError, match="arm"):
        agent.drop_arm(0)


def test_keep_greedy_leaves_the_arm_untested():
    diary = Diary()
    diary.work_until_alarm()
    diary.agent.keep_greedy(1)
    report = diary.agent.diversity()
    assert (report.mode, report.switched_at) == ("greedy", None)
    assert [arm.watched for arm in report.arms] == [True, False]
    assert [arm.dropped for arm in report.arms] == [False, False]
    assert set(diary.work(300)) == {0}
    assert diary.agent.diversity().mode == "greedy"
    for arm in range(2):
        truth = [1.0, 0.5] @ diary.least_squares(arm)
        assert diary.agent.expected_rewards([1.0, 0.5])[arm] == pytest.approx(truth, rel=1e-8)


def test_keep_greedy_still_tests_the_other_arms():
    diary = Diary(n_arms=3)
    first = diary.work_until_alarm()
    diary.agent.keep_greedy(first.culprit)
    second = diary.work_until_alarm()
    others = [arm for arm in range(3) if f"arm {arm}" != first.culprit]
    after = len(diary.arms)
    assert second.culprit != first.culprit
    assert second.switched_at == after
    t, culprit = first_alarm(diary, others)
    assert (max(t, first.switched_at + 1), culprit) == (after, second.culprit)


@pytest.mark.parametrize("answer", ["explore", "keep_greedy"])
def test_other_policies_raise_no_alarm(answer):
    agent = Agent(Greedy(), n_arms=2, n_features=2, seed=0)
    with pytest.raises(ValueError, match=rf"policy.*{answer}"):
        getattr(agent, answer)(*([0] if answer == "keep_greedy" else []))


@pytest.mark.parametrize("name", ["explore", "drop", "hold"])
def test_an_answer_by_name_is_the_method_of_that_name(name):
    by_name, by_method = Diary(n_arms=3), Diary(n_arms=3)
    alarm = by_name.work_until_alarm()
    assert by_method.work_until_alarm() == alarm
    for diary in (by_name, by_method):
        diary.agent.keep_greedy(alarm.culprit)
        diary.work(5)
        assert not diary.agent.explores
    by_name.agent.answer(name, "arm 2")
    method = {"explore": "explore", "drop": "drop_arm", "hold": "keep_greedy"}[name]
    getattr(by_method.agent, method)(*([] if name == "explore" else ["arm 2"]))
    assert by_name.agent.explores == (name == "explore")
    assert by_name.agent.dropped.tolist() == [False, False, name == "drop"]
    assert by_name.work(60) == by_method.work(60)
    assert by_name.agent.diversity() == by_method.agent.diversity()


def test_an_answer_that_is_none_is_refused():
    agent = Diary().agent
    with pytest.raises(ValueError, match=r"^answer must be one of 'explore', 'drop', 'hold'"):
        agent.answer("stop", 0)
    with pytest.raises(ValueError, match=r"^arm must be one of the arms 0 to 1, got 2"):
        agent.answer("hold", 2)
    with pytest.raises(ValueError, match=r"^policy must be GreedyFirst for answer\(\)"):
        Agent(Greedy(), n_arms=2, n_features=2, seed=0).answer("hold", 0)


def test_hold_leaves_the_arm_to_the_decision_maker():
    diary = Diary(on_alarm="hold")
    diary.work(300)
    report = diary.agent.diversity()
    assert (report.mode, report.switched_at, report.culprit) == ("greedy", None, "arm 1")
    assert (report.arms[1].tripped_at, "arm 1") == first_alarm(diary, range(2))
    assert (report.arms[1].watched, report.arms[1].dropped) == (False, False)
    assert "alarm: arm arm 1" in str(report) or "arm 1 does not" in str(report)


def test_drop_on_alarm():
    diary = Diary(on_alarm="drop")
    diary.work(300)
    report = diary.agent.diversity()
    assert (report.mode, report.culprit) == ("greedy", "arm 1")
    assert [arm.dropped for arm in report.arms] == [False, True]
    np.testing.assert_array_equal(diary.agent.probabilities([1.0, 0.0]), [1.0, 0.0])
    with pytest.raises(ValueError, match="arm"):
        diary.agent.drop_arm(0)
    with pytest.raises(ValueError, match="eligible"):
        diary.agent.choose([1.0, 0.0], eligible=[1])


def test_the_last_arm_is_not_dropped_on_alarm():
    diary = Diary(on_alarm="drop", lambda0=1e6)
    diary.work(100)
    assert sum(arm.dropped for arm in diary.agent.diversity().arms) == 1
    assert len(set(diary.work(50))) == 1


@pytest.mark.parametrize("on_alarm", ["explore", "hold", "drop"])
def test_reports_read_well(on_alarm):
    diary = Diary(on_alarm=on_alarm)
    diary.work(100)
    assert "None" not in str(diary.agent.diversity())
    assert "arm arm" not in str(diary.agent.diversity())


def test_the_report_of_a_switch_by_hand_reads_well():
    diary = Diary()
    diary.work(5)
    diary.agent.explore()
    assert diary.agent.diversity().culprit is None
    assert "None" not in str(diary.agent.diversity())


@pytest.mark.parametrize("warmup", ["ridge", "pinv", "none"])
def test_back_at_greedy_the_estimates_are_up_to_date(warmup):
    """They may rest while the fallback decides, also those of arms that stay singular."""
    rng = np.random.default_rng(5)
    policy = GreedyFirst(warmup=warmup, initial_pulls=2, t0=50)
    agent = Agent(policy, n_arms=3, n_features=6, seed=2)
    steady = Agent(Greedy(warmup=warmup), n_arms=3, n_features=6, seed=2)
    span = rng.normal(size=(4, 6))  # contexts have rank 4, so that all arms stay singular
    for t in range(90):
        context = rng.normal(size=4) @ span
        arm, reward = agent.choose(context), rng.normal()
        agent.update(context, arm, reward)
        steady.update(context, arm, reward)
        if t == 20:
            agent.explore()
        if t in (60, 75):  # back by hand, and a second answer that changes nothing
            agent.keep_greedy(t % 2)
        if t >= 60:
            np.testing.assert_allclose(
                agent.state.greedy.model.estimate, steady.state.model.estimate, rtol=1e-7, atol=1e-9
            )


def test_an_arm_that_is_watched_again_raises_its_alarm_again():
    diary = Diary(on_alarm="hold")
    diary.work(300)
    first = diary.agent.diversity().arms[1].tripped_at
    diary.work(10)
    assert diary.agent.diversity().arms[1].tripped_at == first
    diary.agent.watch_again(1)
    assert diary.agent.diversity().arms[1].watched
    diary.work(1)
    assert diary.agent.diversity().arms[1].tripped_at == 311
    diary.agent.drop_arm(1)
    with pytest.raises(ValueError, match="dropped"):
        diary.agent.watch_again(1)


def starved(on_alarm):
    """An agent that explores arm by arm, whose arm 1 pays less everywhere."""
    agent = Agent(GreedyFirst(on_alarm=on_alarm), n_arms=2, n_features=2, seed=0)
    learn(agent, [0] * 200)
    return agent


def learn(agent, arms):
    for number, arm in enumerate(arms):
        agent.update([1.0, number % 5 - 2.0], arm, 1.0 - arm + 0.1 * (number % 3), step=0)


def test_arm_by_arm_an_alarm_is_raised_anew_only_if_that_is_asked_for():
    for anew, again in ((True, 1), (False, 0)):
        agent = starved("hold")
        before = agent.alarms
        agent.watch_again(1, anew=anew)
        assert agent.diversity().arms[1].watched
        learn(agent, [0] * 100)
        assert agent.alarms == before + again


def test_arm_by_arm_alarms_come_again_when_exploring_all_ends():
    agent = starved("explore")
    assert agent.explores
    agent.keep_greedy(0)
    assert not agent.explores
    assert agent.alarmed_at[1] == 0
    learn(agent, [0] * 100)
    assert agent.explores
    assert agent.alarmed_at[1] > 200


def test_arm_by_arm_explored_arms_are_those_that_no_person_has_held():
    agent = starved("hold")
    agent.add_arm("late")
    assert not any(arm.explored for arm in agent.diversity().arms)
    agent.answer_alarms("explore_arm")
    assert [arm.explored for arm in agent.diversity().arms] == [True, False, True]


@pytest.mark.parametrize("later", ["explore", "drop"])
def test_the_answer_to_alarms_can_change(later):
    """From then on it is as with an agent that had that answer from the start."""
    diary, other = Diary(on_alarm="hold"), Diary(on_alarm=later)
    for each in (diary, other):
        each.work(T0)
    diary.agent.answer_alarms(later)
    for each in (diary, other):
        each.work(200)
    assert diary.arms == other.arms
    assert str(diary.agent.diversity()) == str(other.agent.diversity())
    assert diary.agent.policy == other.agent.policy


@pytest.mark.parametrize("answer", ["watch_again", "answer_alarms"])
def test_only_greedy_first_has_alarms(answer):
    agent = Agent(Greedy(), n_arms=2, n_features=2)
    with pytest.raises(ValueError, match=rf"policy.*{answer}"):
        getattr(agent, answer)("explore" if answer == "answer_alarms" else 0)
    with pytest.raises(ValueError, match="on_alarm"):
        Diary().agent.answer_alarms("shrug")


@pytest.mark.parametrize("policy", [Greedy(), GreedyFirst(), GreedyFirst(t0=8, lambda0=0.01)])
@pytest.mark.parametrize("how", ["drop_arm", "retire_arm"])
def test_an_arm_that_is_put_back_is_chosen_as_if_it_had_never_been_away(policy, how):
    agents = [Agent(policy, n_arms=3, n_features=2, seed=1) for _ in range(2)]
    rng = np.random.default_rng(3)
    for _ in range(60):
        context = rng.normal(size=2)
        arm = int(rng.integers(3))
        for agent in agents:
            agent.update(context, arm, float(context @ [(1, 0), (0, 1), (-1, -1)][arm]), step=0)
    away = agents[0]
    with pytest.raises(ValueError, match="arm must be an arm that has been dropped or retired"):
        away.reinstate_arm(2)
    getattr(away, how)(2)
    worst = np.array([-3.0, -3.0])
    assert away.choose(worst) != 2
    agents[1].choose(worst)
    away.reinstate_arm("arm 2")
    assert not away.dropped.any()
    assert away.choose(worst) == agents[1].choose(worst) == 2
    for context in rng.normal(size=(50, 2)):
        assert away.probabilities(context) == pytest.approx(agents[1].probabilities(context))
    if policy.watches:
        assert all(arm.watched for arm in away.diversity().arms)
    again = Agent.from_bytes(away.to_bytes())
    assert not again.dropped.any()
    assert again.choose(worst) == 2
