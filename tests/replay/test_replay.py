"""A classified table replayed: costs against counts by hand, reasons, files."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from greedyfirst import FixedArm, Greedy, GreedyFirst, Oracle
from greedyfirst.cli import main
from greedyfirst.replay import default_policies, read_costs, replay_table
from greedyfirst.replay.verdict import verdict
from greedyfirst.tables import Schema
from greedyfirst.tables.datasets import DATA_SETS, load_data_set


def patients(n=300, seed=0):
    """Two numbers and a category decide between three doses, with some noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "weight"])
    frame["sex"] = rng.choice(["f", "m"], size=n)
    score = frame["age"] + 0.5 * (frame["sex"] == "m") + 0.3 * rng.normal(size=n)
    frame["dose"] = np.select([score < -0.5, score < 0.8], ["low", "medium"], "high")
    return frame


@pytest.fixture(scope="module")
def replayed():
    policies = {
        "Greedy": Greedy(warmup="pinv", initial_pulls=4),
        "Greedy-First": GreedyFirst(warmup="pinv", initial_pulls=4, t0=30, lambda0=0.5),
        "Oracle": Oracle(),
        "Always the same arm": FixedArm(arm=2),
    }
    options = {"label": "dose", "intercept": True, "source": "patients.csv"}
    return replay_table(patients(), policies=policies, permutations=6, seed=3, **options)


def test_arms_are_the_classes_and_features_have_the_columns_names(replayed):
    assert replayed.arms == ("high", "low", "medium")
    assert replayed.schema.feature_names == ("intercept", "age", "weight", "sex=m")


def test_a_fixed_arm_and_the_oracle_cost_what_counting_says(replayed):
    frame = patients()
    cost = dict(zip(replayed.result.policies, replayed.final, strict=True))
    assert cost["Always the same arm"] == pytest.approx((frame["dose"] != "medium").mean())
    x = replayed.schema.encode(frame)
    y = np.stack([frame["dose"] == arm for arm in replayed.arms], axis=1).astype(float)
    chosen = (x @ np.linalg.lstsq(x, y, rcond=None)[0]).argmax(axis=1)
    assert cost["Oracle"] == pytest.approx((y[np.arange(len(y)), chosen] == 0).mean())
    shares = replayed.pull_shares[replayed.result.policies.index("Always the same arm")]
    np.testing.assert_array_equal(shares, [0, 0, 1])
    np.testing.assert_allclose(replayed.pull_shares.sum(axis=1), 1)


def test_half_widths_have_the_spread_over_orders_and_over_rows(replayed):
    """Six orders: the quantile is 2.57, not 2. One arm has no spread over orders."""
    greedy, fixed = replayed.result.final[:, [0, 3]].T / replayed.result.horizon
    low, high = stats.t.interval(0.95, df=5, loc=greedy.mean(), scale=stats.sem(greedy))
    assert 2 * replayed.half_width[0] > high - low
    assert np.ptp(fixed) == 0
    share = fixed[0]
    spread = np.sqrt(share * (1 - share) / 299)
    assert replayed.half_width[3] == pytest.approx(stats.t.ppf(0.975, 5) * spread, rel=1e-5)


def test_one_order_has_no_half_width():
    chosen = {"Always the same arm": FixedArm(arm=0)}
    done = replay_table(patients(), label="dose", policies=chosen, permutations=1)
    assert done.cells(0)[1] == ""
    assert "300 rows, 1 order" in done.table()
    assert "nan" not in done.table() + " ".join(verdict(done))


def test_switches_are_explained_by_arm_and_columns(replayed):
    reasons = replayed.reasons("Greedy-First")
    switched = replayed.result.switches["Greedy-First"]
    assert sum(count for _, count, _, _ in reasons) == switched == 6  # λ₀ = 0.5 is out of reach
    for arm, _, rounds, direction in reasons:
        assert arm in replayed.arms
        assert rounds > 30
        assert any(name in direction for name in replayed.schema.feature_names)
    said = " ".join(verdict(replayed))
    assert "An arm starved in 6 of 6 orders" in said
    assert reasons[0][0] in said


def test_costs_of_classes_and_arms(tmp_path):
    (tmp_path / "costs.csv").write_text(
        ",treat, wait\nhigh,1,-2\nlow,-1,0.5\nmedium,0.5,0\nunused,0,0\n"
    )
    rewards, arms = read_costs(tmp_path / "costs.csv", ["high", "low", "medium"])
    np.testing.assert_array_equal(rewards, [[1, -2], [-1, 0.5], [0.5, 0]])
    assert arms == ("treat", "wait")
    frame = patients()
    done = replay_table(
        frame,
        label="dose",
        costs=(rewards, arms),
        policies={"Always the same arm": FixedArm(arm=0)},
        permutations=2,
    )
    best = {"high": 1, "low": 0.5, "medium": 0.5}
    paid = {"high": 1, "low": -1, "medium": 0.5}
    regret = np.mean([best[dose] - paid[dose] for dose in frame["dose"]])
    assert done.final[0] == pytest.approx(regret)
    assert not done.counts_errors


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "a header that names the arms"),
        (",a\nhigh,1\n", "'low' has none"),
        (",a,b\nhigh,1\nlow,1,2\n", "of 3 cells"),
        (",a,b\nhigh,1,2\nlow,x,2\n", "class 'low', arm 'a'"),
        (",a,b\nhigh,nan,2\nlow,1,2\n", "a finite number"),
        (",a\nhigh,1\nlow,2\n", "the arms of {path} must be at least two, got ('a',)"),
        (",a,b,a\nhigh,1,2,3\nlow,1,2,3\n", "arm 'a' is given twice, as 1 and as 3"),
        (",a,\nhigh,1,2\nlow,1,2\n", "arm 2 has no name"),
        (",a,b\nhigh,1,2\nlow,1,2\nhigh,0,0\n", "class 'high' is given twice, as 1 and as 3"),
        (",a,b\nhigh,1,1e200\nlow,1,2\n", "class 'high', arm 'b' must be between -1e+100 and"),
    ],
)
def test_bad_costs_are_refused(tmp_path, content, expected):
    (tmp_path / "costs.csv").write_text(content)
    path = tmp_path / "costs.csv"
    with pytest.raises(ValueError, match=re.escape(expected.format(path=path))):
        read_costs(path, ["high", "low"])


def test_the_currency_of_costs_decides_nothing():
    frame = patients(200)
    rewards = np.array([[3.0, -1.0, 0.0], [-2.0, 1.0, 0.25], [0.0, 0.5, 2.0]])
    options = {"label": "dose", "intercept": True, "permutations": 2}
    arms = ("high", "low", "medium")
    whole = replay_table(frame, costs=(rewards, arms), **options)
    for unit in (1e5, 1e-5):
        other = replay_table(frame, costs=(unit * rewards, arms), **options)
        np.testing.assert_array_equal(other.result.pulls, whole.result.pulls)
        for name in ("final", "mean", "half_width"):
            ours, theirs = getattr(other.result, name), getattr(whole.result, name)
            np.testing.assert_allclose(ours, unit * theirs, rtol=1e-9, atol=unit * 1e-12)
    fixed = whole.result.policies.index("Always the same arm")
    earned = rewards[frame["dose"].map(arms.index)]
    regret = (earned.max(axis=1) - earned[:, earned.sum(axis=0).argmax()]).mean()
    assert whole.final[fixed] == pytest.approx(regret)


@pytest.mark.parametrize(
    ("rewards", "arms", "warns"),
    [
        ([[0, 1, 2], [5, 0, 1], [3, 3, -1]], ("high", "low", "medium"), True),
        ([[1, 0, 2], [0, 5, 1], [3, 3, -1]], ("low", "high", "medium"), True),
        ([[0, 1, 2], [5, 0, 1], [3, -1, -1]], ("high", "low", "medium"), False),
        ([[0, 1, 2], [5, 0, 1], [3, 3, -1]], ("treat", "wait", "test"), False),
    ],
)
def test_costs_given_for_rewards_are_noticed(rewards, arms, warns):
    chosen = {"Always the same arm": FixedArm(arm=0)}
    options = {"label": "dose", "policies": chosen, "permutations": 1}
    done = replay_table(patients(30), costs=(np.array(rewards), arms), **options)
    assert ("Each class's own arm pays least" in verdict(done)[0]) is warns


def test_bad_arms_from_python_are_refused():
    for rewards, arms, expected in (
        (np.eye(3), ("a", "b", "a"), "the arms of costs must be 3 different names"),
        (np.ones((3, 1)), ("a",), "the arms of costs must be at least two"),
        (np.eye(3) * 1e200, ("a", "b", "c"), "costs: class 'high', arm 'a' must be between"),
    ):
        with pytest.raises(ValueError, match=expected):
            replay_table(patients(30), label="dose", costs=(rewards, arms), permutations=1)


def test_bundled_tables_need_no_network():
    bundled = [name for name, known in DATA_SETS.items() if known.bundled]
    assert {"breast_cancer", "wine", "digits", "iris"} <= set(bundled)
    for name in bundled:
        frame, label = load_data_set(name)
        assert frame[label].nunique() > 1
        assert (frame.nunique() > 1).all()


def test_the_papers_tables_come_from_a_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("GREEDYFIRST_DATA", raising=False)
    (tmp_path / "warfarin.csv").write_text("1,0,2\n0,1,1\n1,1,2\n")
    frame, label = load_data_set("warfarin", directory=tmp_path)
    assert (label, frame.shape) == ("f2", (3, 3))
    monkeypatch.setenv("GREEDYFIRST_DATA", str(tmp_path))
    assert load_data_set("warfarin")[0].equals(frame)
    monkeypatch.setenv("GREEDYFIRST_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(ValueError, match=r"warfarin is not here: get .* PharmGKB"):
        load_data_set("warfarin")


def in_units(unit):
    """Column b in units of 1/unit, next to a one of root mean square 1."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.choice([-1.0, 1.0], size=(40, 2)), columns=["a", "b"])
    return frame.assign(b=unit * frame["b"], y=np.where(frame["a"] > 0, "p", "q"))


@pytest.mark.parametrize("unit", [1e6, 1e-6])
def test_units_may_differ_up_to_a_million_times(unit):
    played = {"policies": {"Greedy": Greedy()}, "permutations": 1}
    options = {"label": "y", "intercept": False, **played}
    replay_table(in_units(unit ** (1 - 1e-9)), **options)
    too_much = in_units(unit ** (1 + 1e-9))
    with pytest.raises(ValueError, match=r"1e\+06 times larger than '[ab]'"):
        replay_table(too_much, **options)
    replay_table(too_much, standardise=True, **options)


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["greedyfirst", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def test_the_command_writes_curves_picture_page_and_schema(tmp_path, monkeypatch, capsys):
    frame = patients(120)
    frame.to_csv(tmp_path / "patients.csv", index=False)
    arguments = ["replay", tmp_path / "patients.csv", "--label", "dose", "--permutations", 3]
    code, said, errors = call(monkeypatch, capsys, *arguments, "--out", tmp_path / "made")
    assert (code, errors) == (0, "")
    assert "Greedy" in said
    with open(tmp_path / "made" / "patients-replay.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["policy"] for row in rows} == set(default_policies(120, 4, 0, yes_no=True))
    assert all(0 <= float(row["mean"]) <= 1 for row in rows)
    page = (tmp_path / "made" / "patients-replay.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert not re.search(r'(src|href)="https?:', page)
    assert "--permutations 3" in page
    assert "What to do: GreedyFirst()" in page
    assert (tmp_path / "made" / "patients-replay.png").stat().st_size > 10_000
    schema = Schema.load(tmp_path / "made" / "patients-schema.json")
    assert schema.encode(frame).shape == (120, 4)
    assert json.loads((tmp_path / "made" / "patients-schema.json").read_text())
