"""Errors: of requests, each with its HTTP status, and of the log."""

from __future__ import annotations


class RequestError(Exception):
    """A request that is refused; nothing has been changed."""

    status = 500

    @property
    def sentence(self) -> str:
        """What was wrong, for the caller."""
        return str(self)


class BadRequestError(RequestError):
    """A body that is not JSON."""

    status = 400


class InvalidError(RequestError):
    """The request is well formed, but its values are not valid."""

    status = 422


class NotFoundError(RequestError):
    """There is nothing of that name."""

    status = 404


class ConflictError(RequestError):
    """It contradicts what has been recorded."""

    status = 409


class UnavailableError(RequestError):
    """Nothing can be recorded at the moment: the same request may be sent again later."""

    status = 503


class TakenError(UnavailableError):
    """Another service on the same log has the policy."""


class TooManyError(RequestError):
    """The caller has too much under way at a time."""

    status = 429


class DamagedLogError(ValueError):
    """The log on disk is not what was written; the service does not start on it."""


class LogFailedError(OSError):
    """The log could not be written or read; what was to be appended may or may not be in it."""


class LostLeaseError(LogFailedError):
    """A policy has another owner now; nothing of what was to be appended is in the log."""
