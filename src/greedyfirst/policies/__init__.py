"""How an arm is chosen: one algorithm, one file, named as in the literature.

Every module here is imported: a policy joins by the file that defines it.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from greedyfirst.policies.policy import POLICIES, Policy

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["POLICIES", "Policy", *POLICIES]


def __getattr__(name: str) -> Any:
    """A policy by its name."""
    if name in POLICIES:
        return POLICIES[name]
    raise AttributeError(f"module {__name__!r} has no policy {name!r}")
