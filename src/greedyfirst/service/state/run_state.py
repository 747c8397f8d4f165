"""Whether a deployment runs, is paused or closed, and who said so."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from greedyfirst.service.errors import ConflictError
from greedyfirst.service.log.events import RunState, StateChanged


class Standing(Struct, frozen=True, kw_only=True):
    """How a deployment stands since a time; a new one runs, and nobody said so."""

    state: RunState = "running"
    at: float = 0.0
    who: str = ""
    why: str = ""

    def sentence(self, policy: str) -> str:
        """Who stopped it, when and why."""
        when = datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"policy {policy} was {self.state} by {self.who} on {when}: {self.why}"

    def check_change(self, policy: str, changed: StateChanged) -> None:
        """Refuse a change that is so already, and any once it is closed."""
        if self.state == "closed":
            raise ConflictError(f"{self.sentence(policy)}; that is final")
        if self.state == changed.state:
            already = self.sentence(policy) if self.at else f"policy {policy} is {self.state}"
            raise ConflictError(f"{already}; nothing to change")

    @staticmethod
    def after(changed: StateChanged, at: float) -> Standing:
        """How it stands after a person's change."""
        return Standing(state=changed.state, at=at, who=changed.who, why=changed.why)
