"""The first pulls of each arm, in turns (§3.5: m samples per arm before the first own choice).

Steps 1 … K·m pull arms 0, 1, …, K-1, 0, 1, … . An arm that is added later, at step s, is pulled
at the steps s+1, …, s+m that follow.
"""

from __future__ import annotations

from greedyfirst.compilation import inline_kernel, rare_kernel
from greedyfirst.memory import Memory
from greedyfirst.validation import FloatArray

# Per arm: the step after which it is pulled and how often, if it was added; in all rows alike: the
# last step planned for an added arm, and the number of arms from the start.
BORN, PULLS, UNTIL, FOUNDERS = range(4)


def init(memory: Memory, n_arms: int) -> FloatArray:
    """The state (n_arms, 4)."""
    initial = memory.take(n_arms, 4)
    initial[:, FOUNDERS] = n_arms
    return initial


@inline_kernel
def due(initial: FloatArray, pulls: int, step: int, eligible: FloatArray) -> int:
    """The arm that this step must pull, or -1."""
    founders = int(initial[0, FOUNDERS])
    if 1 <= step <= founders * pulls:
        arm = (step - 1) % founders
        if eligible[arm] != 0.0:
            return arm
    if step <= initial[0, UNTIL]:
        return due_to_added_arm(initial, step, eligible)
    return -1


@rare_kernel
def due_to_added_arm(initial: FloatArray, step: int, eligible: FloatArray) -> int:
    """The added arm that this step must pull, or -1."""
    for arm in range(int(initial[0, FOUNDERS]), eligible.shape[0]):
        born = initial[arm, BORN]
        if born < step <= born + initial[arm, PULLS] and eligible[arm] != 0.0:
            return arm
    return -1


def admit(initial: FloatArray, arm: int, step: int, pulls: int, founders_pulls: int) -> None:
    """Plan the first pulls of an arm added after decision ``step``, behind those planned."""
    initial[:, FOUNDERS] = initial[0, FOUNDERS]
    first = max(step, int(initial[0, UNTIL]), int(initial[0, FOUNDERS]) * founders_pulls)
    initial[arm, BORN] = first
    initial[arm, PULLS] = pulls
    initial[:, UNTIL] = first + pulls
