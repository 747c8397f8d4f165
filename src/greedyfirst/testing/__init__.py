"""Checks that every policy must pass: for a script of one's own, and for this package."""

from greedyfirst.testing.checking import check_policy

__all__ = ["check_policy"]
