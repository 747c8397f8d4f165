"""The log as a Parquet file: a row per decision, with its context and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from greedyfirst.service.log.decision_view import DecisionView, RewardView, decision_views
from greedyfirst.service.log.events import ArmAdded, Created, SchemaChanged
from greedyfirst.service.log.log import ReadableLog
from greedyfirst.service.state.specification import Feature, NumericFeature
from greedyfirst.tables.columns import level_of

_ROWS = 5000
_TIME = pa.timestamp("us", tz="UTC")
#: A reward as it came, and what stands of it: null if it is void.
_REWARD = pa.struct(
    [
        ("at", _TIME),
        ("part", pa.string()),
        ("value", pa.float64()),
        ("outcome", pa.string()),
        ("stands", pa.float64()),
        ("corrected_at", _TIME),
    ]
)
_COLUMNS = [
    ("decision_id", pa.string()),
    ("step", pa.int64()),
    ("at", _TIME),
    ("arm", pa.string()),
    ("eligible_arms", pa.list_(pa.string())),
    ("mode", pa.string()),
    ("group", pa.string()),
    ("propensity", pa.float64()),
    ("model_version", pa.int64()),
    ("schema_version", pa.int64()),
    ("expected_reward", pa.float64()),
    ("status", pa.string()),
    ("learned", pa.float64()),
    ("reward_at", _TIME),
    ("rewards", pa.list_(_REWARD)),
    ("late", pa.bool_()),
    ("corrected", pa.bool_()),
    ("held", pa.bool_()),
    ("voided", pa.bool_()),
    ("erased", pa.bool_()),
]


def write_parquet(log: ReadableLog, policy: str, file: IO[bytes]) -> None:
    """Write all decisions of a deployment, a few thousand at a time."""
    numeric: dict[str, bool] = {}  # in every version of the schema
    arms: list[str] = []
    summed = False
    for entry in log.audit(policy, limit=10**6):
        if entry.kind not in ("created", "schema_changed", "arm_added"):
            continue
        event = entry.event
        features: tuple[Feature, ...] = ()
        if isinstance(event, SchemaChanged):
            features = event.schema.features
        elif isinstance(event, Created):
            features, arms = event.specification.features, [*event.specification.arms, *arms]
            summed = event.specification.rewards == "sum"
        elif isinstance(event, ArmAdded):
            arms.insert(0, event.arm)  # the newest come first
        for feature in features:
            is_number = isinstance(feature, NumericFeature)
            numeric[feature.name] = numeric.get(feature.name, True) and is_number
    contexts = [
        (f"context.{name}", pa.float64() if numeric[name] else pa.string())
        for name in sorted(numeric)
    ]
    chances = [(f"propensity.{arm}", pa.float64()) for arm in arms]
    schema = pa.schema([*_COLUMNS, *chances, *contexts])
    with pq.ParquetWriter(file, schema) as writer:
        rows = []
        for row in _rows(log, policy, arms, numeric, summed):
            rows.append(row)
            if len(rows) == _ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema))


def _rows(
    log: ReadableLog, policy: str, arms: list[str], numeric: dict[str, bool], summed: bool
) -> Iterator[dict[str, Any]]:
    for _, view in decision_views(log, policy, summed=summed):
        row, chances = _row(view), view.answer.propensities
        for arm in arms if chances else ():
            row[f"propensity.{arm}"] = chances.get(arm, 0.0)
        for name, value in view.context.items():
            row[f"context.{name}"] = float(value) if numeric[name] else level_of(value)
        yield row


def _row(view: DecisionView) -> dict[str, Any]:
    """A decision and what came of it, but for its context."""
    answer, rewards = view.answer, view.rewards
    return {
        **{name: getattr(answer, name, None) for name, _ in _COLUMNS},
        "at": _microseconds(answer.at),
        "eligible_arms": view.eligible_arms,
        "expected_reward": answer.expected_rewards.get(answer.arm),
        "status": view.status,
        "learned": view.learned,
        "reward_at": _microseconds(rewards[0].at) if rewards else None,
        "rewards": [_reward(reward) for reward in rewards],
        "late": any(reward.outcome == "late" for reward in rewards),
        "corrected": any(reward.corrections for reward in rewards),
        "held": view.status == "held",
        "voided": view.status == "voided",
        "erased": view.erased is not None,
    }


def _reward(reward: RewardView) -> dict[str, Any]:
    corrections = reward.corrections
    return {
        "at": _microseconds(reward.at),
        "part": reward.part,
        "value": reward.value,
        "outcome": reward.outcome,
        "stands": reward.stands,
        "corrected_at": _microseconds(corrections[-1].at) if corrections else None,
    }


def _microseconds(at: float) -> int:
    return int(at * 1e6)
