"""Contexts, arms and rewards as pandas and NumPy hand them out, against the same plain arrays."""

from collections import namedtuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greedyfirst import Agent, Greedy, ThompsonSampling
from greedyfirst.files import data_file

FEATURES = ["age", "bmi", "smoker"]
ARMS = ["low", "high"]
N = 40


Row = namedtuple("Row", FEATURES[::-1])


def rows(seed=0):
    rng = np.random.default_rng(seed)
    contexts = np.column_stack([rng.normal(size=(N, 2)), rng.integers(2, size=N)])
    return contexts, rng.integers(2, size=N), rng.normal(size=N)


CONTEXTS, TAKEN, REWARDS = rows()
FRAME = pd.DataFrame(CONTEXTS, columns=FEATURES)


def numbered(**options):
    return Agent(ThompsonSampling(), n_arms=2, n_features=3, seed=5, **options)


def named(**options):
    return Agent(ThompsonSampling(), arms=ARMS, features=FEATURES, seed=5, **options)


def learned(agent):
    agent.update_many(CONTEXTS, TAKEN, REWARDS)
    return agent


def same(one, other):
    np.testing.assert_array_equal(one.buffer, other.buffer)
    assert (one.decisions, one.joined, one.foreign) == (
        other.decisions,
        other.joined,
        other.foreign,
    )


ONE = {
    "dict": lambda x: dict(zip(FEATURES, x.tolist(), strict=True)),
    "permuted dict": lambda x: dict(zip(FEATURES[::-1], x[::-1].tolist(), strict=True)),
    "Series": lambda x: pd.Series(x, index=FEATURES),
    "permuted Series": lambda x: pd.Series(x, index=FEATURES)[["smoker", "age", "bmi"]],
    "object Series": lambda x: pd.Series([x[0], x[1], bool(x[2])], index=FEATURES, dtype=object),
    "named tuple": lambda x: Row(*x[::-1]),
    "one-row frame": lambda x: pd.DataFrame([x], columns=FEATURES),
    "permuted one-row frame": lambda x: pd.DataFrame([x], columns=FEATURES)[FEATURES[::-1]],
    "Series without names": lambda x: pd.Series(x),
    "frame without names": lambda x: pd.DataFrame([x]),
    "object array": lambda x: np.array([x[0], x[1], bool(x[2])], dtype=object),
    "list": lambda x: x.tolist(),
    "float32, of numbers that it has": lambda x: x.astype(np.float32).astype(np.float64),
}


@pytest.mark.parametrize("form", ONE)
def test_one_context(form):
    ours, plain = named(), numbered()
    exact = form.startswith("float32")
    for x, arm, reward in zip(CONTEXTS, TAKEN, REWARDS, strict=True):
        x = x.astype(np.float32).astype(float) if exact else x
        given = ONE[form](x)
        assert ours.choose(given) == ARMS[plain.choose(x)]
        ours.update(given, ARMS[arm], reward)
        plain.update(x, int(arm), reward)
        np.testing.assert_array_equal(ours.probabilities(x), plain.probabilities(x))
    same(ours, plain)


MANY = {
    "frame": FRAME,
    "permuted frame": FRAME[["smoker", "age", "bmi"]],
    "frame with other row labels": FRAME.set_index(np.arange(N) * 7 + 3),
    "booleans": FRAME.astype({"smoker": bool}),
    "nullable numbers": FRAME.convert_dtypes(),
    "objects": FRAME.astype(object),
    "dicts": FRAME.to_dict("records"),
    "permuted Series": [row for _, row in FRAME[FEATURES[::-1]].iterrows()],
    "named tuples": list(FRAME[FEATURES[::-1]].itertuples(index=False)),
    "frame without names": pd.DataFrame(CONTEXTS),
    "object array": CONTEXTS.astype(object),
    "Fortran order": np.asfortranarray(CONTEXTS),
    "lists": CONTEXTS.tolist(),
}


@pytest.mark.parametrize("form", MANY)
def test_many_contexts(form):
    ours, plain = learned(named()), learned(numbered())
    assert ours.choose_many(MANY[form]).tolist() == [ARMS[i] for i in plain.choose_many(CONTEXTS)]
    ours.update_many(MANY[form], TAKEN, REWARDS)
    plain.update_many(CONTEXTS, TAKEN, REWARDS)
    same(ours, plain)
    for method in ("expected_rewards", "contributions", "standard_errors", "probabilities"):
        found = getattr(ours, method)(MANY[form])
        np.testing.assert_array_equal(found, getattr(plain, method)(CONTEXTS))


NAMES = [ARMS[arm] for arm in TAKEN]
TAKEN_ARMS = {
    "Series of names": pd.Series(NAMES),
    "object array of names": np.array(NAMES, dtype=object),
    "array of texts": np.array(NAMES),
    "numpy's texts": list(np.array(NAMES)),
    "Categorical": pd.Categorical(NAMES, categories=["high", "low"]),
    "Series of categories": pd.Series(NAMES, dtype="category"),
    "Index": pd.Index(NAMES),
    "object array of numbers": TAKEN.astype(object),
    "Series of numbers": pd.Series(TAKEN),
    "small numbers": TAKEN.astype(np.uint8),
    "names and numbers": [name if i % 2 else int(TAKEN[i]) for i, name in enumerate(NAMES)],
}


@pytest.mark.parametrize("form", TAKEN_ARMS)
def test_arms(form):
    ours = named()
    ours.update_many(CONTEXTS, TAKEN_ARMS[form], REWARDS)
    same(ours, learned(numbered()))


PAID = REWARDS > 0
BOOLEANS = {
    "list": PAID.tolist(),
    "array": PAID,
    "objects": PAID.astype(object),
    "Series": pd.Series(PAID),
    "nullable Series": pd.Series(PAID, dtype="boolean"),
}


@pytest.mark.parametrize("form", BOOLEANS)
def test_true_and_false_are_rewards(form):
    one_by_one, many, plain = named(), named(), numbered()
    plain.update_many(CONTEXTS, TAKEN, PAID.astype(float))
    many.update_many(CONTEXTS, TAKEN, BOOLEANS[form])
    same(many, plain)
    for x, arm, paid in zip(CONTEXTS, TAKEN, BOOLEANS[form], strict=True):
        one_by_one.update(x, int(arm), paid)
    same(one_by_one, plain)


@pytest.mark.parametrize(
    "texts",
    [
        pd.Index(ARMS),
        pd.Series(ARMS),
        pd.Categorical(ARMS),
        np.array(ARMS),
        np.array(ARMS, dtype=object),
        tuple(ARMS),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_names_and_eligible_arms(texts):
    for options in ({"arms": texts}, {"arm_names": texts, "n_arms": 2}):
        agent = Agent(Greedy(), n_features=1, seed=0, **options)
        assert agent.arm_names == ("low", "high")
        assert {type(name) for name in agent.arm_names} == {str}
        only = texts[1:2]
        assert agent.choose([1.0], eligible=only) == ("high" if "arms" in options else 1)
    for options in ({"features": texts}, {"feature_names": texts, "n_features": 2}):
        assert Agent(Greedy(), n_arms=2, **options).feature_names == ("low", "high")


def test_arms_by_name_are_told_by_name():
    agent = learned(named())
    assert isinstance(agent.choose(CONTEXTS[0]), str)
    assert agent.choose_many(CONTEXTS[:0]).shape == (0,)
    assert agent.add_arm("middle") == "middle"
    assert agent.choose(CONTEXTS[0], eligible=["middle"]) == "middle"
    assert numbered().add_arm("middle") == 2


def test_the_first_row_by_name_fixes_the_names():
    ours, plain = numbered(), learned(numbered())
    ours.update_many(FRAME, TAKEN, REWARDS)
    assert ours.feature_names == ("age", "bmi", "smoker")
    permuted = FRAME[FEATURES[::-1]]
    assert ours.choose_many(permuted).tolist() == plain.choose_many(CONTEXTS).tolist()
    with pytest.raises(ValueError, match="'weight'"):
        ours.choose_many(FRAME.rename(columns={"bmi": "weight"}))


def test_names_are_kept_in_files(tmp_path):
    agent = numbered()
    agent.choose(FRAME.iloc[0])
    for kept in (agent, named()):
        kept.save(tmp_path / "agent")
        loaded = Agent.load(tmp_path / "agent")
        with pytest.raises(ValueError, match="'weight'"):
            loaded.choose(FRAME.iloc[0].rename({"bmi": "weight"}))
        assert type(loaded.choose(FRAME.iloc[1])) is type(kept.choose(FRAME.iloc[1]))


def test_a_file_that_does_not_tell_whether_names_were_chosen(tmp_path):
    """Release 0.1.0 kept names only: x0, x1, … are taken for none."""
    for agent, chosen in ((numbered(), False), (numbered(feature_names=FEATURES), True)):
        header = agent._header()
        for later in ("named", "tells_names", "schema", "rewarded"):
            del header[later]
        data_file.write(tmp_path / "agent", "agent", header, {"buffer": agent.buffer})
        loaded = Agent.load(tmp_path / "agent")
        assert loaded.schema is None
        assert loaded.choose(CONTEXTS[0]) == agent.choose(CONTEXTS[0])
        row = {"u": 1.0, "v": 2.0, "w": 3.0}
        if chosen:
            with pytest.raises(ValueError, match="'age' is missing"):
                loaded.choose(row)
        else:
            loaded.choose(row)
            assert loaded.feature_names == ("u", "v", "w")


@given(st.permutations(FEATURES), st.lists(st.integers(0, N - 1), max_size=5))
def test_the_order_of_columns_changes_nothing(order, places):
    agent = learned(named())
    found = agent.expected_rewards(FRAME[order].iloc[places])
    np.testing.assert_array_equal(found, agent.expected_rewards(CONTEXTS[places]))


def test_a_refused_row_fixes_no_names():
    agent = numbered()
    for bad in ({"age": 1, "bmi": 2}, {"age": 1, "bmi": "high", "smoker": 0}):
        with pytest.raises(ValueError, match=r"context|bmi"):
            agent.choose(bad)
    assert agent.feature_names == ("x0", "x1", "x2")
    agent.choose(FRAME.iloc[0])
    assert agent.feature_names == tuple(FEATURES)


def test_dummies_of_pandas_are_features():
    cities = pd.get_dummies(pd.Series(["Oslo", "Rome", "Oslo"]))
    agent = Agent(Greedy(warmup="pinv"), arms=["a", "b"], features=cities.columns, seed=0)
    agent.update_many(cities, ["a", "a", "a"], [1.0, 5.0, 3.0])
    np.testing.assert_allclose(agent.expected_rewards(cities)[:, 0], [2.0, 5.0, 2.0])
