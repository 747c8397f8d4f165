"""Logs that are learned by sums, against ``update`` row by row."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    ThompsonSampling,
    Uniform,
)
from greedyfirst.agent import learning_from_logs, log_reading
from greedyfirst.tables import Categorical, Numeric, Schema, log_rows

N_ARMS, N_FEATURES = 3, 4
SOON = {"fallback": OLSBandit(h=0.5), "t0": 150, "lambda0": 0.9}
POLICIES = {
    "learned ridge": Greedy(),
    "given ridge": Greedy(regularization=2.0),
    "least squares": Greedy(warmup="none"),
    "minimum norm": EpsilonGreedy(warmup="pinv"),
    "falling ridge": Greedy(warmup="ridge"),
    "arm by arm": GreedyFirst(),
    "drops arms": GreedyFirst(on_alarm="drop"),
    "paper": GreedyFirst(fallback=OLSBandit()),
    "paper, full span": GreedyFirst(fallback=OLSBandit(), span="full"),
    "switches": GreedyFirst(**SOON),
    "switches, told nothing": GreedyFirst(**SOON, carry_over=False),
    "switches to LinUCB": GreedyFirst(**SOON | {"fallback": LinUCB()}),
    "switches to OFUL": GreedyFirst(**SOON | {"fallback": OFUL()}),
    "holds": GreedyFirst(**SOON, on_alarm="hold"),
    "OLS Bandit": OLSBandit(h="auto"),
    "OLS Bandit, least squares": OLSBandit(h="auto", warmup="pinv", refresh="scheduled"),
    "LinUCB": LinUCB(),
    "Uniform": Uniform(),
    "row by row": OFUL(),
    "row by row too": ThompsonSampling(),
}


def make_rows(seed, n, *, contexts="normal", level=0.0):
    """Contexts, arms and rewards; arm 2 is taken only where the second feature is high."""
    rng = np.random.default_rng(seed)
    x = np.c_[np.ones(n), rng.normal(size=(n, N_FEATURES - 1))]
    if contexts == "collinear":
        x[:, 3] = x[:, 1] + x[:, 2]
    elif contexts == "late":  # a direction, and a feature, that come late
        x[: n // 2, 3] = 0.0
    elif contexts == "one-hot":
        x = np.eye(N_FEATURES)[rng.integers(0, N_FEATURES, n)]
    arms = np.where(x[:, 1] > 0.6, 2, rng.integers(0, 2, n))
    effects = rng.normal(size=(N_ARMS, N_FEATURES))
    rewards = (x * effects[arms]).sum(axis=1) + 0.5 * rng.normal(size=n) + level
    return x, arms, rewards


def as_table(x, arms, rewards):
    columns = {f"x{i}": x[:, i] for i in range(x.shape[1])}
    return pa.table({**columns, "arm": arms, "reward": rewards})


def new_agent(policy, **options):
    return Agent(policy, n_arms=N_ARMS, n_features=N_FEATURES, seed=5, **options)


def assert_same(found, truth, contexts="normal"):
    """Counts, tests and alarms equal; expected rewards to 1e-9; the next decisions the same."""
    assert (found.foreign, found.joined, found.room) == (truth.foreign, truth.joined, truth.room)
    np.testing.assert_array_equal(found.pulls, truth.pulls)
    for name in ("alarms", "explores"):
        assert getattr(found, name) == getattr(truth, name)
    np.testing.assert_array_equal(found.alarmed_at, truth.alarmed_at)
    np.testing.assert_array_equal(found.dropped, truth.dropped)
    watch, other = (agent.policy.watch(agent.state) for agent in (found, truth))
    if watch is not None:
        for name in ("clock", "rank", "culprit", "switched_at", "offset"):
            assert getattr(watch, name) == getattr(other, name), name
        assert watch.lambda0 == pytest.approx(other.lambda0, rel=1e-9)
    rows = make_rows(99, 100, contexts=contexts)[0]
    expected = np.array([truth.expected_rewards(x) for x in rows])
    got = np.array([found.expected_rewards(x) for x in rows])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * abs(expected).max() + 1e-300)
    np.testing.assert_array_equal(found.choose_many(rows), truth.choose_many(rows))


def learned(policy, path, **options):
    agent = new_agent(policy)
    agent.learn_from(path, **options)
    return agent


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(log_rows, "BLOCK_ROWS", 64)


@pytest.mark.parametrize("contexts", ["normal", "collinear", "late", "one-hot"])
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_as_if_every_row_had_come_by_itself(policy, contexts, small_blocks, tmp_path):
    rows = make_rows(1, 2000, contexts=contexts, level=50.0)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet", row_group_size=300)
    truth = new_agent(policy)
    truth.update_many(*rows)
    assert_same(learned(policy, tmp_path / "log.parquet"), truth, contexts)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    policy=st.sampled_from(["learned ridge", "arm by arm", "paper", "switches"]),
    contexts=st.sampled_from(["normal", "collinear", "late"]),
    seed=st.integers(0, 2**32),
    n=st.integers(1, 700),
    block=st.integers(1, 200),
    group=st.integers(1, 400),
    before=st.integers(0, 50),
)
def test_any_shards_and_blocks(policy, contexts, seed, n, block, group, before, tmp_path_factory):
    x, arms, rewards = make_rows(seed, n + before, contexts=contexts)
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    pq.write_table(
        as_table(x[before:], arms[before:], rewards[before:]), path, row_group_size=group
    )
    found, truth = new_agent(POLICIES[policy]), new_agent(POLICIES[policy])
    if before:
        found.update_many(x[:before], arms[:before], rewards[:before])
    truth.update_many(x, arms, rewards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_rows, "BLOCK_ROWS", block)
        found.learn_from(path)
    assert_same(found, truth, contexts)


@pytest.mark.parametrize("offset", range(-2, 3))
def test_a_switch_at_a_shard_border_is_at_its_row(offset, monkeypatch, tmp_path):
    """Blocks and row groups end just before, at and just after the row of the switch."""
    policy, rows = POLICIES["switches"], make_rows(3, 1500)
    truth = new_agent(policy)
    truth.update_many(*rows)
    switched = truth.policy.watch(truth.state).switched_at
    assert 150 < switched < 1000
    monkeypatch.setattr(log_rows, "BLOCK_ROWS", (switched + offset) // 2)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet", row_group_size=switched + offset)
    assert_same(learned(policy, tmp_path / "log.parquet"), truth)


@pytest.mark.parametrize("short", [None, 39, 40, 41, 79, 80, 81])
def test_ties_with_the_threshold_raise_no_alarm(short, monkeypatch, tmp_path):
    """With contexts of 1, λ_min = t = λ₀t/4 in every round; a context of 0 falls short of it."""
    x, arms = np.ones((120, 1)), np.zeros(120, int)
    if short is not None:
        x[short - 1] = 0.0
    policy = GreedyFirst(fallback=OLSBandit(), t0=8, lambda0=4.0)
    monkeypatch.setattr(log_rows, "BLOCK_ROWS", 8)
    pq.write_table(as_table(x, arms, x[:, 0]), tmp_path / "log.parquet", row_group_size=40)
    found = Agent(policy, n_arms=1, n_features=1, seed=0)
    found.learn_from(tmp_path / "log.parquet")
    assert found.alarmed_at[0] == (short or 0)


@pytest.mark.parametrize("policy", ["learned ridge", "arm by arm", "switches", "OLS Bandit"])
def test_the_same_bits_on_any_number_of_threads(policy, small_blocks, tmp_path):
    rows = make_rows(2, 6000, contexts="late", level=9.0)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet", row_group_size=100)
    one, two, five = (
        learned(POLICIES[policy], tmp_path / "log.parquet", n_jobs=n).buffer for n in (1, 2, 5)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, five)


def test_few_rows_are_learned_one_by_one(small_blocks, tmp_path):
    rows = make_rows(4, 20_000)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet", row_group_size=2000)
    for policy, most in (("least squares", 64), ("paper", 640), ("arm by arm", 2400)):
        done = learning_from_logs.learn_from(
            new_agent(POLICIES[policy]), tmp_path / "log.parquet", arm="arm", reward="reward"
        )
        assert (done.rows, done.one_by_one <= most) == (20_000, True), policy


def test_estimates_are_those_of_lstsq_far_from_zero(small_blocks, tmp_path):
    x, arms, rewards = make_rows(6, 5000, level=100.0)
    pq.write_table(as_table(x, arms, rewards), tmp_path / "log.parquet", row_group_size=700)
    agent = learned(POLICIES["least squares"], tmp_path / "log.parquet")
    for arm in range(N_ARMS):
        own = arms == arm
        truth = np.linalg.lstsq(x[own], rewards[own])[0]
        np.testing.assert_allclose(agent._model("").estimate[arm], truth, rtol=1e-9)
    ridge, truth = (
        learned(POLICIES["arm by arm"], tmp_path / "log.parquet"),
        new_agent(GreedyFirst()),
    )
    truth.update_many(x, arms, rewards)
    for name in ("noise_variance", "penalty"):
        expected = getattr(truth._model(""), name)
        assert getattr(ridge._model(""), name) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "tsv", "arrow", "folder", "several"])
def test_files_of_all_kinds(kind, small_blocks, tmp_path):
    rows = make_rows(7, 900)
    table = as_table(*rows)
    source = tmp_path / f"log.{kind}"
    if kind in ("csv", "csv.gz", "tsv"):
        separator = "\t" if kind == "tsv" else ","
        table.to_pandas().to_csv(source, index=False, sep=separator)
    elif kind == "arrow":
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table, max_chunksize=250)
    elif kind == "parquet":
        pq.write_table(table, source, row_group_size=250)
    else:
        (tmp_path / "log").mkdir()
        for number, first in enumerate((0, 400)):
            part = table.slice(first, (400, 500)[number])
            pq.write_table(part, tmp_path / "log" / f"{number}.parquet")
        (tmp_path / "log" / "_SUCCESS").write_text("")
        source = tmp_path / "log"
        if kind == "several":
            source = [source / "0.parquet", source / "1.parquet"]
    truth = new_agent(GreedyFirst())
    truth.update_many(*rows)
    assert_same(learned(GreedyFirst(), source), truth)


def test_a_pyarrow_dataset_and_names_of_arms(tmp_path):
    x, arms, rewards = make_rows(8, 500)
    names = np.array(["low", "medium", "high"])
    table = as_table(x, arms, rewards).set_column(
        4, "arm", pa.array(names[arms]).dictionary_encode()
    )
    pq.write_table(table, tmp_path / "log.parquet")
    found = new_agent(Greedy(), arm_names=[*names])
    found.learn_from(pyarrow.dataset.dataset(tmp_path / "log.parquet"))
    truth = new_agent(Greedy())
    truth.update_many(x, arms, rewards)
    np.testing.assert_array_equal(found.pulls, truth.pulls)
    numbered = new_agent(Greedy(), arm_names=["7", "8", "9"])
    pq.write_table(as_table(x, arms + 7, rewards), tmp_path / "numbers.parquet")
    numbered.learn_from(tmp_path / "numbers.parquet")
    np.testing.assert_array_equal(numbered.pulls, truth.pulls)


def test_a_schema_makes_contexts(tmp_path):
    rng = np.random.default_rng(0)
    n = 300
    table = pa.table(
        {
            "age": rng.normal(60, 10, n),
            "sex": rng.choice(["f", "m"], n),
            "arm": rng.integers(0, 3, n),
            "reward": rng.normal(size=n),
        }
    )
    schema = Schema(
        features=[Numeric("age", 60, 10), Categorical("sex", ["f", "m"])], intercept=True
    )
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=70)
    found = Agent(Greedy(), schema=schema, n_arms=3, seed=1)
    found.learn_from(tmp_path / "log.parquet")
    truth = Agent(Greedy(), n_arms=3, n_features=3, seed=1)
    frame = table.to_pandas()
    truth.update_many(schema.encode(frame), frame["arm"].to_numpy(), frame["reward"].to_numpy())
    np.testing.assert_allclose(found._model("").estimate, truth._model("").estimate, rtol=1e-9)


def test_decisions_that_wait_for_rewards_are_not_joined(tmp_path):
    rows = make_rows(9, 200)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet")
    found, truth = new_agent(GreedyFirst()), new_agent(GreedyFirst())
    for agent in (found, truth):
        agent.choose(rows[0][0])
    found.learn_from(tmp_path / "log.parquet")
    for x, arm, reward in zip(*rows, strict=True):
        truth.update(x, int(arm), float(reward), step=0)
    assert_same(found, truth)


BAD = {
    "missing column": (lambda t: t.drop_columns(["x1"]), "the log has no column 'x1'"),
    "no arm column": (lambda t: t.drop_columns(["arm"]), "arm must be the name of a column"),
    "unknown arm": (
        lambda t: t.set_column(4, "arm", pa.array([0] * 150 + [3] * 2 + [1] * 48)),
        r"log.parquet, row group 1: column 'arm' has 2 cells that are none of the arms arm 0, .* "
        r"first in its row 51 \(3\)",
    ),
    "not finite": (
        lambda t: t.set_column(1, "x1", pa.array([0.0] * 199 + [np.inf])),
        r"log.parquet, row group 1: column 'x1' has a cell that is missing or not finite",
    ),
    "missing rewards": (
        lambda t: t.set_column(5, "reward", pa.array([None] * 3 + [1.0] * 197)),
        "row group 0: column 'reward' has 3 cells that are missing or not finite",
    ),
    "text": (
        lambda t: t.set_column(1, "x1", pa.array(["a"] * 200)),
        "column 'x1' must hold numbers, got string",
    ),
    "no rows": (lambda t: t.slice(0, 0), "log.parquet has no rows"),
}


@pytest.mark.parametrize(("change", "sentence"), BAD.values(), ids=BAD)
def test_bad_logs_are_refused_and_change_nothing(change, sentence, tmp_path):
    table = as_table(*make_rows(10, 200))
    pq.write_table(change(table), tmp_path / "log.parquet", row_group_size=100)
    agent = new_agent(GreedyFirst())
    agent.update_many(*make_rows(11, 50))
    before, counts = agent.buffer.copy(), (agent.foreign, agent.room)
    with pytest.raises(ValueError, match=sentence):
        agent.learn_from(tmp_path / "log.parquet")
    np.testing.assert_array_equal(agent.buffer, before)
    assert (agent.foreign, agent.room) == counts


@pytest.mark.parametrize("policy", ["learned ridge", "arm by arm", "switches", "OLS Bandit"])
def test_sums_of_neighbours_are_added_where_memory_is_short(policy, small_blocks, tmp_path):
    """All sums of a row group in one: what happens in it is learned row by row."""
    rows = make_rows(14, 6000, contexts="late", level=9.0)
    pq.write_table(as_table(*rows), tmp_path / "log.parquet", row_group_size=1000)
    truth = new_agent(POLICIES[policy])
    truth.update_many(*rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_reading, "SHARD_BYTES", 1)
        done = learning_from_logs.learn_from(
            new_agent(POLICIES[policy]), tmp_path / "log.parquet", arm="arm", reward="reward"
        )
        one, two = (
            learned(POLICIES[policy], tmp_path / "log.parquet", n_jobs=n_jobs) for n_jobs in (1, 2)
        )
    assert 64 < done.one_by_one < 6000
    np.testing.assert_array_equal(one.buffer, two.buffer)
    assert_same(one, truth, "late")


def test_amounts_that_are_true_or_false(tmp_path):
    """A reward, a feature and an arm, as ``update`` takes them."""
    x, arms, rewards = make_rows(15, 300)
    x[:, 2] = x[:, 2] > 0
    table = as_table(x, arms % 2, rewards)
    for place, name in ((2, "x2"), (4, "arm"), (5, "reward")):
        table = table.set_column(place, name, pa.array(table[name].to_numpy() > 0))
    pq.write_table(table, tmp_path / "log.parquet")
    options = {"n_arms": 2, "n_features": N_FEATURES, "arm_names": ["false", "true"], "seed": 5}
    found, truth = (Agent(GreedyFirst(), **options) for _ in range(2))
    assert found.learn_from(tmp_path / "log.parquet") == 300
    truth.update_many(x, arms % 2, rewards > 0)
    np.testing.assert_array_equal(found.pulls, truth.pulls)
    np.testing.assert_allclose(
        found.expected_rewards(x[0]), truth.expected_rewards(x[0]), rtol=1e-9
    )


def test_rows_without_a_reward_are_left_out_whatever_stands_for_it(tmp_path):
    x, arms, rewards = make_rows(16, 300)
    missing = np.arange(300) % 7 == 0
    for gap in (None, np.nan):
        column = pa.array([gap if m else r for m, r in zip(missing, rewards, strict=True)])
        pq.write_table(
            as_table(x, arms, rewards).set_column(5, "reward", column), tmp_path / "log.parquet"
        )
        found, truth = new_agent(Greedy()), new_agent(Greedy())
        assert found.learn_from(tmp_path / "log.parquet", rewarded_only=True) == (~missing).sum()
        truth.update_many(x[~missing], arms[~missing], rewards[~missing])
        assert_same(found, truth)


def test_a_dataset_that_is_more_than_its_files_is_refused(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(as_table(*make_rows(17, 100)), path)
    agent, whole = new_agent(Greedy()), pyarrow.dataset.dataset(path)
    with pytest.raises(ValueError, match="dataset must be one without a filter"):
        agent.learn_from(whole.filter(pyarrow.dataset.field("x1") > 0))
    parts = tmp_path / "parts"
    (parts / "year=2024").mkdir(parents=True)
    path.rename(parts / "year=2024" / "log.parquet")
    with pytest.raises(ValueError, match="dataset must be one whose columns are all in its files"):
        agent.learn_from(pyarrow.dataset.dataset(parts, partitioning="hive"))
    with pytest.raises(ValueError, match="'year=2024', whose value is no column of the file"):
        agent.learn_from(parts)
    elsewhere = pyarrow.fs.SubTreeFileSystem(str(parts / "year=2024"), pyarrow.fs.LocalFileSystem())
    with pytest.raises(ValueError, match="dataset must be one of files on a disk of this machine"):
        agent.learn_from(pyarrow.dataset.dataset("log.parquet", filesystem=elsewhere))
    assert agent.foreign == 0


def test_each_file_is_learned_once(tmp_path):
    for name, seed in (("a", 18), ("b", 19)):
        as_table(*make_rows(seed, 50)).to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    agent = new_agent(Greedy())
    for files in ([a, a, b], [tmp_path, a], [a, tmp_path / ".." / tmp_path.name / "a.csv"]):
        with pytest.raises(
            ValueError, match=r"a\.csv is given twice; give each file of a log once"
        ):
            agent.learn_from(files)
    assert agent.learn_from([b, a]) == 100


def test_columns_have_one_role(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(as_table(*make_rows(20, 50)), path)
    agent = new_agent(Greedy())
    with pytest.raises(ValueError, match="reward must be another column than the arm's, got 'arm'"):
        agent.learn_from(path, reward="arm")
    with pytest.raises(ValueError, match="reward must be no column of the context, got 'x1'"):
        agent.learn_from(path, reward="x1")
    with pytest.raises(ValueError, match="rewarded_only must be True or False, got 'no'"):
        agent.learn_from(path, rewarded_only="no")
    with pytest.raises(ValueError, match="progress must be True or False, got 'x'"):
        agent.learn_from(path, progress="x")


def test_files_that_do_not_fit_together(tmp_path):
    table = as_table(*make_rows(12, 50))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(table, paths[0])
    pq.write_table(table.drop_columns(["x2"]), paths[1])
    with pytest.raises(ValueError, match=r"b.parquet has no column 'x2', which .*a.parquet has"):
        new_agent(Greedy()).learn_from(paths)
    text = table.set_column(2, "x2", pa.array(["a"] * 50))
    pq.write_table(text, paths[1])
    with pytest.raises(ValueError, match=r"'x2' holds text in .*b.parquet and numbers in .*a.par"):
        new_agent(Greedy()).learn_from(paths)
    pq.write_table(table.set_column(4, "arm", pa.array([1.5] * 50)), paths[1])
    with pytest.raises(ValueError, match=r"b\.parquet.* 'arm' must hold names or numbers of arms"):
        new_agent(Greedy()).learn_from(paths)


def test_what_is_no_log(tmp_path):
    agent = new_agent(Greedy())
    with pytest.raises(FileNotFoundError, match=r"nowhere.parquet does not exist"):
        agent.learn_from(tmp_path / "nowhere.parquet")
    with pytest.raises(ValueError, match="has no file that ends in"):
        agent.learn_from(tmp_path)
    for none in (3, b"log.parquet"):
        with pytest.raises(ValueError, match="dataset must be a path"):
            agent.learn_from(none)
    with pytest.raises(FileNotFoundError, match=r"^'' does not exist"):
        agent.learn_from("")
    (tmp_path / "log.parquet").write_bytes(b"no table")
    with pytest.raises(ValueError, match="is damaged or not what its ending says"):
        agent.learn_from(tmp_path / "log.parquet")
    (tmp_path / "log.txt").write_text("a,b")
    with pytest.raises(ValueError, match="has no ending that is known"):
        agent.learn_from(tmp_path / "log.txt")
    (tmp_path / "empty.parquet").write_text("")
    with pytest.raises(ValueError, match=r"empty.parquet is empty; expected a table"):
        agent.learn_from(tmp_path / "empty.parquet")


def test_a_policy_that_is_not_known_learns_row_by_row(tmp_path):
    x, arms, rewards = make_rows(13, 100)
    pq.write_table(as_table(x, arms, rewards), tmp_path / "log.parquet")

    class Own(Greedy):
        """Plain Python: the sum of x·y."""

        @staticmethod
        def update(policy, state, step, context, arm, reward):
            state.model.pulls[arm] += 1
            state.model.estimate[arm] += reward * context

    agent = learned(Own(warmup="pinv"), tmp_path / "log.parquet")
    for arm in range(N_ARMS):
        own = arms == arm
        truth = (x[own] * rewards[own, None]).sum(axis=0)
        np.testing.assert_allclose(agent._model("").estimate[arm], truth, rtol=1e-12)
