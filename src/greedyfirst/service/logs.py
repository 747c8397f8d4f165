"""What the service tells its operators: lines with a time, a level, an event and its fields.

Lines never hold a body, a key or a context.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from greedyfirst.validation import choice

FORMATS, LEVELS = ("text", "json"), ("debug", "info", "warning", "error")
ROOT = "greedyfirst"


@contextmanager
def written(*, form: str, level: str) -> Iterator[None]:
    """Write the service's lines to standard error meanwhile, as ``form`` and from ``level`` on."""
    choice("log_format", form, FORMATS)
    choice("log_level", level, LEVELS)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logger = logging.getLogger(ROOT)
    before = logger.handlers, logger.propagate, logger.level
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.handlers, logger.propagate = before[0], before[1]
        logger.setLevel(before[2])


def _told(record: logging.LogRecord) -> dict[str, Any]:
    """A line as names and values."""
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    line = {
        "time": f"{seconds}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "event": getattr(record, "event", "message"),
        "message": record.getMessage(),
        **getattr(record, "fields", {}),
    }
    if record.exc_info:
        line["traceback"] = logging.Formatter().formatException(record.exc_info)
    return line


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return msgspec.json.encode(_told(record)).decode()


class TextLines(logging.Formatter):
    """For people: time, level, event, message, fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback follows it."""
        told = _told(record)
        head = " ".join(str(told.pop(name)) for name in ("time", "level", "event", "message"))
        traceback = told.pop("traceback", None)
        fields = "".join(f" {name}={value}" for name, value in told.items())
        # A line stays a line, whatever a name in it holds.
        line = (head + fields).replace("\n", "\\n").replace("\r", "\\r")
        return line if traceback is None else f"{line}\n{traceback}"
