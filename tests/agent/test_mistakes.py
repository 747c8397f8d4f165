"""Mistakes that people make with an agent, and the sentence that each of them gets."""

import re

import numpy as np
import pandas as pd
import pytest

from greedyfirst import Agent, Categorical, Greedy, Numeric, OLSBandit, Schema

SCHEMA = Schema(features=[Numeric("age"), Categorical("sex", ["f", "m"])], intercept=True)
FRAME = pd.DataFrame({"age": [1.0, 2.0], "bmi": [3.0, 4.0]})


def plain():
    agent = Agent(Greedy(), arms=["low", "high"], features=["age", "bmi"], seed=1)
    agent.choose([1.0, 2.0])
    agent.update([1.0, 2.0], "low", 1.0)
    return agent


def raw():
    return Agent(Greedy(), schema=SCHEMA, arms=["low", "high"], seed=1)


def permuted(**columns):
    return FRAME.rename(columns=columns)


MISTAKES = {
    "a column of another name": (
        lambda: plain().choose_many(permuted(bmi="weight")),
        "contexts must have the features 'age', 'bmi', but 'bmi' is missing ('age', 'weight')",
    ),
    "a column too many": (
        lambda: plain().choose_many(FRAME.assign(label=1)),
        "contexts must have the features 'age', 'bmi' alone, got 'label' ('age', 'bmi')",
    ),
    "a column twice": (
        lambda: plain().choose_many(FRAME[["age", "bmi", "age"]]),
        "column 'age' occurs more than once in the frame; rename one of them",
    ),
    "a slip in a name": (
        lambda: plain().choose({"Age": 1, "bmi": 2}),
        "context must have the features 'age', 'bmi', but 'age' is missing (close: 'Age')",
    ),
    "a feature too many": (
        lambda: plain().choose({"age": 1, "bmi": 2, "sex": "f"}),
        "context must have the features 'age', 'bmi' alone, got 'sex' ('age', 'bmi')",
    ),
    "too few columns for the first names": (
        lambda: Agent(Greedy(), n_arms=2, n_features=3).choose({"age": 1}),
        "context must have 3 features by name, got ['age']",
    ),
    "columns by permuted numbers": (
        lambda: plain().choose_many(pd.DataFrame([[1.0, 2.0]])[[1, 0]]),
        "contexts must be labelled by the features' names, or by 0 to 1 in order, got [1, 0]",
    ),
    "a column of text": (
        lambda: plain().choose_many(FRAME.assign(bmi=["3", "high"])),
        "column 'bmi', data row 1 must be a finite number, got '3'",
    ),
    "a missing number": (
        lambda: plain().choose_many(FRAME.assign(bmi=[1.0, np.nan])),
        "column 'bmi', data row 2 must be a finite number, got a missing value (the schema has no "
        "value to impute)",
    ),
    "a missing value in a dict": (
        lambda: plain().choose({"age": 1, "bmi": None}),
        "feature 'bmi' must be a finite number, got None",
    ),
    "several rows for one decision": (
        lambda: plain().choose(FRAME),
        "context must be one row, got a frame of 2 rows",
    ),
    "text among objects": (
        lambda: plain().choose(np.array([1.0, "a"], dtype=object)),
        "context[1] must be a finite number, got 'a'",
    ),
    "numbers where a schema waits for values": (
        lambda: raw().choose([1.0, 40.0, 1.0]),
        "context must be given by name ('age', 'sex'), as a dict, Series or frame, for the schema, "
        "got [1.0, 40.0, 1.0]",
    ),
    "a level that was not seen": (
        lambda: raw().choose({"age": 40, "sex": "x"}),
        "feature 'sex' must be one of 'f', 'm', got 'x'",
    ),
    "a raw row without a feature": (
        lambda: raw().choose({"age": 40}),
        "context must have the features 'age', 'sex', but 'sex' is missing ('age')",
    ),
    "an unknown arm": (
        lambda: plain().update([1.0, 2.0], "Low", 1.0),
        "arm must be one of low, high, got 'Low'",
    ),
    "an unknown arm among many": (
        lambda: plain().update_many(FRAME, pd.Series(["low", "hi"]), [1.0, 2.0]),
        "arms[1] must be one of low, high, got 'hi'",
    ),
    "a missing arm": (
        lambda: plain().update_many(FRAME, pd.Series(["low", None], dtype=object), [1.0, 2.0]),
        "arms[1] must be one of the arms 0 to 1, got None",
    ),
    "True for an arm": (
        lambda: plain().update_many(FRAME, [0, True], [1.0, 2.0]),
        "arms[1] must be one of the arms 0 to 1, got True",
    ),
    "too few arms": (
        lambda: plain().update_many(FRAME, ["low"], [1.0, 2.0]),
        "arms must be 2 arms, by number or name, got ['low']",
    ),
    "a missing reward": (
        lambda: plain().update_many(FRAME, [0, 1], pd.Series([True, None], dtype="boolean")),
        "rewards[1] must be a finite number, got <NA>",
    ),
    "rewards in text": (
        lambda: plain().update([1.0, 2.0], 0, "1"),
        "reward must be a finite number, got '1'",
    ),
    "a second reward for one decision": (
        lambda: plain().update([1.0, 2.0], "low", 1.0, step=1),
        "step must be a decision without a reward: its own has come already, got 1",
    ),
    "a reward before its decision": (
        lambda: plain().update([1.0, 2.0], "low", 1.0, step=2),
        "step must be a whole number at least 0 and at most 1, got 2",
    ),
    "numbers for names": (
        lambda: Agent(Greedy(), arms=pd.Index([1, 2]), n_features=1),
        "arms must be at least one name, all different (non-empty text), got Index([1, 2], "
        "dtype='int64')",
    ),
    "one text for names": (
        lambda: Agent(Greedy(), arms="ab", n_features=1),
        "arms must be at least one name, all different (non-empty text), got 'ab'",
    ),
    "a set of names": (
        lambda: Agent(Greedy(), arms={"a"}, n_features=1),
        "arms must be at least one name, all different (non-empty text), got {'a'}",
    ),
    "arms twice": (
        lambda: Agent(Greedy(), arms=["a", "b"], n_arms=2, n_features=1),
        "n_arms must be left out beside arms, which has the names, got 2",
    ),
    "features beside a schema": (
        lambda: Agent(Greedy(), arms=["a"], schema=SCHEMA, features=["age"]),
        "features must be left out beside schema, which has the features, got ['age']",
    ),
    "no features": (
        lambda: Agent(Greedy(), arms=["a", "b"]),
        "n_features must be a whole number, or left out where features= or schema= has the names, "
        "got None",
    ),
    "a dict for a schema": (
        lambda: Agent(Greedy(), arms=["a"], schema={"age": "numeric"}),
        "schema must be a Schema, for example infer_schema(frame), got {'age': 'numeric'}",
    ),
    "intervals of a policy that needs sigma": (
        lambda: Agent(OLSBandit(warmup="none"), n_arms=2, n_features=1).coefficients(
            intervals=True
        ),
        "sigma must be given: the noise's scale, for rewards between a and b at most (b - a)/2",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_sentence_names_the_argument_the_value_and_what_was_expected(mistake):
    call, sentence = MISTAKES[mistake]
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call()


def test_a_frame_of_another_library_is_refused():
    """NumPy would take its columns by position."""
    table = pytest.importorskip("pyarrow").table({"bmi": [1.0], "age": [2.0]})
    with pytest.raises(ValueError, match=r"^contexts must be a pandas frame"):
        plain().choose_many(table)


@pytest.mark.parametrize(
    "mistake", ["a column of another name", "a second reward for one decision"]
)
def test_nothing_is_changed(mistake, monkeypatch):
    agent = plain()
    before, counts = agent.buffer.copy(), (agent.decisions, agent.joined, agent.foreign)
    monkeypatch.setitem(globals(), "plain", lambda: agent)
    with pytest.raises(ValueError, match="must"):
        MISTAKES[mistake][0]()
    np.testing.assert_array_equal(agent.buffer, before)
    assert counts == (agent.decisions, agent.joined, agent.foreign)
