"""The first pulls of each arm, in turns (§3.5: m samples per arm before the first own choice).

Steps 1 … K·m pull arms 0, 1, …, K-1, 0, 1, … . An arm that is added later, at step s, is pulled
at the steps s+1, …, s+m that follow.
"""

from __future__ import annotations

from greedyfirst.compilation import inline_kernel, kernel
from greedyfirst.memory import Memory
from greedyfirst.validation import FloatArray

# Per arm: the step at which it was added (0 for those from the start), its own number of pulls
# then, and the last step planned for any added arm (the same in all rows).
BORN, PULLS, UNTIL = range(3)


def init(memory: Memory, n_arms: int) -> FloatArray:
    """The state (n_arms, 3)."""
    return memory.take(n_arms, 3)


@inline_kernel
def due(initial: FloatArray, pulls: int, step: int, eligible: FloatArray) -> int:
    """The arm that this step must pull, or -1."""
    n_arms = len(eligible)
    if 1 <= step <= n_arms * pulls:
        arm = (step - 1) % n_arms
        if eligible[arm] != 0.0 and initial[arm, BORN] == 0.0:
            return arm
    if step <= initial[0, UNTIL]:
        return due_to_added_arm(initial, step, eligible)
    return -1


@kernel
def due_to_added_arm(initial: FloatArray, step: int, eligible: FloatArray) -> int:
    """The added arm that this step must pull, or -1."""
    for arm in range(eligible.shape[0]):
        born = initial[arm, BORN]
        if born > 0.0 and born < step <= born + initial[arm, PULLS] and eligible[arm] != 0.0:
            return arm
    return -1


def admit(initial: FloatArray, arm: int, step: int, pulls: int) -> None:
    """Plan the first pulls of an arm added after decision ``step``, behind those planned."""
    first = max(step, int(initial[0, UNTIL]))
    initial[arm, BORN] = first
    initial[arm, PULLS] = pulls
    initial[:, UNTIL] = first + pulls
