"""The first pulls of each arm, in turns (§3.5: m samples per arm before the first own choice).

Steps 1 … K·m pull arms 0, 1, …, K-1, 0, 1, … . An arm that is added later, at step s, is pulled
at the steps s+1, …, s+m that follow.
"""

from __future__ import annotations

from greedyfirst.compiling.kernels import inline_kernel, kernel
from greedyfirst.compiling.records import Memory, Record, integer, integers
from greedyfirst.validation import FloatArray, IntArray


class InitialPulls(Record):
    """What is planned."""

    #: The number of arms from the start.
    founders: int = integer()
    #: Of an arm that was added: the step after which it is pulled, and how often.
    added_after: IntArray = integers("n_arms")
    pulls: IntArray = integers("n_arms")
    #: The last step planned for an added arm.
    until: int = integer()


def init(memory: Memory, n_arms: int) -> InitialPulls:
    """The plan before the first step."""
    initial = InitialPulls(memory, n_arms=n_arms)
    initial.founders = n_arms
    return initial


@inline_kernel
def due(initial: InitialPulls, pulls: int, step: int, eligible: FloatArray) -> int:
    """The arm that this step must pull, or -1."""
    founders = initial.founders
    if 1 <= step <= founders * pulls:
        arm = (step - 1) % founders
        if eligible[arm] != 0.0:
            return arm
    if step <= initial.until:
        return due_to_added_arm(initial, step, eligible)
    return -1


@kernel
def due_to_added_arm(initial: InitialPulls, step: int, eligible: FloatArray) -> int:
    """The added arm that this step must pull, or -1."""
    for arm in range(initial.founders, eligible.shape[0]):
        after = initial.added_after[arm]
        if after < step <= after + initial.pulls[arm] and eligible[arm] != 0.0:
            return arm
    return -1


def admit(initial: InitialPulls, arm: int, step: int, pulls: int, founders_pulls: int) -> None:
    """Plan the first pulls of an arm added after decision ``step``, behind those planned."""
    first = max(step, initial.until, initial.founders * founders_pulls)
    initial.added_after[arm] = first
    initial.pulls[arm] = pulls
    initial.until = first + pulls


def clear(initial: InitialPulls, founders: int) -> None:
    """Plan afresh for this many arms from the start."""
    initial.founders = founders
    initial.added_after[:] = 0
    initial.pulls[:] = 0
    initial.until = 0
