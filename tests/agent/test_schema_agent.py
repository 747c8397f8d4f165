"""Agents that take raw rows: categories, missing values, levels that were not seen."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from greedyfirst import Agent, Categorical, Greedy, Numeric, Schema, infer_schema
from greedyfirst.evaluation import LoggedData, evaluate
from greedyfirst.files import data_file

ARMS = ["low", "high"]
TABLE = pd.DataFrame(
    {
        "city": ["Oslo", "Rome", "Oslo", "Rome", "Oslo", "Rome"] * 5,
        "age": np.linspace(20, 80, 30),
        "smoker": [True, False, False] * 10,
    }
)
TAKEN = ["low", "high", "high"] * 10
REWARDS = np.random.default_rng(0).normal(size=30)


def schema():
    inferred = infer_schema(TABLE, intercept=True, standardise=True)
    return inferred.with_levels(other="elsewhere", missing="unknown")


def raw_agent():
    return Agent(Greedy(), schema=schema(), arms=ARMS, seed=2)


def learned(agent):
    agent.update_many(TABLE, TAKEN, REWARDS)
    return agent


def test_raw_rows_are_encoded_by_the_schema():
    """Against an agent that is given the encoded numbers."""
    ours = learned(raw_agent())
    numbers = Agent(Greedy(), arms=ARMS, features=schema().feature_names, seed=2)
    encoded = schema().encode(TABLE)
    numbers.update_many(encoded, TAKEN, REWARDS)
    np.testing.assert_array_equal(ours.buffer, numbers.buffer)
    assert ours.feature_names == schema().feature_names
    assert ours.choose_many(TABLE).tolist() == numbers.choose_many(encoded).tolist()
    for row, x in zip(TABLE.to_dict("records"), encoded, strict=True):
        for given in (row, pd.Series(row), pd.DataFrame([row]), pd.DataFrame([row]).iloc[:, ::-1]):
            np.testing.assert_array_equal(
                np.ravel(ours.expected_rewards(given)), numbers.expected_rewards(x)
            )


def test_levels_for_what_the_table_did_not_have():
    """An unseen city is "elsewhere", a missing one "unknown": a 1 in that column alone."""
    agent = learned(raw_agent())
    names = agent.feature_names
    row = {"city": "Rome", "age": 50.0, "smoker": False}
    at_rome = agent.schema.encode_row(row)
    for city, column in {"Lima": "elsewhere", None: "unknown", np.nan: "unknown"}.items():
        x = agent.schema.encode_row({**row, "city": city})
        changed = {
            name for name, before, now in zip(names, at_rome, x, strict=True) if before != now
        }
        assert changed == {"city=Rome", f"city={column}"}
        assert agent.choose({**row, "city": city}) in ARMS
    agent.update({**row, "city": "Lima"}, "low", 50.0)
    estimates = agent.coefficients().set_index(["arm", "feature"])["estimate"]
    assert estimates["low", "city=elsewhere"] > 0


def test_own_levels_and_imputed_values_are_kept():
    given = Schema(
        features=[
            Categorical("city", ["Oslo", "rest"], other="rest"),
            Categorical("sex", ["f", "m"]),
            Numeric("age"),
        ],
        impute={"sex": "f"},
    )
    wide = given.with_levels(other="other", missing="none")
    assert [feature.name for feature in wide.features] == ["city", "sex", "age"]
    city, sex, _ = wide.features
    assert (city.levels, city.other) == (("Oslo", "rest", "none"), "rest")
    assert (sex.levels, sex.other) == (("f", "m", "other"), "other")
    assert wide.impute == {"city": "none", "sex": "f"}
    assert given.with_levels() == given
    with pytest.raises(ValueError, match="feature 'age' must be a finite number, got nan"):
        wide.encode_row({"city": "Oslo", "sex": "f", "age": np.nan})


def test_a_saved_agent_keeps_its_schema(tmp_path):
    agent = learned(raw_agent())
    agent.save(tmp_path / "agent")
    for other in (Agent.load(tmp_path / "agent"), pickle.loads(pickle.dumps(agent))):
        assert other.schema == agent.schema
        assert other.choose_many(TABLE).tolist() == raw_choices(agent)
        with pytest.raises(ValueError, match="given by name"):
            other.choose(np.ones(other.n_features))


def raw_choices(agent):
    """What a copy would choose, so that the agent itself is not moved on."""
    return Agent.from_bytes(agent.to_bytes()).choose_many(TABLE).tolist()


def test_a_schema_that_cannot_be_read_is_said_to_be(tmp_path):
    agent = raw_agent()
    header = agent._header() | {"schema": {"format": "other"}}
    path = tmp_path / "agent"
    data_file.write(path, "agent", json.loads(json.dumps(header)), {"buffer": agent.buffer})
    with pytest.raises(ValueError, match="is not a complete agent file: data must be a mapping"):
        Agent.load(path)


def test_encoded_rows_are_taken_without_the_schema():
    agent = learned(raw_agent())
    numbers = agent.without_schema()
    encoded = schema().encode(TABLE)
    np.testing.assert_array_equal(numbers.expected_rewards(encoded), agent.expected_rewards(TABLE))
    assert agent.schema is not None
    log = LoggedData(
        contexts=encoded,
        arms=[ARMS.index(arm) for arm in TAKEN],
        rewards=REWARDS,
        propensities=np.full(30, 0.5),
        arm_names=ARMS,
    )
    by_schema, by_numbers = (evaluate(log, each) for each in (agent, numbers))
    assert by_schema.estimates == by_numbers.estimates


@pytest.mark.parametrize(
    "levels", [pd.Index(["a", "b"]), np.array(["a", "b"]), pd.Categorical(["a", "b"])]
)
def test_levels_as_pandas_has_them(levels):
    assert Categorical("x", levels) == Categorical("x", ["a", "b"])
