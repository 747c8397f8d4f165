"""What was changed about rewards after they had come; a deployment that learns again heeds it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Amendments(Struct):
    """Corrected and voided rewards, and decisions whose person's features were erased."""

    #: By decision and part: the value that stands, None for a reward that is void.
    corrected: dict[int, dict[str, float | None]] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)

    def copied(self) -> Amendments:
        """A copy that later changes leave alone."""
        corrected = {step: dict(parts) for step, parts in self.corrected.items()}
        return Amendments(corrected=corrected, erased=set(self.erased))

    def correct(self, step: int, part: str, value: float | None) -> None:
        """From now on this is what the reward was."""
        self.corrected.setdefault(step, {})[part] = value

    def standing(self, step: int, parts: Mapping[str, float]) -> dict[str, float]:
        """The parts of a decision's reward, by the values that stand; void ones are left out."""
        changed = self.corrected.get(step, {})
        amended = {part: changed.get(part, value) for part, value in parts.items()}
        return {part: value for part, value in amended.items() if value is not None}

    def learned(self, step: int, parts: Mapping[str, float]) -> float | None:
        """What is learned from a decision whose reward came in these parts; None for nothing."""
        left = self.standing(step, parts)
        return sum(left.values()) if left else None
