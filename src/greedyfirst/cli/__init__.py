"""The command line: thin, every command calls one public function."""

from greedyfirst.cli import (
    bounds,
    diversity,
    evaluate,
    figure,
    keys,
    learn,
    log,
    plan,
    replay,
    serve,
)
from greedyfirst.cli.application import app, main

__all__ = [
    "app",
    "bounds",
    "diversity",
    "evaluate",
    "figure",
    "keys",
    "learn",
    "log",
    "main",
    "plan",
    "replay",
    "serve",
]
