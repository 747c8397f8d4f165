"""What the service says no to, and with which HTTP status."""

from __future__ import annotations


class Refusal(Exception):
    """A request that cannot be met; nothing has been changed."""

    status = 500

    @property
    def sentence(self) -> str:
        """What was wrong, for the caller."""
        return str(self)


class Invalid(Refusal):
    """What was asked for makes no sense here."""

    status = 422


class Unknown(Refusal):
    """There is nothing of that name."""

    status = 404


class Conflict(Refusal):
    """It contradicts what has been recorded."""

    status = 409


class Unavailable(Refusal):
    """Nothing can be recorded at the moment: the same request may be sent again later."""

    status = 503


class Damaged(ValueError):
    """The log on disk is not what was written; the service does not start on it."""
