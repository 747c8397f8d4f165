"""Copies, pickles, processes and threads: what agents share, and what they do not."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from greedyfirst import (
    Agent,
    Categorical,
    Greedy,
    GreedyFirst,
    Numeric,
    OLSBandit,
    Schema,
    ThompsonSampling,
    simulate,
)
from greedyfirst.problems import TableProblem

CONTEXTS = np.random.default_rng(0).normal(size=(60, 2))
WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
}


class OwnAgent(Agent):
    """An agent of somebody's own."""


def worked(kind=Agent):
    agent = kind(
        GreedyFirst(warmup="ridge", t0=10, fallback=ThompsonSampling()),
        arms=["a", "b", "c"],
        features=["age", "bmi"],
        seed=3,
    )
    for context in CONTEXTS:
        arm = agent.choose(context)
        if agent.decisions % 3:
            agent.update(context, arm, float(context[0]), step=agent.decisions)
    agent.retire_arm("c")
    return agent


def course(agent, n=40):
    """Its next decisions and estimates."""
    arms = []
    for context in np.random.default_rng(1).normal(size=(n, 2)):
        arms.append(agent.choose(context))
        agent.update(context, arms[-1], float(context[1]))
    return arms, agent.expected_rewards([1.0, 1.0]).tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Agent, OwnAgent])
def test_a_copy_goes_on_by_itself(way, kind):
    agent = worked(kind)
    other = WAYS[way](agent)
    assert type(other) is kind
    before = agent.buffer.copy()
    theirs = course(other)
    np.testing.assert_array_equal(agent.buffer, before)
    assert course(agent) == theirs


@pytest.mark.parametrize("way", WAYS)
def test_what_belongs_to_agents_is_copied_too(way):
    schema = Schema(features=[Numeric("age"), Categorical("sex", ["f", "m"])], impute={"sex": "f"})
    policy = GreedyFirst(fallback=OLSBandit(h=2.0))
    for value in (schema, policy):
        assert WAYS[way](value) == value
    agent = worked()
    for report in (agent.diversity(), agent.intervals(CONTEXTS, sigma=1.0)):
        assert repr(WAYS[way](report)) == repr(report)
    problem = TableProblem(contexts=np.ones((20, 1)), rewards=np.ones((20, 2)))
    result = simulate(problem, {"Greedy": Greedy()}, n_instances=2, horizon=20, seed=0)
    np.testing.assert_array_equal(WAYS[way](result).mean, result.mean)


@pytest.mark.slow
def test_processes_get_agents_and_give_them_back():
    agents = [worked(), copy.copy(worked())]
    agents[1].reinstate_arm("c")
    played = joblib.Parallel(n_jobs=2)(joblib.delayed(course)(agent) for agent in agents)
    assert played == [course(agent) for agent in agents]


def test_an_agent_dumped_by_joblib_is_loaded(tmp_path):
    agent = worked()
    joblib.dump(agent, tmp_path / "agent.joblib")
    assert course(joblib.load(tmp_path / "agent.joblib")) == course(agent)


def test_copies_in_threads_do_not_meet():
    agent = worked()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(course, [copy.copy(agent) for _ in range(8)]))
    assert together == [course(agent)] * 8


def test_reading_estimates_in_threads_is_safe_while_nobody_learns():
    agent = worked()
    alone = agent.expected_rewards(CONTEXTS)

    def read(_):
        return np.array([agent.explain(context)[0] for context in CONTEXTS])

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(read, range(40)):
            np.testing.assert_array_equal(found, alone)


def test_threads_that_share_an_agent_under_a_lock_lose_nothing():
    """Sums of whole numbers are exact in any order: the estimate is that of all rows."""
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=1, seed=0)
    lock, rounds, steps = threading.Lock(), 300, []

    def work(worker):
        for number in range(rounds):
            with lock:
                arm = agent.choose([1.0])
                step = agent.decisions
            with lock:
                steps.append(step)
                agent.update([1.0], arm, float(worker + number % 2), step=step)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(steps) == list(range(1, 4 * rounds + 1))
    assert (agent.decisions, agent.joined, agent.foreign) == (4 * rounds, 4 * rounds, 0)
    assert agent.pulls.sum() == 4 * rounds
    total = sum(worker * rounds + rounds // 2 for worker in range(4))
    assert agent.expected_rewards([1.0]) @ agent.pulls == pytest.approx(total, rel=1e-9)
