"""Save and load: the loaded agent goes on as the saved one would have; damage is noticed."""

import copy
import json
import pickle
import zlib
from pathlib import Path

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
)
from greedyfirst.files import data_file
from greedyfirst.testing.trial_runs import suited

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
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)

#: Files that release 0.1.0 wrote, what its agents did next, and a CRC-32 of each field that is not
#: all 0: those of agents that go through the same rounds now.
RELEASE_0_1 = Path(__file__).parent / "release_0_1"
NEXT = json.loads((RELEASE_0_1 / "next.json").read_text())


def work(agent, n, seed):
    """Decisions with rewards, of which the last three stay open; the arms chosen."""
    rng = np.random.default_rng(seed)
    arms = []
    for context in rng.normal(size=(n, agent.n_features)):
        arms.append(agent.choose(context))
        if agent.decisions > 3:
            agent.update(context, arms[-1], float(context[0] - arms[-1] + rng.normal()))
    return arms


@each_policy
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


# ---------------------------------------------------------------- copies


@each_policy
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_is_another_agent_with_the_same_future(policy, copied):
    agent = Agent(policy, n_arms=3, n_features=3, seed=9, arm_names=["a", "b", "c"])
    work(agent, 25, seed=0)
    agent.drop_arm("c")
    other = copied(agent)
    assert (other.arm_names, other.decisions, other.joined) == (("a", "b", "c"), 25, agent.joined)
    before = agent.buffer.copy()
    arms = work(other, 60, seed=1)
    np.testing.assert_array_equal(agent.buffer, before)
    assert agent.decisions == 25
    assert work(agent, 60, seed=1) == arms
    np.testing.assert_array_equal(agent.buffer, other.buffer)


# ---------------------------------------------------------------- states of other releases


def rewritten(path, agent, change):
    """Save the agent as a release would have whose table of fields is another."""
    agent.save(path)
    header, arrays = data_file.read(path, "agent")
    change(header["fields"])
    data_file.write(path, "agent", header, arrays)


def worked_agent():
    agent = Agent(EpsilonGreedy(epsilon=0.5, warmup="pinv"), n_arms=2, n_features=3, seed=4)
    work(agent, 30, seed=5)
    return agent


@pytest.mark.parametrize(
    ("field", "start"), [("model.growth", 1.0), ("scores.random_share", 0.5), ("model.pulls", 0)]
)
def test_a_field_that_is_new_since_the_file_was_written_has_its_start_value(field, start, tmp_path):
    agent = worked_agent()
    if field == "scores.random_share":
        agent.state.scores.random_share = 0.25
    rewritten(tmp_path / "agent", agent, lambda fields: fields.pop(field))
    found = dict(Agent.load(tmp_path / "agent").state.arrays())
    for path, array in agent.state.arrays():
        if path == field:
            np.testing.assert_array_equal(found[path], start)
            assert (array != start).any()
        else:
            np.testing.assert_array_equal(found[path], array, err_msg=path)


def test_a_field_that_is_gone_is_ignored(tmp_path):
    agent = worked_agent()
    rewritten(tmp_path / "agent", agent, lambda fields: fields.update(old=["float64", 0, 2]))
    loaded = Agent.load(tmp_path / "agent")
    np.testing.assert_array_equal(loaded.buffer, agent.buffer)
    assert work(loaded, 60, seed=1) == work(agent, 60, seed=1)


def test_fields_in_another_order_are_found_by_name(tmp_path):
    agent = worked_agent()
    agent.save(tmp_path / "agent")
    header, arrays = data_file.read(tmp_path / "agent", "agent")
    buffer, fields = bytearray(), {}
    for path, array in reversed(list(agent.state.arrays())):
        fields[path] = [array.dtype.name, len(buffer), *array.shape]
        buffer += array.tobytes()
    header["fields"], arrays["buffer"] = fields, np.frombuffer(buffer, np.uint8)
    data_file.write(tmp_path / "agent", "agent", header, arrays)
    loaded = Agent.load(tmp_path / "agent")
    np.testing.assert_array_equal(loaded.buffer, agent.buffer)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ([0, 2, 2], r"model\.moment has shape \(2, 2\), not \(2, 3\)"),
        ([0, 6], r"model\.moment has shape \(6,\), not \(2, 3\)"),
        ([0, 3, 3], r"shape"),
        ([10**9, 2, 3], r"reshape"),
    ],
    ids=["fewer columns", "fewer axes", "more rows", "behind the end"],
)
def test_an_array_of_another_shape_is_refused(place, told, tmp_path):
    def change(fields):
        fields["model.moment"] = ["float64", *place]

    path = tmp_path / "agent.npz"
    rewritten(path, worked_agent(), change)
    with pytest.raises(ValueError, match=rf"agent\.npz is not a complete agent file: .*{told}"):
        Agent.load(path)


@pytest.mark.parametrize("fields", [[], None, {"model.moment": []}, {"model.moment": ["text", 0]}])
def test_a_table_of_fields_that_is_none_is_refused(fields, tmp_path):
    path = tmp_path / "agent.npz"
    agent = worked_agent()
    data_file.write(path, "agent", agent._header() | {"fields": fields}, {"buffer": agent.buffer})
    with pytest.raises(ValueError, match=r"agent\.npz is not a complete agent file: "):
        Agent.load(path)


# ---------------------------------------------------------------- release 0.1.0


# Those of an earlier moment of the same policies need kernels of their own: minutes.
every_file = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name.startswith("early_") else ())
        for name in NEXT
    ],
)


def next_rounds(n_arms, n=100):
    """Contexts and rewards by whole numbers and divisions alone: the same on every machine."""
    t, arm = np.arange(n), np.arange(n_arms)
    contexts = np.column_stack([np.ones(n), 37 * t % 101 / 50 - 1, 53 * t * t % 97 / 48 - 1])
    noise = 29 * (t[:, None] + 1) * (arm + 2) % 83 / 41 - 1
    return contexts, contexts[:, 1:2] * (arm - 1) + noise


def test_every_file_of_release_0_1_is_looked_at():
    assert {file.stem for file in RELEASE_0_1.glob("*.agent")} == set(NEXT)


@every_file
def test_every_field_of_release_0_1_is_found(name):
    state = dict(Agent.load(RELEASE_0_1 / f"{name}.agent").state.arrays())
    known = {path: f"{zlib.crc32(state[path].tobytes()):08x}" for path in NEXT[name]["fields"]}
    assert known == NEXT[name]["fields"]


@every_file
def test_an_agent_of_release_0_1_goes_on_as_it_did_there(name):
    agent, there = Agent.load(RELEASE_0_1 / f"{name}.agent"), NEXT[name]
    contexts, rewards = next_rounds(agent.n_arms)
    rewards = suited(agent.policy, rewards)
    arms, numbers = [], {}
    for t, (context, row) in enumerate(zip(contexts, rewards, strict=True)):
        numbers[f"{t}"] = [
            agent.probabilities(context).tolist(),
            agent.expected_rewards(context).tolist(),
        ]
        arms.append(agent.choose(context))
        agent.update(context, arms[-1], float(row[arms[-1]]))
    assert arms == there["arms"]
    for t, (probabilities, expected) in there["numbers"].items():
        # The quadrature sums in the order of the machine's linear algebra: last digits may differ.
        np.testing.assert_allclose(numbers[t][0], probabilities, rtol=1e-12, atol=1e-15)
        assert numbers[t][1] == expected
    assert str(agent.diversity()) == there["diversity"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda layout: layout["model"]["vectors"].__setitem__(1, 8), r"model\.rows has shape"),
        (lambda layout: layout["initial"].__setitem__(1, 2), r"index 2 is out of bounds"),
        (lambda layout: layout["model"].pop("numbers"), r"'numbers'"),
        (lambda layout: layout.update(model=[3, 4]), r"."),
    ],
    ids=["fewer vectors", "fewer columns", "a missing array", "an array for a model"],
)
def test_a_state_of_release_0_1_with_other_arrays_is_refused(change, told, tmp_path):
    path = tmp_path / "agent.npz"
    header, arrays = data_file.read(RELEASE_0_1 / "greedy_added.agent", "agent")
    change(header["layout"])
    data_file.write(path, "agent", header, arrays)
    with pytest.raises(ValueError, match=rf"agent\.npz is not a complete agent file: .*{told}"):
        Agent.load(path)


def test_a_state_of_release_0_1_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    header, arrays = data_file.read(RELEASE_0_1 / "greedy_added.agent", "agent")
    data_file.write(path, "agent", header, {"state": arrays["state"][:-100]})
    with pytest.raises(ValueError, match=r"agent\.npz is not .*: the state is shorter than its"):
        Agent.load(path)
