"""`greedyfirst learn`, as a user meets it."""

import sys

import numpy as np
import pandas as pd
import pytest

from greedyfirst import Agent, Greedy
from greedyfirst.cli import main

NAMED = ("--arm", "dose", "--reward", "outcome")
DROP_ALL = (word for name in ("age", "sex", "visit", "same") for word in ("--drop", name))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def ran(*arguments):
        monkeypatch.setattr(sys, "argv", ["greedyfirst", "learn", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return ran


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 400
    return pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "sex": rng.choice(["f", "m"], n),
            "dose": rng.choice(["high", "low"], n),
            "outcome": rng.normal(size=n),
            "visit": np.arange(n),
        }
    )


@pytest.mark.parametrize("standardise", ["--as-is", "--standardise"])
def test_an_agent_and_its_schema(standardise, frame, run, tmp_path):
    frame.iloc[:250].to_parquet(tmp_path / "1.parquet")
    frame.iloc[250:].to_parquet(tmp_path / "2.parquet")
    files = ("1.parquet", "2.parquet")
    code, said, errors = run(
        *files, *NAMED, "--drop", "visit", standardise, "--policy", "Greedy", "--out", "agent.gf"
    )
    assert (code, errors) == (0, "")
    assert said.splitlines() == [
        "400 rows, 2 arms, 3 features",
        "agent.gf",
    ]
    agent = Agent.load("agent.gf")
    schema = agent.schema
    assert agent.arm_names == ("high", "low")
    assert agent.feature_names == schema.feature_names == ("intercept", "age", "sex=m")
    age = schema.features[0]
    if standardise == "--standardise":
        assert age.mean == pytest.approx(frame["age"].mean(), rel=1e-12)
        assert age.scale == pytest.approx(frame["age"].std(ddof=0), rel=1e-12)
    else:
        assert (age.mean, age.scale) == (0.0, 1.0)
    truth = Agent(Greedy(), n_arms=2, n_features=3, arm_names=("high", "low"), seed=10)
    contexts = schema.encode(frame)
    truth.update_many(contexts, frame["dose"].to_numpy(str), frame["outcome"].to_numpy())
    np.testing.assert_allclose(
        agent.expected_rewards(frame[["age", "sex"]]),
        truth.expected_rewards(contexts),
        rtol=1e-9,
        atol=1e-9,
    )


def test_an_export_of_the_service(frame, run, tmp_path):
    export = pd.DataFrame(
        {
            "decision_id": frame["visit"],
            "arm": frame["dose"],
            "learned": frame["outcome"].where(frame["visit"] % 4 > 0),
            "propensity": 0.5,
            "context.age": frame["age"],
        }
    )
    export.to_csv(tmp_path / "export.csv", index=False)
    code, said, errors = run("export.csv", "--policy", "Greedy", "--out", "agent.gf")
    assert (code, errors) == (0, "")
    assert said.startswith("300 rows, 2 arms, 2 features")
    assert Agent.load("agent.gf").feature_names == ("intercept", "context.age")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--reward", "outcome"], "--arm must be given"),
        (["--arm", "dos", "--reward", "outcome"], "--arm must be the name of a column"),
        ([*NAMED, "--drop", "nothing"], "--drop must be the name of a column"),
        ([*NAMED, "--policy", "Nobody"], "Nobody"),
        ([*NAMED, "--categorical", "visit"], "more than 1000 different values"),
        ([*NAMED, "--policy", "GLMGreedy"], "memory must be a number of rows"),
        (["--arm", "visit", "--reward", "outcome"], "more than 1000 different values"),
        ([*NAMED, *DROP_ALL], "no column is left"),
        (["--arm", "age", "--reward", "age"], "another column than the arm's, got 'age'"),
        ([*NAMED, "--drop", "sex", "--standardise"], "column 'same' is constant"),
        ([*NAMED, "--jobs", "-3"], "--jobs must be a whole number at least -1"),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, frame, run, tmp_path):
    many = pd.concat([frame.assign(visit=frame["visit"] + 400 * i) for i in range(3)])
    many.assign(same=0.1).to_csv(tmp_path / "log.csv", index=False)
    code, said, errors = run("log.csv", *words, "--out", "agent.gf")
    assert (code, said) == (2, "")
    assert sentence in errors
    assert "Traceback" not in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "agent.gf").exists()


def test_missing_values_and_files(frame, run, tmp_path):
    frame.loc[3, "sex"] = None
    frame.to_parquet(tmp_path / "log.parquet")
    code, _, errors = run("log.parquet", *NAMED, "--out", "agent.gf")
    assert code == 0
    assert "Missing values of 'sex' (1 row) are a category of their own" in errors
    agent = Agent.load("agent.gf")
    assert agent.feature_names[-2:] == ("sex=(missing)", "visit")
    assert agent.choose({"age": 50, "sex": None, "visit": 1}) in agent.arm_names
    (tmp_path / "agent.gf").unlink()
    code, _, errors = run("log.parquet", "--arm", "sex", "--reward", "age", "--out", "agent.gf")
    assert (code, "column 'sex' has missing values in 1 row; fill them" in errors) == (2, True)
    frame.loc[3, "age"] = None
    frame.to_parquet(tmp_path / "log.parquet")
    code, _, errors = run("log.parquet", *NAMED, "--out", "agent.gf")
    assert code == 2
    assert "row group 0: column 'age', data row 4 must be a finite number" in errors
    assert errors.endswith("; correct such rows or leave them out\n")
    code, _, errors = run("nothing.csv", *NAMED, "--out", "agent.gf")
    assert (code, "nothing.csv does not exist" in errors) == (2, True)
    code, _, errors = run("log.parquet", *NAMED, "--out", "nowhere/agent.gf")
    assert (code, "--out must be a file in a folder that exists" in errors) == (2, True)
