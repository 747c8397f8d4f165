"""Which service owns a policy, where several write one log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol


class Owner(NamedTuple):
    """A service that owns policies: its id, and where other services reach it."""

    id: str
    address: str


class Ownership(Protocol):
    """The policies that this service owns, and who has the others."""

    me: Owner
    #: Of each policy that this service owns: the epoch, which rises with each change of owner.
    epochs: dict[str, int]
    #: Whether this process serves requests; leases are renewed while it does.
    serves: Callable[[], bool]
    #: What a person should know of where the leases are; no names in it.
    warnings: list[str]

    @property
    def policies(self) -> Collection[str]:
        """The policies that have, or had, an owner; as of the last look."""

    def owner(self, policy: str) -> Owner | None:
        """Who has a policy, None if nobody has it any more; as of the last look."""

    def owns(self, policy: str) -> bool:
        """Whether this service may answer for the policy now."""

    def take(self, policy: str) -> bool:
        """Become the owner of a policy; False if another service is."""

    def see(self) -> None:
        """See who has the policies now, and change nothing."""

    def look(self) -> None:
        """See who has the policies; LostLeaseError if another service has one of this one's."""

    def give_back(self) -> None:
        """Renew no lease any more, and let other services take the policies at once."""
