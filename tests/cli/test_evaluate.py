"""`greedyfirst evaluate`, as a user meets it."""

import sys

import numpy as np
import pandas as pd
import pytest

from greedyfirst.cli import main
from support.real_data import DATA

LOGS = DATA / "logged"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
NAMED = ("--arm", "dose", "--reward", "outcome", "--propensity", "p")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """In this process: starting another takes two seconds. Exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def ran(*arguments):
        words = ["greedyfirst", "evaluate", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return ran


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two doses at random; the high one helps the old."""
    rng = np.random.default_rng(0)
    age = rng.normal(60, 10, size=600)
    high = rng.random(600) < 0.3
    outcome = np.where(high, (age - 60) / 10, 0) + rng.normal(size=600)
    frame = pd.DataFrame(
        {
            "dose": np.where(high, "high", "low"),
            "outcome": outcome,
            "p": np.where(high, 0.3, 0.7),
            "age": age,
        }
    )
    path = tmp_path_factory.mktemp("log") / "log.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_table_an_answer_and_files(log, run, tmp_path):
    code, said, errors = run(log, *NAMED, "--policy", "Greedy", "--always", "high", "--out", ".")
    assert (code, errors) == (0, "")
    assert "Greedy: It would have earned more than what was done: +0." in said
    assert "always high: The log cannot tell it from what was done" in said
    assert "each arm for everyone" in said
    frame = pd.read_csv(tmp_path / "log-evaluation.csv")
    assert len(frame) == 8
    assert (tmp_path / "log-evaluation.png").read_bytes().startswith(PNG_SIGNATURE)


def test_an_export_of_the_service_needs_no_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "decision_id": [f"trial:{step}" for step in range(1, 101)],
            "arm": np.where(np.arange(100) % 2, "low", "high"),
            "mode": "greedy",
            "learned": [None, *rng.normal(size=99)],
            "context.age": rng.normal(size=100),
        }
    )
    frame.to_parquet(tmp_path / "trial.parquet")
    code, said, errors = run("trial.parquet", "--always", "low")
    assert (code, errors) == (0, "")
    assert "The log has no propensities" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "--arm must be given: the column of each decision's arm"),
        (("--arm", "dose"), "--reward must be given: the column of each decision's reward"),
        ((*NAMED, "--policy", "Gready"), "policy must be one of "),
        ((*NAMED, "--policy", "{"), "--policy must be a name or JSON, got {"),
        ((*NAMED, "--always", "medium"), "arm must be one of high, low, got 'medium'"),
        ((*NAMED, "--by", "age"), "--by needs --like: the log whose shares are taken"),
        (("--arm", "doze", "--reward", "outcome"), "arm must be the name of a column"),
        (("--arm", "age", "--reward", "outcome"), "arm column 'age' has 600 different numbers"),
        (("--arm", "p", "--reward", "dose"), "column 'dose' must hold numbers"),
        ((*NAMED, "--folds", 1), "folds must be a whole number at least 2"),
    ],
)
def test_mistakes_get_a_sentence(log, run, tmp_path, arguments, sentence):
    code, _, errors = run(log, *arguments)
    assert code == 2
    assert errors.startswith("greedyfirst: ")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert not (tmp_path / "figures").exists()


@pytest.mark.skipif(not LOGS.exists(), reason="needs the shop's logs in ../shared/data/logged")
@pytest.mark.parametrize("campaign", ["men", "women"])
def test_the_shops_thompson_policy_is_found_from_the_random_log(campaign, run, tmp_path):
    """Each estimator's interval holds the mean click of the policy's own log."""
    code, _, errors = run(
        *(LOGS / f"{campaign}-random.csv", "--arm", "item", "--reward", "click"),
        *("--propensity", "propensity", "--categorical", "position", "--drop", "timestamp"),
        *("--like", LOGS / f"{campaign}-bts.csv", "--by", "position", "--out", tmp_path),
    )
    assert (code, errors) == (0, "")
    truth = pd.read_csv(LOGS / f"{campaign}-bts.csv")["click"].mean()
    found = pd.read_csv(tmp_path / f"{campaign}-random-evaluation.csv")
    assert len(found) == 4
    assert ((found["low"] <= truth) & (truth <= found["high"])).all()


def three_doses():
    """Decisions of a service with a control share: a fifth to the low dose."""
    rng = np.random.default_rng(4)
    n = 300
    high = rng.random(n) < 0.5
    control = rng.random(n) < 0.2
    chances = {"low": 0.2, "middle": 0.8 * ~high, "high": 0.8 * high}
    arm = np.where(control, "low", np.where(high, "high", "middle"))
    frame = pd.DataFrame({"decision_id": [f"trial:{step}" for step in range(n)], "arm": arm})
    frame["learned"], frame["context.age"] = rng.normal(size=n), rng.normal(size=n)
    frame["propensity"] = np.where(control, 0.2, 0.8)
    return frame.assign(**{f"propensity.{name}": each for name, each in chances.items()})


def test_each_arm_for_everyone_of_an_export(run, tmp_path):
    """The control arm had a chance with everyone; the others only where the policy took them."""
    three_doses().to_parquet(tmp_path / "trial.parquet")
    code, said, errors = run("trial.parquet", "--policy", "Greedy")
    assert (code, errors) == (0, "")
    rows = {line.split("│")[1].strip(): line for line in said.splitlines() if "│" in line}
    assert " to " in rows["low"]
    assert "280" in rows["low"]
    for arm in ("middle", "high"):
        assert "no chance (below 1 %) with some of any 100 people" in rows[arm]


def test_each_arm_for_everyone_needs_every_arms_propensity(run, tmp_path):
    """Also where some decisions of an export are older than these columns."""
    frame = three_doses()
    frame.loc[3, ["propensity.low", "propensity.middle", "propensity.high"]] = np.nan
    frame.to_parquet(tmp_path / "trial.parquet")
    code, said, _ = run("trial.parquet", "--policy", "Greedy")
    assert code == 0
    assert "Each arm for everyone is not estimated" in said
    assert "such as propensity.high" in said


def test_a_constant_in_all_rewards_costs_no_digits(log, run, tmp_path):
    """An interval is readable also where rewards are large: not 1000 to 1000."""
    frame = pd.read_csv(log)
    frame.assign(outcome=frame["outcome"] + 1000).to_csv(tmp_path / "large.csv", index=False)
    _, plain, _ = run(log, *NAMED, "--always", "high")
    _, large, _ = run("large.csv", *NAMED, "--always", "high")

    def gain(said):
        return next(line for line in said.splitlines() if "doubly robust" in line).split("│")[-2]

    assert gain(large) == gain(plain)
    interval = next(line for line in large.splitlines() if "doubly robust" in line).split("│")[-3]
    low, high = map(float, interval.split(" to "))
    assert 0.1 < high - low < 1.0
