"""The dashboard's words for numbers, directions and shapes."""

import pytest
from msgspec.structs import replace

from greedyfirst.service.dashboard.history_table import history_rows
from greedyfirst.service.dashboard.reference import kind_of
from greedyfirst.service.dashboard.standing import arm_standing
from greedyfirst.service.dashboard.wording import (
    bars,
    direction,
    feature,
    number,
    percent,
    when,
    why_chosen,
)
from greedyfirst.service.http.messages import ArmDiversityView, DiversityView
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.log.events import Decision
from greedyfirst.service.state.history import History, Point


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0, "0"),
        (-0.0, "0"),
        (65.997, "66.00"),
        (-0.25, "−0.2500"),
        (1234.5, "1,234"),
        (-1e9, "−1e+09"),
        (0.00012345, "0.000123"),
        (float("nan"), "nan"),
    ],
)
def test_numbers(value, said):
    assert number(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (1e-17, "0 %"),
        (4e-5, "below 0.01 %"),
        (0.05 / 3, "1.67 %"),
        (0.1147, "11.5 %"),
        (1.0, "100.0 %"),
    ],
)
def test_shares_are_percentages(value, said):
    assert percent(value) == said


def test_times_name_their_zone():
    assert when(0.0) == "1970-01-01 00:00 UTC"


def test_features():
    assert feature("intercept") == "base level"
    assert feature("sex=female") == "sex: female"
    assert feature("age") == "age"


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"age": -0.99, "weight": 0.1}, "age"),
        ({"sex=m": 0.7, "age": -0.7}, "sex: m and age taken together"),
        ({"a": 0.6, "b": 0.5, "c": 0.4, "d": 0.4}, "a, b and c taken together"),
        (dict.fromkeys("abcdefghijklmnopqrstuvwxy", 0.2), "a, b and c taken together"),
    ],
)
def test_directions_name_their_main_features(weights, said):
    assert direction(weights) == said


def test_bars_share_an_axis_with_zero_on_it():
    drawn = bars({"a": 3.0, "b": -1.0, "c": 0.0, "d": float("nan")})
    assert [(bar.start, bar.length) for bar in drawn] == [(25, 75), (0, 25), (25, 0), (25, 0)]
    assert [bar.length for bar in bars({"a": 0.0})] == [0]


def test_a_history_table_is_a_dozen_stretches_up_to_the_newest_point():
    points = [
        Point(
            rewards=10 * n,
            at=float(n),
            decisions=10 * n,
            reward_sum=float(n * n),
            pulls=[n],
            min_eigenvalues=[0.0],
            thresholds=[None],
        )
        for n in range(1, 101)
    ]
    rows = history_rows(History(stride=10, reward_sum=10_000.0, points=points))
    assert len(rows) == 12
    assert rows[-1].point == points[-1]
    assert rows[0].mean_reward == pytest.approx(8**2 / 80)
    total = sum(
        row.mean_reward * (row.point.rewards - before)
        for row, before in zip(rows, [0, *(row.point.rewards for row in rows)], strict=False)
    )
    assert total == pytest.approx(10_000.0)
    assert history_rows(History(points=[])) == []
    assert len(history_rows(History(points=points[:5]))) == 5


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (None, "a file"),
        ({}, "anything"),
        ({"$ref": "#/components/schemas/Decision"}, "Decision"),
        ({"enum": ["hold", "drop"]}, "“hold” or “drop”"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number or nothing"),
        ({"type": ["string", "boolean"]}, "text or true or false"),
        ({"type": "array", "items": {"type": "integer"}}, "list of whole number"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "names with number"),
        ({"type": "object", "title": "HistoryRow", "properties": {}}, "HistoryRow"),
        ({"type": "object"}, "object"),
    ],
)
def test_kinds_of_values_in_words(schema, said):
    assert kind_of(schema) == said


def decision(expected, *, eligible=None, arm="low"):
    answer = Decision(
        decision_id="p:1",
        policy="p",
        arm=arm,
        mode="greedy",
        step=1,
        at=0.0,
        model_version=0,
        schema_version=1,
        expected_rewards=expected,
        contributions={},
    )
    return DecisionView(
        answer=answer,
        context={},
        eligible_arms=eligible,
        rewards=(),
        status="pending",
        learned=None,
    )


def test_a_tie_is_called_a_tie():
    tie = decision({"low": 0.5, "middle": 0.5, "high": 0.2})
    assert why_chosen(tie) == (
        "It shared the highest expected reward with middle: a tie, which a draw settled among the "
        "arms in use."
    )
    three = decision({"low": 0.0, "middle": 0.0, "high": 0.0})
    assert "with middle and high: a tie" in why_chosen(three)
    alone = decision({"low": 0.5, "middle": 0.5}, eligible=("low",))
    highest = "it had the highest expected reward."
    assert why_chosen(alone) == f"Of the arms that were allowed here, {highest}"
    assert why_chosen(decision({"low": 0.6, "middle": 0.5})) == f"Of the arms in use, {highest}"


@pytest.mark.parametrize("measure", ["smallest eigenvalue", "share of samples"])
@pytest.mark.parametrize("mode", ["greedy", "fallback"])
def test_an_arm_without_samples_is_not_green(measure, mode):
    diversity = DiversityView(
        policy="p",
        rewards=10,
        mode=mode,
        lambda0=0.1,
        switched_at=None,
        culprit=None,
        arms=(),
        open_alarms=(),
        measure=measure,
    )
    new = ArmDiversityView(
        name="new",
        pulls=0,
        min_eigenvalue=0.0,
        threshold=0.0,
        samples_needed=0,
        weakest_direction={},
        tripped_at=None,
        in_use=True,
        watched=True,
        starving=False,
    )
    assert arm_standing(new, diversity) == ("no samples yet", "", "")
    fed = replace(new, pulls=9, min_eigenvalue=1.0)
    assert arm_standing(fed, diversity).tone == ("good" if mode == "greedy" else "")
