"""Save and load: the loaded agent goes on as the saved one would have; damage is noticed."""

import numpy as np
import pytest

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    PriorFreeThompsonSampling,
    SimulationResult,
    ThompsonSampling,
    data_file,
)

POLICIES = [
    Greedy(warmup="pinv", initial_pulls=3),
    OLSBandit(h=2, q=2),
    OFUL(sigma=0.5),
    ThompsonSampling(prior_mean=[0, 1, 0], prior_covariance=np.diag([1.0, 2.0, 3.0])),
    PriorFreeThompsonSampling(),
    EpsilonGreedy(epsilon=0.5),
    GreedyFirst(t0=5, lambda0=5.0, fallback=OLSBandit(h=1, q=2)),
    GreedyFirst(t0=5, lambda0=5.0, fallback=ThompsonSampling()),
]


def work(agent, n, seed):
    """Decisions with rewards, of which the last three stay open; the arms chosen."""
    rng = np.random.default_rng(seed)
    arms = []
    for context in rng.normal(size=(n, agent.n_features)):
        arms.append(agent.choose(context))
        if agent.decisions > 3:
            agent.update(context, arms[-1], float(context[0] - arms[-1] + rng.normal()))
    return arms


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_the_loaded_agent_goes_on(policy, tmp_path):
    agent = Agent(
        policy, n_arms=3, n_features=3, seed=9, arm_names=["a", "b", "c"], feature_names=list("xyz")
    )
    work(agent, 25, seed=0)
    agent.update(np.ones(3), "b", 1.0)
    agent.drop_arm("c")
    if isinstance(policy, GreedyFirst):
        agent.explore()
        assert agent.diversity().mode == "fallback"
    path = tmp_path / "agent.bin"
    agent.save(path)
    loaded = Agent.load(str(path))
    assert loaded.policy == policy
    assert loaded.arm_names == ("a", "b", "c")
    assert loaded.feature_names == ("x", "y", "z")
    assert loaded.seed == 9
    assert (loaded.decisions, loaded.joined, loaded.foreign) == (25, agent.joined, agent.foreign)
    np.testing.assert_array_equal(loaded.buffer, agent.buffer)
    assert str(loaded.diversity()) == str(agent.diversity())
    assert work(loaded, 60, seed=1) == work(agent, 60, seed=1)
    np.testing.assert_array_equal(loaded.buffer, agent.buffer)


def test_a_switch_that_came_by_itself_is_kept(tmp_path):
    agent = Agent(POLICIES[6], n_arms=3, n_features=3, seed=2)
    work(agent, 30, seed=3)
    assert agent.diversity().switched_at == 6
    agent.save(tmp_path / "agent")
    loaded = Agent.load(tmp_path / "agent")
    assert loaded.diversity() == agent.diversity()
    assert work(loaded, 80, seed=4) == work(agent, 80, seed=4)


def test_added_arms_are_kept(tmp_path):
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=2)
    work(agent, 10, seed=3)
    agent.add_arm("new")
    agent.save(tmp_path / "agent")
    loaded = Agent.load(tmp_path / "agent")
    arms = work(loaded, 20, seed=4)
    assert arms[:2] == [2, 2]
    assert arms == work(agent, 20, seed=4)


def test_saving_leaves_one_file_and_replaces_the_old_one(tmp_path):
    path = tmp_path / "agent.npz"
    agent = Agent(Greedy(), n_arms=2, n_features=2, seed=0)
    agent.save(path)
    work(agent, 10, seed=0)
    agent.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.npz"]
    assert Agent.load(path).decisions == 10


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "agent.npz"
    path.mkdir()
    with pytest.raises(OSError, match=r"agent\.npz"):
        Agent(Greedy(), n_arms=2, n_features=2, seed=0).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["agent.npz"]


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        Agent.load(tmp_path / "nowhere.npz")
    with pytest.raises(FileNotFoundError):
        Agent(Greedy(), n_arms=2, n_features=2).save(tmp_path / "nowhere" / "agent")


@pytest.mark.parametrize("size", [0, 1, 30, 200, -200, -1])
def test_a_truncated_file(size, tmp_path):
    path = tmp_path / "agent.npz"
    Agent(Greedy(), n_arms=2, n_features=2, seed=0).save(path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"agent\.npz"):
        Agent.load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x80\x04K\x01.", b"\x93NUMPY"])
def test_a_foreign_file(content, tmp_path):
    path = tmp_path / "agent.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"agent\.npz"):
        Agent.load(path)


def test_foreign_numpy_files(tmp_path):
    np.savez(tmp_path / "a.npz", header=np.zeros(3))
    np.savez(tmp_path / "b.npz", state=np.zeros(3))
    np.save(tmp_path / "c.npy", np.zeros(3))
    np.savez(tmp_path / "d.npz", header=np.frombuffer(b"[1]", np.uint8))
    np.savez(tmp_path / "e.npz", header=np.frombuffer(b'{"greedyfirst": "agent"}', np.uint8))
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match=path.name):
            Agent.load(path)


def test_an_agent_is_no_simulation(tmp_path):
    path = tmp_path / "agent.npz"
    Agent(Greedy(), n_arms=2, n_features=2, seed=0).save(path)
    with pytest.raises(ValueError, match=r"agent\.npz is not a greedyfirst simulation"):
        SimulationResult.load(path)


def test_any_flipped_byte_is_noticed_or_harmless(tmp_path):
    """Every third byte turned over, one at a time: a ValueError, or the very same agent."""
    path = tmp_path / "agent.npz"
    agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=0)
    work(agent, 10, seed=0)
    agent.save(path)
    content = path.read_bytes()
    noticed, surprises = 0, set()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = Agent.load(path)
        except Exception as error:
            if isinstance(error, ValueError) and "agent.npz" in str(error):
                noticed += 1
                continue
            surprises.add(f"{type(error).__name__}: {error} (byte {place})")
        else:
            np.testing.assert_array_equal(loaded.buffer, agent.buffer)
            assert (loaded.decisions, loaded.joined) == (agent.decisions, agent.joined)
    assert not surprises
    assert noticed > len(content) / 6


def test_a_state_with_other_arrays_of_the_same_size(tmp_path):
    """As another release may write: the shapes tell, not only how many numbers there are."""
    path = tmp_path / "agent.npz"
    agent = Agent(Greedy(), n_arms=2, n_features=2, seed=0)
    header = agent._header()
    header["layout"]["model"]["vectors"][1] -= 1
    data_file.write(path, "agent", header, {"state": agent.buffer})
    with pytest.raises(ValueError, match=r"agent\.npz holds a state of another release's layout"):
        Agent.load(path)
