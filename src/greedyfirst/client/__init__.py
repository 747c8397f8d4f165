"""A client of the decision service, made of the standard library alone.

Every call that changes something can be sent again without being counted twice: it takes one
idempotency key and keeps it through all its tries.
"""

from greedyfirst.client.client import Client, Decision
from greedyfirst.client.errors import (
    ConflictError,
    InvalidError,
    NotAllowedError,
    NotFoundError,
    ServiceError,
    UnavailableError,
)

__all__ = [
    "Client",
    "ConflictError",
    "Decision",
    "InvalidError",
    "NotAllowedError",
    "NotFoundError",
    "ServiceError",
    "UnavailableError",
]
