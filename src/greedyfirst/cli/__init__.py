"""The command line: thin, every command calls one public function."""

from greedyfirst.cli import (
    bounds,
    diversity,
    doctor,
    evaluate,
    figure,
    keys,
    learn,
    log,
    plan,
    protocol,
    replay,
    serve,
)
from greedyfirst.cli.application import app, main

__all__ = [
    "app",
    "bounds",
    "diversity",
    "doctor",
    "evaluate",
    "figure",
    "keys",
    "learn",
    "log",
    "main",
    "plan",
    "protocol",
    "replay",
    "serve",
]
