"""`greedyfirst plan` as a user meets it: files, the same bytes, one sentence on bad input."""

import csv
import sys

import numpy as np
import pytest

from greedyfirst.cli import main
from greedyfirst.planning.plan import MEANINGS

FILES = ["plan.csv", "plan.html", "plan.png"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a directory of its own: exit code, what was said, the error."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'ab'[int(b > a)]}" for a, b in rng.normal(size=(80, 2))]
    (tmp_path / "patients.csv").write_text("\n".join(["age,weight,sex", *rows]) + "\n")
    (tmp_path / "arms.csv").write_text("0.5,0.1\n0,0.3\n")
    (tmp_path / "words.csv").write_text("0.5,much\n0,0.3\n")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["greedyfirst", "plan", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return call


SMALL = ("--people", "30,60", "--trials", "20")


def test_a_plan_of_a_law(run, tmp_path):
    code, said, error = run("--arms", "3", "--features", "2", "--jobs", "1", *SMALL, "--out", "one")
    assert (code, error) == (0, "")
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == FILES
    assert all(str(path.relative_to(tmp_path)) in said for path in (tmp_path / "one").iterdir())
    assert "a fixed randomised trial needs" in said.replace("\n", " ")
    with open(tmp_path / "one" / "plan.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["people"], row["design"]) for row in rows] == [
        (size, design) for size in ("30", "60") for design in ("policy", "fixed")
    ]
    assert set(MEANINGS) < set(rows[0])
    again = ("--arms", "3", "--features", "2", "--jobs", "2", *SMALL, "--out", "two")
    assert run(*again)[0] == 0
    tables = [(tmp_path / out / "plan.csv").read_bytes() for out in ("one", "two")]
    assert tables[0] == tables[1]


def test_a_plan_of_a_table(run, tmp_path):
    table = ("patients.csv", "--drop", "sex", "--difference", "0.4", "--interaction", "0.1")
    policy = '{"policy": "Greedy", "options": {"initial_pulls": 2}}'
    code, _, error = run(*table, "--policy", policy, *SMALL)
    assert (code, error) == (0, "")
    page = (tmp_path / "figures" / "plan.html").read_text()
    assert "80 rows of patients.csv" in page
    assert "better than each other by 0.4" in page
    assert "The policy is Greedy(initial_pulls=2)." in page
    assert "greedyfirst plan patients.csv --drop sex" in page


def test_a_plan_of_given_arms(run, tmp_path):
    arms = ("--features", "1", "--coefficients", "arms.csv")
    assert run(*arms, *SMALL)[0] == 0
    assert "second by 0.5." in (tmp_path / "figures" / "plan.html").read_text()


BAD = {
    "sizes in words": (("--people", "many"), "--people must be whole numbers with commas"),
    "falling sizes": (("--people", "100,50"), "people must be numbers of people, in rising"),
    "fewer people than arms": (("--people", "2", "--arms", "3"), "people must be a whole number"),
    "one arm": (("--arms", "1"), "--arms must be a whole number at least 2, got 1"),
    "no features": (("--features", "0"), "--features must be a whole number at least 1"),
    "no effect": (("--effect", "0"), "--effect must be a finite number above 0"),
    "endless effect": (("--effect", "inf"), "--effect must be a finite number above 0"),
    "no difference": (("--difference", "0"), "--difference must be a finite number above 0"),
    "negative interaction": (("--interaction", "-1"), "--interaction must be"),
    "no noise": (("--noise", "0"), "--noise must be a finite number above 0"),
    "no width": (("--width", "0"), "--width must be a finite number above 0"),
    "one trial": (("--trials", "1"), "--trials must be a whole number at least 2"),
    "no jobs": (("--jobs", "0"), "--jobs must be a whole number at least 1"),
    "negative seed": (("--seed", "-1"), "--seed must be a whole number at least 0"),
    "two effects": (("--effect", "1", "--difference", "1"), "--effect and --difference must be"),
    "unknown policy": (("--policy", "Best"), "policy must be one of Greedy, "),
    "half a policy": (("--policy", "{"), "--policy must be a name or JSON, got {"),
    "no such option": (
        ("--policy", '{"policy": "Greedy", "options": {"speed": 1}}'),
        "policy Greedy: ",
    ),
    "a policy for clicks": (("--policy", "GLMGreedy"), "policy must be one that learns outcomes"),
    "a policy that knows": (("--policy", "Oracle"), "policy must be one that need not know"),
    "no such table": (("nowhere.csv",), "nowhere.csv"),
    "no such column": (("patients.csv", "--drop", "dose"), "dose"),
    "table and features": (("patients.csv", "--features", "2"), "--features must be left out"),
    "no such arms": (("--coefficients", "nowhere.csv"), "nowhere.csv: no such file"),
    "arms in words": (("--coefficients", "words.csv"), "row 1 of words.csv must be a finite"),
    "too few coefficients": (("--coefficients", "arms.csv"), "of 6 numbers: intercept, x1, x2"),
    "other arms": (("--arms", "3", "--coefficients", "arms.csv"), "--arms must be 2, the rows of"),
    "interaction of given arms": (
        ("--interaction", "1", "--coefficients", "arms.csv"),
        "--interaction must be left out",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case, run, tmp_path):
    arguments, mentioned = BAD[case]
    code, said, error = run(*arguments)
    assert (code, said) == (2, "")
    assert mentioned in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "figures").exists()
