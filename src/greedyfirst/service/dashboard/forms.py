"""Forms that only our own pages can send.

Each has a token made of a secret, which all services on the log share, and the name of the caller's
key. A page of another site can neither read nor guess it. Browsers' own defences stand beside it:
the key's cookie does not travel with requests of other sites, and the middleware refuses their
origin.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from litestar import Request
from litestar.exceptions import PermissionDeniedException

from greedyfirst.service.errors import InvalidError
from greedyfirst.service.http.access import Access, caller_of, check_known
from greedyfirst.service.state.names import check_readable

_LONGEST = {"who": 200, "why": 2000}


def token(request: Request[Any, Any, Any]) -> str:
    """The token of the caller's forms."""
    caller = caller_of(request)
    name = "" if caller is None else caller.name
    access: Access = request.app.state.access
    return hmac.new(access.sessions.form_secret, name.encode(), "sha256").hexdigest()


def new_key() -> str:
    """Of a form that is to count once."""
    return f"form-{secrets.token_urlsafe(16)}"


def signature(fields: dict[str, str]) -> tuple[str, str]:
    """Who sends the form, and why; both must be said."""
    for name, longest in _LONGEST.items():
        text = fields.get(name, "")
        if not text:
            raise InvalidError("Say who you are." if name == "who" else "Say why: others will ask.")
        if len(text) > longest:
            raise InvalidError(f"“{name.capitalize()}” can have {longest} characters at most.")
    check_readable("“Who”", fields["who"])
    return fields["who"], fields["why"]


async def sent(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a form of ours, without blanks around them; others are refused."""
    check_known(request)
    form = await request.form()
    fields = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
    if not hmac.compare_digest(fields.get("token", "").encode(), token(request).encode()):
        raise PermissionDeniedException(
            "This form is out of date: the service or your key has changed since the page was "
            "opened. Nothing was recorded. Open the page again and repeat your answer."
        )
    return fields
