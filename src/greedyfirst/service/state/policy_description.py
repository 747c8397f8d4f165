"""A policy of the library as a specification describes it, and the control share beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from greedyfirst.policies import Policy
from greedyfirst.policies.description import describe, from_description
from greedyfirst.service.errors import InvalidError

Share = Annotated[float, Meta(ge=0.001, le=0.999)]


class PolicyDescription(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy of the library by its name, with its options.

    Options that a request leaves out are recorded as they are in the release that it was sent to.
    """

    policy: str = "GreedyFirst"
    options: dict[str, Any] = {}

    def made(self) -> Policy:
        """The policy itself; an error says what is wrong with its description."""
        _check_numbers(self.options)
        try:
            policy = from_description(msgspec.to_builtins(self))
        except ValueError as error:
            raise InvalidError(str(error)) from None
        if policy.needs_truth():
            raise InvalidError(f"policy {self.policy} must know the truth, which no service does")
        return policy

    def written_out(self, policy: Policy) -> PolicyDescription:
        """With every option of ``policy``, which it described: no later default can change it."""
        try:
            described = msgspec.json.decode(msgspec.json.encode(describe(policy)))
        except TypeError as error:
            raise InvalidError(
                f"policy {self.policy} has an option that JSON cannot hold: {error}"
            ) from None
        written = PolicyDescription(**described)
        if written.made() != policy:
            raise InvalidError(f"policy {self.policy} has an option that JSON cannot hold")
        return written

    def without_answer(self) -> PolicyDescription:
        """Without the option that says how alarms are answered."""
        options = {name: each for name, each in self.options.items() if name != "on_alarm"}
        return msgspec.structs.replace(self, options=options)


class Control(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A random share of decisions goes to current practice: an arm, or a policy of its own."""

    share: Share
    arm: str | None = None
    #: It learns from its own share alone; nobody answers its alarms.
    policy: PolicyDescription | None = None
    #: Whether the policy learns from the rewards of the control group too.
    learn: bool = False

    def check(self, arms: Sequence[str]) -> None:
        """Refuse what could not run."""
        if (self.arm is None) == (self.policy is None):
            raise InvalidError("control must have an arm or a policy: what current practice is")
        if self.arm is not None and self.arm not in arms:
            raise InvalidError(f"control.arm must be one of {', '.join(arms)}, got {self.arm!r}")
        if self.policy is not None and self.policy.options.get("on_alarm") == "drop":
            raise InvalidError("control.policy must not drop arms by itself: on_alarm is 'drop'")

    def written_out(self) -> Control:
        """The same, with every option of its policy."""
        if self.policy is None:
            return self
        try:
            written = self.policy.written_out(self.policy.made())
        except InvalidError as error:
            raise InvalidError(f"control: {error}") from None
        return msgspec.structs.replace(self, policy=written)


def _check_numbers(option: Any) -> None:
    """Refuse whole numbers in options that kernels could not count with."""
    if isinstance(option, dict):
        for value in option.values():
            _check_numbers(value)
    elif isinstance(option, int) and abs(option) > 2**53:
        raise InvalidError(
            f"policy.options must have numbers of at most 2^53 in size, got {option}"
        )
