"""The agent's contract: names, types, batches, delayed rewards, history."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    FixedArm,
    Greedy,
    GreedyFirst,
    OLSBandit,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    Uniform,
)

POLICIES = [
    Greedy(warmup="ridge", initial_pulls=2),
    GreedyFirst(warmup="ridge", fallback=OLSBandit(h=1, q=2)),
    OLSBandit(h=1, q=2, warmup="ridge"),
    OFUL(),
    ThompsonSampling(),
    PriorFreeThompsonSampling(),
    EpsilonGreedy(epsilon=0.5, warmup="pinv"),
    Uniform(),
    FixedArm(arm=1),
]
N_ARMS, N_FEATURES = 3, 4

each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)


def make(policy, seed=3):
    return Agent(policy, n_arms=N_ARMS, n_features=N_FEATURES, seed=seed)


def draw_rows(n, seed, n_arms=N_ARMS, n_features=N_FEATURES):
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, n_features))
    arms = rng.integers(n_arms, size=n)
    return contexts, arms, rng.normal(size=n)


def minimum_norm(contexts, arms, rewards, arm):
    mine = arms == arm
    if not mine.any():
        return np.zeros(contexts.shape[1])
    return np.linalg.lstsq(contexts[mine], rewards[mine], rcond=None)[0]


# -------------------------------------------------------------------- names and types


@each_policy
def test_return_types(policy):
    agent = make(policy)
    contexts, _, _ = draw_rows(5, seed=0)
    arm = agent.choose(contexts[0])
    assert type(arm) is int
    assert 0 <= arm < N_ARMS
    arms = agent.choose_many(contexts)
    assert isinstance(arms, np.ndarray)
    assert arms.shape == (5,)
    assert arms.dtype == np.int64
    assert agent.update(contexts[0], arm, 1.0) is None
    assert agent.update_many(contexts, arms, np.ones(5)) is None
    expected = agent.expected_rewards(contexts[0])
    assert expected.shape == (N_ARMS,)
    assert expected.dtype == np.float64
    assert agent.probabilities(contexts[0]).shape == (N_ARMS,)
    assert agent.probabilities(contexts[0]).sum() == pytest.approx(1.0, abs=1e-9)
    assert (agent.decisions, agent.joined, agent.foreign, agent.rewards) == (6, 6, 0, 6)


@pytest.mark.parametrize("context", [[1, 2, 3, 4], (1.0, 2, 3, 4), np.arange(4), range(4)])
def test_contexts_may_be_any_sequence_of_numbers(context):
    agent = make(Greedy(warmup="pinv"))
    agent.update(context, 0, 1)
    np.testing.assert_allclose(agent.expected_rewards(context)[0], 1.0)


def test_contexts_may_be_views_without_contiguous_memory():
    table = np.random.default_rng(0).normal(size=(N_FEATURES, 6))
    strided, plain = make(ThompsonSampling()), make(ThompsonSampling())
    for column in table.T:
        assert strided.choose(column) == plain.choose(column.copy())
    assert (strided.choose_many(table.T) == plain.choose_many(table.T.copy())).all()


def reverse(context):
    return context[::-1].copy()[::-1]


def lock(context):
    locked = context.copy()
    locked.flags.writeable = False
    return locked


def shift(context):
    """The same numbers at an address that is no multiple of 8."""
    return np.frombuffer(b"." + context.tobytes(), offset=1)


@pytest.mark.parametrize("stored", [reverse, lock, shift])
def test_contexts_may_lie_in_memory_as_they_like(stored):
    contexts, _, rewards = draw_rows(30, seed=1)
    odd, plain = make(ThompsonSampling()), make(ThompsonSampling())
    for context, reward in zip(contexts, rewards, strict=True):
        arm = plain.choose(context)
        assert odd.choose(stored(context)) == arm
        plain.update(context, arm, reward)
        odd.update(stored(context), arm, reward)
    np.testing.assert_array_equal(odd.buffer, plain.buffer)


def test_a_context_is_not_kept():
    agent, context = make(Greedy(warmup="pinv")), np.arange(4.0)
    agent.choose(context)
    agent.update(context, 0, 1.0)
    context[:] = np.nan
    np.testing.assert_allclose(agent.expected_rewards(np.arange(4.0))[0], 1.0)


def test_a_deep_copy_goes_its_own_way():
    agent = make(GreedyFirst(warmup="ridge"))
    contexts, arms, rewards = draw_rows(40, seed=2)
    agent.update_many(contexts, arms, rewards)
    estimates = agent.expected_rewards(contexts[0])
    other = copy.deepcopy(agent)
    other.drop_arm(other.choose(contexts[0]))
    assert other.choose(contexts[0]) != agent.choose(contexts[0])
    other.update(contexts[0], 2, 100.0)
    assert (agent.expected_rewards(contexts[0]) == estimates).all()
    del agent
    assert other.expected_rewards(contexts[0])[2] > estimates[2]


def test_agents_in_threads_do_not_meet():
    contexts, _, rewards = draw_rows(300, seed=3)

    def run(seed):
        agent = make(EpsilonGreedy(epsilon=0.5, warmup="pinv"), seed)
        for context, reward in zip(contexts, rewards, strict=True):
            agent.update(context, agent.choose(context), reward)
        return agent.buffer

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(8)))
    for seed, buffer in enumerate(together):
        np.testing.assert_array_equal(buffer, run(seed))


def test_default_names():
    agent = make(Greedy())
    assert agent.arm_names == ("arm 0", "arm 1", "arm 2")
    assert agent.feature_names == ("x0", "x1", "x2", "x3")
    assert (agent.n_arms, agent.n_features) == (N_ARMS, N_FEATURES)


def test_own_names_stand_for_arms():
    by_name = Agent(
        OLSBandit(),
        n_arms=2,
        n_features=1,
        seed=0,
        arm_names=["low", "high"],
        feature_names=["age"],
    )
    by_number = Agent(OLSBandit(), n_arms=2, n_features=1, seed=0)
    by_name.update([1.0], "high", 2.0)
    by_number.update([1.0], 1, 2.0)
    np.testing.assert_array_equal(by_name.buffer, by_number.buffer)
    assert by_name.choose([1.0], eligible=["high"]) == 1
    assert list(by_name.diversity().arms[0].weakest_direction) == ["age"]


def test_numpy_integers_are_arms():
    agent = make(Greedy(warmup="pinv"))
    agent.update(np.eye(4)[0], np.int32(2), np.float32(0.5))
    assert agent.expected_rewards(np.eye(4)[0])[2] == 0.5


def test_names_stand_for_arms_in_update_many_too():
    """The class says: names may be used wherever an arm is asked for."""
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=1, seed=0, arm_names=["a", "b"])
    agent.update_many([[1.0], [1.0]], ["b", "b"], [1.0, 3.0])
    np.testing.assert_allclose(agent.expected_rewards([1.0]), [0.0, 2.0])


def test_repr_tells_the_work_done():
    agent = make(Greedy())
    agent.update(np.zeros(4), agent.choose(np.zeros(4)), 0.0)
    assert repr(agent) == "Agent(Greedy(), 3 arms, 4 features, seed=3): 1 decision, 1 reward"


def test_a_seed_is_taken_and_kept_when_none_is_given():
    first = Agent(Uniform(), n_arms=50, n_features=1)
    second = Agent(Uniform(), n_arms=50, n_features=1, seed=first.seed)
    contexts = np.ones((30, 1))
    assert (first.choose_many(contexts) == second.choose_many(contexts)).all()


def test_draws_depend_on_the_seed_and_the_decisions_number_only():
    fresh, busy = make(Uniform()), make(Uniform())
    contexts, arms, rewards = draw_rows(40, seed=1)
    busy.update_many(contexts, arms, rewards)
    assert (busy.choose_many(contexts) == fresh.choose_many(contexts)).all()
    assert (make(Uniform(), seed=4).choose_many(contexts) != fresh.choose_many(contexts)).any()


# -------------------------------------------------------------------- many = one by one


@each_policy
def test_many_is_one_by_one(policy):
    many, one = make(policy), make(policy)
    for batch, n in enumerate([7, 1, 20, 40]):
        contexts, _, rewards = draw_rows(n, seed=batch)
        arms = many.choose_many(contexts)
        assert arms.tolist() == [one.choose(context) for context in contexts]
        many.update_many(contexts, arms, rewards)
        for context, arm, reward in zip(contexts, arms, rewards, strict=True):
            one.update(context, int(arm), reward)
        np.testing.assert_array_equal(many.buffer, one.buffer)
    assert (many.decisions, many.joined, many.foreign) == (68, 68, 0)
    assert (one.decisions, one.joined, one.foreign) == (68, 68, 0)


def test_update_many_takes_decided_rows_first_and_history_after_them():
    many, one = make(OLSBandit(q=3)), make(OLSBandit(q=3))
    rows = draw_rows(10, seed=2)
    many.choose_many(rows[0][:4])
    one.choose_many(rows[0][:4])
    many.update_many(*rows)
    for context, arm, reward in zip(*rows, strict=True):
        one.update(context, int(arm), reward)
    assert (many.joined, many.foreign) == (one.joined, one.foreign) == (4, 6)
    np.testing.assert_array_equal(many.buffer, one.buffer)


def test_update_many_across_a_switch_is_one_by_one():
    """Decisions that wait for rewards at a switch were greedy: no forced samples among them."""
    policy = GreedyFirst(t0=6, lambda0=10.0, fallback=OLSBandit(h=1, q=2), carry_over=False)
    many, one = make(policy), make(policy)
    contexts, arms, rewards = draw_rows(30, seed=3)
    many.choose_many(contexts)
    one.choose_many(contexts)
    many.update_many(contexts, arms, rewards)
    for context, arm, reward in zip(contexts, arms, rewards, strict=True):
        one.update(context, int(arm), reward)
    assert one.diversity().switched_at == many.diversity().switched_at == 7
    np.testing.assert_array_equal(one.state.fallback.forced.pulls, 0)
    np.testing.assert_array_equal(many.state.fallback.forced.pulls, 0)
    np.testing.assert_array_equal(many.buffer, one.buffer)


def test_no_rows_are_no_work():
    agent = make(Greedy())
    assert agent.choose_many(np.zeros((0, 4))).shape == (0,)
    agent.update_many(np.zeros((0, 4)), np.zeros(0, int), np.zeros(0))
    assert (agent.decisions, agent.rewards) == (0, 0)


# -------------------------------------------------------------------- delays and history


def test_rewards_out_of_order_are_joined_by_their_step():
    """K = 2, q = 1 forces the steps 1-4, 7, 8 of the first ten: arms 0 1 0 1 and 0 1."""
    agent = Agent(OLSBandit(h=1, q=1, warmup="pinv"), n_arms=2, n_features=2, seed=0)
    contexts, _, rewards = draw_rows(10, seed=4, n_arms=2, n_features=2)
    arms = agent.choose_many(contexts)
    forced = np.array([1, 2, 3, 4, 7, 8]) - 1
    assert arms[forced].tolist() == [0, 1, 0, 1, 0, 1]
    for place in [9, 3, 0, 7, 5, 1, 8, 2, 6, 4]:
        agent.update(contexts[place], int(arms[place]), rewards[place], step=place + 1)
    for k in range(2):
        truth = minimum_norm(contexts[forced], arms[forced], rewards[forced], k)
        np.testing.assert_allclose(agent.state.forced.estimate[k], truth, rtol=1e-9)
        truth = minimum_norm(contexts, arms, rewards, k)
        np.testing.assert_allclose(agent.state.model.estimate[k], truth, rtol=1e-9)
    assert (agent.joined, agent.foreign) == (10, 0)


def test_history_is_learned_but_is_no_forced_sample():
    agent = Agent(OLSBandit(h=1, q=1, warmup="none"), n_arms=2, n_features=2, seed=0)
    rows = draw_rows(20, seed=5, n_arms=2, n_features=2)
    agent.update_many(*rows)
    agent.update(rows[0][0], 0, 1.0)
    assert (agent.decisions, agent.joined, agent.foreign) == (0, 0, 21)
    assert agent.state.model.pulls.sum() == 21
    np.testing.assert_array_equal(agent.state.forced.pulls, 0)
    assert [agent.choose(x) for x in rows[0][:4]] == [0, 1, 0, 1]
    np.testing.assert_allclose(
        agent.expected_rewards(rows[0][0])[1], rows[0][0] @ minimum_norm(*rows, 1), rtol=1e-9
    )


def test_eligible_limits_one_decision():
    agent = make(Uniform())
    contexts = np.ones((200, 4))
    assert {agent.choose(x, eligible=[0, 2]) for x in contexts} == {0, 2}
    assert set(agent.choose_many(contexts)) == {0, 1, 2}
