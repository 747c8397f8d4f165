"""Files that pages refer to, kept by browsers until their content changes."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from greedyfirst.service.errors import NotFoundError

#: Name: the package that has it, its place there, and what it is.
_ASSETS = {
    "style.css": ("greedyfirst.service.dashboard", "static/style.css", "text/css"),
    "plotly.css": ("greedyfirst.service.dashboard", "static/plotly.css", "text/css"),
    "charts.js": ("greedyfirst.service.dashboard", "static/charts.js", "text/javascript"),
    "scroll.js": ("greedyfirst.service.dashboard", "static/scroll.js", "text/javascript"),
    "icon.svg": ("greedyfirst.service.dashboard", "static/icon.svg", "image/svg+xml"),
    "plotly.js": ("plotly", "package_data/plotly.min.js", "text/javascript"),
}
_FOR_EVER = "public, max-age=31536000, immutable"


@cache
def _content(name: str) -> bytes:
    package, place, _ = _ASSETS[name]
    return files(package).joinpath(place).read_bytes()


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(_content(name), mtime=0)


@cache
def address(name: str) -> str:
    """Where a page finds the asset; another content has another address."""
    return f"/static/{name}?v={hashlib.sha256(_content(name)).hexdigest()[:12]}"


@cache
def plotly_styles() -> tuple[str, ...]:
    """Ids of the styles that plotly.js adds to a page, which the security policy forbids.

    It adds none where an element has the id. They are for maps, of which there are none here.
    """
    found = re.findall(rb'getElementById\("([0-9a-f]{64})"\)', _content("plotly.js"))
    return tuple(sorted({name.decode() for name in found}))


@get("/static/{name:str}")
async def asset(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
    """An asset; no key is needed for it."""
    if name not in _ASSETS:
        raise NotFoundError(f"there is no file {name!r}")
    headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
    content = _content
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        content = _compressed
    body = await asyncio.to_thread(content, name)
    return Response(body, media_type=_ASSETS[name][2], headers=headers)
