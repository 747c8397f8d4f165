"""The arms that policies choose in a process in which nothing is compiled.

There an index past the end of an array is an error, and whole numbers do not overflow: what
compiled code does otherwise is a mistake of the policy.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from greedyfirst.policies.description import describe, from_description
from greedyfirst.policies.policy import Policy
from greedyfirst.testing.trial_runs import (
    draw_trial,
    new_agent,
    play_in_batches,
    play_one_by_one,
)

#: Set in that process, where :func:`greedyfirst.testing.check_policy` has nothing to do.
INSIDE = "GREEDYFIRST_CHECKS_UNCOMPILED"
#: What a script is called in it; its policies' names begin with that.
SCRIPT = "__mp_main__"
SECONDS = 600


def kinds_in(policy: Policy) -> set[type[Policy]]:
    """The classes of a policy and of those among its options."""
    options = (getattr(policy, each.name) for each in fields(policy))
    inner = (kinds_in(each) for each in options if isinstance(each, Policy))
    return {type(policy)}.union(*inner)


def cannot_run(policy: Policy) -> str | None:
    """Why another process cannot find the policy's classes, or None if it can."""
    for kind in kinds_in(policy):
        if "<locals>" in kind.__qualname__:
            return f"{kind.__name__} is defined inside a function"
        if kind.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
            return f"{kind.__name__} is defined in no file"
        if kind.__module__ != "__main__" and importlib.util.find_spec(kind.__module__) is None:
            return f"{kind.__module__}, the module of {kind.__name__}, cannot be imported"
    return None


def uncompiled_arms(
    policies: Iterable[Policy], *, n_arms: int, n_features: int
) -> list[list[list[int]]]:
    """For each policy the arms of a trial, played one by one and in batches: all in one process."""
    listed = list(policies)
    modules = {kind.__module__ for each in listed for kind in kinds_in(each)}
    script = getattr(sys.modules["__main__"], "__file__", None)
    asked = {
        "script": script if "__main__" in modules else None,
        "modules": sorted(modules - {"__main__"}),
        "policies": [describe(each) for each in listed],
        "sizes": {"n_arms": n_arms, "n_features": n_features},
    }
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path, INSIDE: "1"},
        input=json.dumps(asked).replace('"__main__:', f'"{SCRIPT}:'),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stderr.strip().rpartition("\n")[2]
        raise AssertionError(f"uncompiled, where indices are checked, it fails: {reason}")
    found: list[list[list[int]]] = json.loads(done.stdout.rpartition("\n")[2])
    return found


def _answer(asked: dict[str, Any]) -> list[list[list[int]]]:
    if asked["script"] is not None:
        runpy.run_path(asked["script"], run_name=SCRIPT)
    for module in asked["modules"]:
        importlib.import_module(module)
    trial = draw_trial(**asked["sizes"])
    return [
        [
            play(new_agent(policy, **asked["sizes"]), *trial)
            for play in (play_one_by_one, play_in_batches)
        ]
        for policy in map(from_description, asked["policies"])
    ]


if __name__ == "__main__":
    print("\n" + json.dumps(_answer(json.load(sys.stdin))), end="")
