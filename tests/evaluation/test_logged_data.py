"""Logs from arrays and tables, and what is wrong with some."""

import numpy as np
import pandas as pd
import pytest

from greedyfirst.evaluation import LoggedData, always, evaluate
from greedyfirst.tables import TableError, TableNote

GOOD = {
    "contexts": np.ones((4, 2)),
    "arms": np.array([0, 1, 0, 1]),
    "rewards": np.array([0.0, 1.0, 0.5, 0.2]),
    "propensities": np.full(4, 0.5),
    "arm_names": ("a", "b"),
}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"contexts": np.zeros((0, 2))}, "contexts must be at least one row and one column"),
        ({"contexts": [[1, np.nan]] * 4}, "contexts"),
        ({"arms": [0, 1, 2, 0]}, r"arms\[2\] must be one of the arms 0 to 1, got 2"),
        ({"arms": [0.5, 1, 0, 1]}, "arms must be 4 whole numbers"),
        ({"rewards": [0.0, 1.0]}, "rewards"),
        ({"propensities": [0.5, 0, 1, 1]}, r"propensities\[1\] must be above 0 and at most 1"),
        ({"propensities": [0.5, 1.5, 1, 1]}, r"propensities\[1\] must be above 0 and at most 1"),
        ({"arm_names": ("a", "a")}, "arm_names"),
    ],
)
def test_bad_logs_are_refused(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        LoggedData(**GOOD | changed)


def test_a_table_is_read_by_its_columns():
    frame = pd.DataFrame(
        {
            "item": ["x", "y", "x", "z"],
            "click": [0, 1, 0, 1],
            "p": [0.5, 0.2, 0.5, 0.3],
            "age": [20.0, 30.0, 40.0, 50.0],
            "sex": ["m", "f", "f", "m"],
        }
    )
    log = LoggedData.from_table(
        frame, arm="item", reward="click", propensity="p", standardise=False
    )
    assert log.arm_names == ("x", "y", "z")
    assert log.arms.tolist() == [0, 1, 0, 2]
    assert log.contexts.shape == (4, 3)
    assert log.contexts[:, 1].tolist() == [20, 30, 40, 50]
    assert log.propensities.tolist() == [0.5, 0.2, 0.5, 0.3]


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("click", None, "column 'click' has no number in data row 2"),
        ("item", None, "column 'item' has no arm in data row 2"),
    ],
)
def test_missing_values_are_told_by_row(column, value, sentence):
    frame = pd.DataFrame({"item": ["x", "y"], "click": [0.0, 1.0], "age": [1.0, 2.0]})
    frame.loc[1, column] = value
    with pytest.raises(ValueError, match=sentence):
        LoggedData.from_table(frame, arm="item", reward="click")


def test_all_that_is_wrong_with_a_table_is_told_at_once():
    frame = pd.DataFrame(
        {"item": ["x", None], "paid": ["$1", "$2"], "p": [0.5, 2.0], "age": [1, 2]}
    )
    frame["day"] = ["2020-01-31", "2020-02-01"]
    with pytest.raises(TableError) as caught:
        LoggedData.from_table(frame, arm="item", reward="paid", propensity="p")
    for fault, begin in zip(
        caught.value.faults,
        [
            "column 'day' holds dates",
            "column 'item' has no arm in data row 2",
            "column 'paid' must hold numbers, got '$1'; amounts and percentages are read",
            "column 'p', data row 2 must be above 0",
        ],
        strict=True,
    ):
        assert fault.startswith(begin)


def test_a_reward_that_may_mean_missing_is_noted():
    frame = pd.DataFrame({"item": ["x", "y"] * 2, "click": [0.0, 1.0, -999.0, 1.0]})
    with pytest.warns(TableNote, match="'click' is -999 in 1 row"):
        log = LoggedData.from_table(frame, arm="item", reward="click")
    assert log.rewards.tolist() == [0, 1, -999, 1]
    LoggedData.from_table(frame.assign(click=-999), arm="item", reward="click")  # nothing beside it


def test_arms_may_be_many_but_not_measured():
    frame = pd.DataFrame({"item": np.arange(150), "click": np.arange(150) % 2})
    assert LoggedData.from_table(frame, arm="item", reward="click").n_arms == 150
    with pytest.raises(ValueError, match="arm column 'item' has 150 different numbers"):
        LoggedData.from_table(frame.assign(item=frame.item / 7), arm="item", reward="click")


def test_an_unknown_column_is_told_with_names_like_it():
    frame = pd.DataFrame({"item": ["x", "y"], "click": [0.0, 1.0], "age": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"reward must be the name of a column.*click"):
        LoggedData.from_table(frame, arm="item", reward="clik")


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        (np.full((4, 2), 0.7), {"folds": 2}, r"target\[0\] must be probabilities that add up to 1"),
        (np.full((3, 2), 0.5), {"folds": 2}, "target"),
        (np.full((4, 2), 0.5), {"folds": 1}, "folds"),
        (np.full((4, 2), 0.5), {"folds": 2, "level": 1.0}, "level"),
        (np.full((4, 2), 0.5), {}, "the log must have at least 10 rows for 5 folds, got 4"),
    ],
)
def test_bad_questions_are_refused(target, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        evaluate(LoggedData(**GOOD), target, **options)


def test_an_experiment_without_contexts_is_one_of_the_intercept():
    """Then all but the plain inverse propensity estimate are the arm's mean."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": rng.choice(["a", "b"], 200), "y": rng.normal(size=200), "p": 0.5})
    log = LoggedData.from_table(frame, arm="arm", reward="y", propensity="p")
    assert (log.contexts == np.ones((200, 1))).all()
    mean = frame[frame["arm"] == "b"]["y"].mean()
    made = evaluate(log, always(log, "b")).estimates["self-normalised"]
    assert made.value == pytest.approx(mean, rel=1e-12)
    with pytest.raises(ValueError, match="no column is left as a feature"):
        LoggedData.from_table(frame, arm="arm", reward="y", propensity="p", intercept=False)


def test_a_probability_in_percent_is_told_by_column_and_row():
    frame = pd.DataFrame({"arm": ["a", "b"], "y": [0.0, 1.0], "p": [0.5, 50.0], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^column 'p', data row 2 must be above 0 and at most 1"):
        LoggedData.from_table(frame, arm="arm", reward="y", propensity="p")


def two_arms(**changes):
    given = {"contexts": np.ones((2, 1)), "arms": [0, 1], "rewards": [0.0, 1.0]}
    return LoggedData(**given | {"arm_names": ["a", "b"]} | changes)


def test_of_two_arms_the_other_has_the_rest():
    log = two_arms(propensities=[0.9, 0.25])
    assert log.chances() == pytest.approx(np.array([[0.9, 0.1], [0.75, 0.25]]))
    assert two_arms().chances() is None
    third = two_arms(propensities=[0.9, 0.25], arm_names=["a", "b", "c"])
    assert third.chances() is None


@pytest.mark.parametrize(
    "every", [[[0.5, 0.6], [0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]], [[0.5, -0.1], [0.5, 0.5]]]
)
def test_probabilities_of_every_arm_that_are_none_are_refused(every):
    with pytest.raises(ValueError, match=r"all_propensities\[[01]\] must be"):
        two_arms(all_propensities=every)


def test_propensities_must_be_those_of_the_arms_taken():
    with pytest.raises(ValueError, match="where it is its propensity"):
        two_arms(propensities=[0.5, 0.5], all_propensities=[[0.5, 0.5], [0.6, 0.4]])


def test_columns_of_every_arms_propensity():
    frame = pd.DataFrame(
        {
            "arm": ["low", "high", "low"],
            "reward": [1.0, 2.0, 3.0],
            "p": [0.5, 0.2, 0.7],
            "p.low": [0.5, 0.7, 0.7],
            "p.high": [0.3, 0.2, 0.3],
            "p.never": [0.2, 0.1, 0.0],
            "age": [1.0, 2.0, 4.0],
        }
    )
    columns = {"arm": "arm", "reward": "reward", "propensity": "p"}
    log = LoggedData.from_table(frame, **columns)
    assert log.contexts.shape == (3, 2)  # none of them is a feature
    assert log.chances().tolist() == [[0.3, 0.5], [0.2, 0.7], [0.3, 0.7]]
    assert log.part(np.array([1])).chances().tolist() == [[0.2, 0.7]]
    with pytest.raises(ValueError, match=r"p\.high"):
        LoggedData.from_table(frame.drop(columns="p.high"), **columns)


def test_names_arms_and_rewards_of_pandas():
    log = LoggedData(
        contexts=pd.DataFrame({"x": [1.0, 2.0]}),
        arms=pd.Series([0, 1]),
        rewards=pd.Series([True, False]),
        arm_names=pd.Index(["old", "new"]),
    )
    assert log.arm_names == ("old", "new")
    assert log.rewards.tolist() == [1.0, 0.0]
