"""Forms that only our own pages can send.

Each has a token made of a secret of this process and the name of the caller's key. A page of
another site can neither read nor guess it. Browsers' own defences stand beside it: the key's cookie
does not travel with requests of other sites, and the middleware refuses their origin.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from litestar import Request
from litestar.exceptions import PermissionDeniedException

from greedyfirst.service.http.middleware import caller_of

_SECRET = secrets.token_bytes(32)


def token(request: Request[Any, Any, Any]) -> str:
    """The token of the caller's forms."""
    caller = caller_of(request)
    name = "" if caller is None else caller.name
    return hmac.new(_SECRET, name.encode(), "sha256").hexdigest()


async def sent(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a form of ours, without blanks around them; others are refused."""
    form = await request.form()
    fields = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    if not hmac.compare_digest(fields.get("token", "").encode(), token(request).encode()):
        raise PermissionDeniedException(
            "This form is out of date: the service or your key has changed since the page was "
            "opened. Nothing was recorded. Open the page again and repeat your answer."
        )
    return fields
