"""What may go wrong when the service is asked for something."""

from __future__ import annotations


class ServiceError(Exception):
    """An answer that is a refusal, or no answer at all.

    ``status`` is the HTTP status, None without an answer; ``sentence`` says what was wrong.

    Examples
    --------
    >>> from greedyfirst.client import ServiceError
    >>> error = ServiceError(404, "there is no policy 'dosing'")
    >>> error.status, str(error)
    (404, "there is no policy 'dosing' (status 404)")
    """

    def __init__(self, status: int | None, sentence: str) -> None:
        super().__init__(sentence if status is None else f"{sentence} (status {status})")
        self.status, self.sentence = status, sentence


class InvalidError(ServiceError):
    """What was sent makes no sense to the service (400, 413, 422).

    Examples
    --------
    >>> from greedyfirst.client import InvalidError, ServiceError
    >>> issubclass(InvalidError, ServiceError)
    True
    """


class NotAllowedError(ServiceError):
    """The key is missing, unknown, or may not do this (401, 403).

    Examples
    --------
    >>> from greedyfirst.client import NotAllowedError
    >>> str(NotAllowedError(403, "the key may not do this"))
    'the key may not do this (status 403)'
    """


class NotFoundError(ServiceError):
    """There is nothing of that name (404).

    Examples
    --------
    >>> from greedyfirst.client import NotFoundError
    >>> NotFoundError(404, "there is no policy 'dosing'").sentence
    "there is no policy 'dosing'"
    """


class ConflictError(ServiceError):
    """It contradicts what has been recorded (409).

    Examples
    --------
    >>> from greedyfirst.client import ConflictError
    >>> ConflictError(409, "the decision has another reward").status
    409
    """


class UnavailableError(ServiceError):
    """No answer, or "again" (408, 429, 503), at every try; it may or may not have been recorded.

    Examples
    --------
    Nothing listens on port 9, so there is no answer and no status:

    >>> from greedyfirst.client import Client, UnavailableError
    >>> client = Client("http://127.0.0.1:9", retries=0)
    >>> try:
    ...     client.policy("dosing")
    ... except UnavailableError as error:
    ...     print(error.status)
    None
    """


#: The class of each status.
BY_STATUS: dict[int, type[ServiceError]] = {
    400: InvalidError,
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    408: UnavailableError,
    409: ConflictError,
    413: InvalidError,
    422: InvalidError,
    429: UnavailableError,
    503: UnavailableError,
}
