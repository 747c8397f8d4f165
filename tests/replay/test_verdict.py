"""What is said about a replay, from regrets and policies that are given."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from greedyfirst import OFUL, FixedArm, Greedy, GreedyFirst
from greedyfirst.replay import Replay, replay_table
from greedyfirst.replay.verdict import AS_GOOD, HELPS, NOTHING, TOO_LITTLE, finding, verdict
from greedyfirst.simulation import SimulationResult
from greedyfirst.tables import Numeric, Schema

ROWS = 100


def made(regrets, *, policies=None, pulls=1, rows_spread=0.0):
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
        alarmed_at=np.zeros((n, m), dtype=np.int64),
        watched=tuple(name == "Greedy-First" for name in names),
        seconds=np.zeros(m),
        horizon=ROWS,
        seed=1,
    )
    played = {
        "Greedy": Greedy(),
        "Greedy-First": GreedyFirst(),
        "OFUL": OFUL(),
        "Always the same arm": FixedArm(arm=0),
    }
    per_decision = final / ROWS
    orders = np.atleast_2d(np.cov(per_decision, rowvar=False)) / n if n > 1 else np.zeros((m, m))
    return Replay(
        source="x",
        result=result,
        schema=Schema(features=[Numeric("a")], intercept=True),
        arms=("p", "q"),
        policies={**played, **(policies or {})},
        arm_shares=np.array([0.5, 0.5]),
        labels=names,
        costs=per_decision.mean(axis=0),
        covariance=orders + rows_spread**2 * np.eye(m),
        initial_pulls=pulls,
        tried_pulls=(),
        counts_errors=True,
    )


def test_greedy_is_as_good_as_exploring():
    said = verdict(made({"Greedy": [20] * 6, "OFUL": [30] * 6}))
    assert said[0] == (
        "Greedy is as good as exploring here: it ends at 20.0% ± 0.0%, OFUL, the best that "
        "explores, at 30.0% ± 0.0%. Exploring gains nothing."
    )
    assert said[-1].startswith("What to do: GreedyFirst().")


def test_exploring_that_gains_a_little_of_what_learning_gains_is_not_worth_a_word():
    """A tenth of the 40 points that Greedy gains over one arm is 4 points."""
    for gain, kind in ((3, AS_GOOD), (5, TOO_LITTLE)):
        regrets = {"Greedy": [20] * 6, "OFUL": [20] * 6, "Always the same arm": [60] * 6}
        half = gain / 100 / stdtrit(5, 0.95)  # one difference: Student's one-sided quantile
        found = finding(made(regrets, rows_spread=half / np.sqrt(2)))
        assert found.kind == kind
        assert f"{gain}.0% per decision" in found.sentence


@pytest.mark.parametrize(("n", "more", "t"), [(5, 0.1, 2.04), (7, 0.0, 2.12)])
def test_a_difference_is_judged_by_students_t(n, more, t):
    """One-sided quantiles are 2.13 and 1.94; that of the normal, 1.64, would call both real."""
    difference = np.arange(n) % 2 + more
    assert difference.mean() / (difference.std(ddof=1) / np.sqrt(n)) == pytest.approx(t, abs=0.01)
    found = finding(made({"Greedy": 20 + difference, "OFUL": np.full(n, 20.0)}))
    assert (found.kind == HELPS) is (n == 7)


def test_the_best_of_many_is_judged_as_such():
    """A difference that one explorer proves, the best of twenty does not."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(21, 10))
    noise = 3 * (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, ddof=1)[:, None]
    regrets = {"Greedy": 40 + noise[0]}
    names = [f"explorer {k}" for k in range(20)]
    regrets |= {name: 40 + noise[k + 1] for k, name in enumerate(names)}
    regrets[names[0]] = regrets[names[0]] - 3.2
    alone = {name: regrets[name] for name in ("Greedy", names[0])}
    policies = dict.fromkeys(names, OFUL())
    assert finding(made(alone, policies=policies)).kind == HELPS
    assert finding(made(regrets, policies=policies)).kind == TOO_LITTLE


def test_the_spread_of_rows_counts_though_all_orders_agree():
    regrets = {"Greedy": [23] * 6, "OFUL": [20] * 6}
    assert finding(made(regrets)).kind == HELPS
    found = finding(made(regrets, rows_spread=0.02))
    assert found.kind == TOO_LITTLE
    assert "rows would tell" in found.sentence


@pytest.mark.parametrize(("n", "begin"), [(1, "1 order cannot"), (4, "4 orders cannot")])
def test_few_orders_give_no_verdict(n, begin):
    said = verdict(made({"Greedy": [50] * n, "OFUL": [20] * n}))[0]
    assert said.startswith(f"{begin} tell whether Greedy was enough")
    assert "nan" not in said


def test_where_nothing_beats_one_arm_exploring_has_nothing_to_find():
    regrets = {"Greedy": [50, 51] * 4, "OFUL": [45] * 8, "Always the same arm": [40] * 8}
    found = finding(made(regrets))
    assert found.kind == NOTHING
    assert found.sentence.startswith("Nothing beats always choosing 'p'")
    assert verdict(made(regrets))[-1].startswith("What to do: always choose 'p'")
    unsure = finding(made(regrets, rows_spread=0.1))
    assert unsure.kind == TOO_LITTLE
    assert "whether anything can be learned" in unsure.sentence


@pytest.mark.parametrize(("pulls", "own"), [(49, True), (50, False)])
def test_first_pulls_of_all_rows_leave_no_verdict(pulls, own):
    found = finding(made({"Greedy": [50] * 6, "OFUL": [60] * 6}, pulls=pulls))
    assert found.kind == (AS_GOOD if own else TOO_LITTLE)
    assert ("take all of 100 rows" in found.sentence) is not own


FED = "no arm starved in the end: every arm held its share of what is known"


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, 0),  # 4·K·d = 16
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
        assert f"The table ends before its alarms begin, after {first} decisions." in said
    else:
        assert FED in said


def test_the_default_t0_is_that_of_the_table():
    """Two arms, three columns and an intercept: 4·K·d = 32 rows are too few."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(33, 3)), columns=list("abc"))
    frame["y"] = list("pqp" * 11)
    options = {"label": "y", "policies": {"Greedy-First": GreedyFirst()}, "permutations": 1}
    (said,) = verdict(replay_table(frame[:32], **options))
    assert "before its alarms begin, after 32 decisions" in said
    assert "before its alarms begin" not in verdict(replay_table(frame, **options))[0]
