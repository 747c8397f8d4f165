"""Agents as files, bytes and copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

from greedyfirst.agent import stored_state
from greedyfirst.agent.contexts import ContextReader
from greedyfirst.agent.noise_sums import linear_model_of, miss
from greedyfirst.agent.rewarded_steps import RewardedSteps
from greedyfirst.agent.running_policy import FIRST_ROOM, RunningPolicy
from greedyfirst.compiling.records import arrays_in
from greedyfirst.files import data_file
from greedyfirst.policies.description import as_stored, describe, from_description
from greedyfirst.validation import whole_number

#: The decisions that have their reward, where rewards did not come in order.
REWARDED = "rewarded"
#: What the rewards tell of their noise.
NOISE = "noise"


class Saving(RunningPolicy):
    """The part of an agent that writes and reads it."""

    def _header(self) -> dict[str, Any]:
        return {
            "policy": describe(self.policy),
            "seed": self.seed,
            "arm_names": self.arm_names,
            "feature_names": self.feature_names,
            "decisions": self.decisions,
            "joined": self.joined,
            "foreign": self.foreign,
            "dropped": self._dropped.tolist(),
            "room": self.room,
            "fields": self.state.places(self.buffer),
            "noise_fields": self.noise.places(self.noise_buffer) if self.noise.kept else None,
            "tells_names": self._tells_names,
            "named": self._reader.named,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "rewarded": None if self._rewarded is None else self._rewarded.stored()[0],
        }

    def _arrays(self) -> dict[str, Any]:
        """The state and what belongs to it: copies."""
        arrays = {stored_state.BUFFER: self.buffer.copy()}
        if self.noise.kept:
            arrays[NOISE] = self.noise_buffer.copy()
        if self._rewarded is not None:
            arrays[REWARDED] = self._rewarded.stored()[1]
        return arrays

    def save(self, path: str | Path) -> None:
        """Write everything to one file of plain data."""
        data_file.write(path, "agent", self._header(), self._arrays())

    def to_bytes(self) -> bytes:
        """What :meth:`save` writes to a file, but quickly made: it is not compressed."""
        return self.copied()()

    def copied(self) -> Callable[[], bytes]:
        """Copy everything now: what is returned makes bytes of the copy, later, on any thread."""
        return partial(data_file.pack, "agent", self._header(), self._arrays(), compressed=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The agent that was saved: it goes on where that one stopped."""
        return cls._restored(*data_file.read(path, "agent"), str(path))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The agent whose :meth:`to_bytes` this is."""
        where = "content"
        return cls._restored(*data_file.unpack(content, "agent", where), where)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Any], path: str) -> Self:
        try:
            agent = cls._named(header)
            agent.decisions, agent.joined = header["decisions"], header["joined"]
            agent.foreign = header["foreign"]
            room = whole_number("room", header["room"], at_least=FIRST_ROOM)
            if room > agent.room:
                agent.room = room
                agent._allocate()
            agent._dropped[:] = header["dropped"]
            stored_state.restore(agent.state, agent.buffer, header, arrays)
            agent._restore_noise(header, arrays)
            if header.get("rewarded") is not None:
                agent._rewarded = RewardedSteps.restored(header["rewarded"], arrays[REWARDED])
            elif "rewarded" not in header and agent.joined < agent.decisions:
                agent._rewarded = RewardedSteps(agent.joined, unknown=agent.decisions)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a complete agent file: {error}") from error
        agent._eligible[agent._dropped] = 0.0
        return agent

    def _restore_noise(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        """What the rewards tell of their noise; files of before have the rewards' sums only."""
        if not self.noise.kept:
            return
        if NOISE in arrays:
            stored_state.fill(self.noise, arrays_in(arrays[NOISE], header["noise_fields"]))
        else:
            miss(self.noise, linear_model_of(self.state))

    @classmethod
    def _named(cls, header: dict[str, Any]) -> Self:
        """A new agent with the policy, names and schema of a file.

        Older files have no schema, and do not say whether their features' names were chosen.
        """
        features, schema = header["feature_names"], header.get("schema")
        usual = [f"x{i}" for i in range(len(features))]
        agent = cls(
            from_description(as_stored(header["policy"])),
            n_arms=len(header["arm_names"]),
            n_features=None if schema else len(features),
            seed=header["seed"],
            arm_names=header["arm_names"],
            feature_names=None if schema else features,
            schema=_schema(schema) if schema else None,
        )
        agent._reader.named = bool(header.get("named", list(features) != usual))
        agent._tells_names = bool(header.get("tells_names", False))
        return agent

    def without_schema(self) -> Self:
        """A copy that takes contexts as ``schema.encode`` makes them: numbers, in their order.

        For contexts that have been encoded already.
        """
        other = copy.copy(self)
        other._reader = ContextReader(self.feature_names, named=True, schema=None)
        other._shape = (self.n_features,)
        return other

    def __reduce__(self) -> Any:
        """A copy is another agent with the same state."""
        return type(self).from_bytes, (self.to_bytes(),)


def _schema(stored: dict[str, Any]) -> Any:
    from greedyfirst.tables.schema import Schema  # pandas takes half a second to import

    return Schema.from_dict(stored)
