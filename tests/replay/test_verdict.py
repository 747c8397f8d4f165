"""What is said about a replay, from regrets and policies that are given."""

import numpy as np
import pandas as pd
import pytest

from greedyfirst import OFUL, FixedArm, Greedy, GreedyFirst
from greedyfirst.replay import Replay, replay_table
from greedyfirst.replay.verdict import verdict
from greedyfirst.simulation import SimulationResult
from greedyfirst.tables import Numeric, Schema

ROWS = 100


def made(regrets, *, policies=None, intercept=False):
    """A replay of two arms and one column with the given wrong decisions (orders) by name."""
    names = tuple(regrets)
    final = np.array(list(regrets.values()), dtype=float).T
    n, m = final.shape
    result = SimulationResult(
        policies=names,
        steps=np.array([ROWS]),
        mean=final.mean(axis=0)[:, None],
        half_width=np.zeros((m, 1)),
        final=final,
        switched_at=np.zeros((n, m), dtype=np.int64),
        eigenvalue_computations=np.zeros((n, m), dtype=np.int64),
        pulls=np.full((n, m, 2), ROWS / 2),
        culprit=np.full((n, m), -1),
        weakest=np.zeros((n, m, 1)),
        watched=tuple(name == "Greedy-First" for name in names),
        seconds=np.zeros(m),
        horizon=ROWS,
        seed=1,
    )
    played = {
        "Greedy": Greedy(initial_pulls=4),
        "Greedy-First": GreedyFirst(initial_pulls=4),
        "OFUL": OFUL(),
        "Always the same arm": FixedArm(arm=0),
    }
    return Replay(
        source="x",
        result=result,
        schema=Schema(features=[Numeric("a")], intercept=intercept),
        arms=("p", "q"),
        policies={**played, **(policies or {})},
        counts_errors=True,
    )


def test_greedy_was_enough_and_how_it_begins():
    (said,) = verdict(made({"Greedy": [20] * 6, "OFUL": [30] * 6}))
    assert said == (
        "Greedy was enough: it pulls each arm 4 times in turns, then never explores, and ends at "
        "20.0% ± 0.0%; OFUL, the best here that explores, at 30.0% ± 0.0%."
    )


def test_greedy_without_first_pulls_never_explores():
    (said,) = verdict(made({"Greedy": [20] * 6, "OFUL": [30] * 6}, policies={"Greedy": Greedy()}))
    assert "it never explores, and ends at 20.0%" in said


@pytest.mark.parametrize(("n", "more", "t"), [(5, 0.2, 2.45), (7, 0.226, 3.24)])
def test_a_difference_is_judged_by_students_t(n, more, t):
    """The quantiles are 2.78 and 2.45; two standard errors would call both differences real."""
    difference = np.arange(n) % 2 + more
    assert difference.mean() / (difference.std(ddof=1) / np.sqrt(n)) == pytest.approx(t, abs=0.01)
    (said,) = verdict(made({"Greedy": 20 + difference, "OFUL": np.full(n, 20.0)}))
    assert said.startswith("Greedy was enough" if n == 5 else "Greedy was not enough")


@pytest.mark.parametrize(("n", "begin"), [(1, "1 order cannot"), (4, "4 orders cannot")])
def test_few_orders_give_no_verdict(n, begin):
    (said,) = verdict(made({"Greedy": [50] * n, "OFUL": [20] * n}))
    assert said.startswith(f"{begin} tell whether Greedy was enough")
    assert "nan" not in said


@pytest.mark.parametrize("intercept", [False, True])
def test_worse_than_always_the_same_arm_is_not_enough(intercept):
    regrets = {"Greedy": [50, 51] * 4, "OFUL": [60] * 8, "Always the same arm": [40] * 8}
    said = verdict(made(regrets, intercept=intercept))[0]
    assert said.startswith("Greedy was not enough")
    assert "more than always the same arm" in said
    assert ("--intercept" in said) is not intercept
    regrets["Always the same arm"] = [50.5] * 8
    assert verdict(made(regrets))[0].startswith("Greedy was enough")


@pytest.mark.parametrize(("pulls", "own"), [(49, True), (50, False)])
def test_first_pulls_of_all_rows_leave_no_verdict(pulls, own):
    greedy = {"Greedy": Greedy(initial_pulls=pulls)}
    (said,) = verdict(made({"Greedy": [50] * 6, "OFUL": [60] * 6}, policies=greedy))
    assert said.startswith("Greedy was enough" if own else "The table is too small for a verdict")
    assert ("none of 100 decisions was its own" in said) is not own


DIVERSE = "never switched: every arm's samples stayed diverse enough"


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, 0),  # 4·K·d = 8
        ({"t0": 99}, 0),
        ({"t0": 100}, 100),
        ({"t0": 5, "test_after": 120}, 120),
        ({"t0": 200, "lambda0": 0.1, "test_after": 20}, 0),
    ],
)
def test_a_test_that_never_ran_says_nothing(options, first):
    played = {"Greedy-First": GreedyFirst(**options)}
    (said,) = verdict(made({"Greedy-First": [50] * 6}, policies=played))
    if first:
        assert f"the table has 100 rows and its test begins after {first}." in said
    else:
        assert DIVERSE in said


def test_the_default_t0_is_that_of_the_table():
    """Two arms and three columns: 4·K·d = 24 rows are too few, 25 are not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(25, 3)), columns=list("abc"))
    frame["y"] = list("pqpqp" * 5)
    policies = {"Greedy-First": GreedyFirst(initial_pulls=3, warmup="pinv")}
    options = {"label": "y", "policies": policies, "permutations": 1}
    (said,) = verdict(replay_table(frame[:24], **options))
    assert "the table has 24 rows and its test begins after 24." in said
    assert DIVERSE in verdict(replay_table(frame, **options))[0]
