"""What an answer to an alarm is, and the table of all of them.

An answer is one file: a class that joins by being defined. Its name is then a value of
``GreedyFirst(on_alarm=...)``, and what a person may answer in the service. What the policy does by
itself is a kernel, :meth:`Answer.answer_alarm`; what it does when a person asks for it is
:meth:`Answer.apply`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from greedyfirst.compiling.families import Family, generic

if TYPE_CHECKING:
    from greedyfirst.policies.greedy_first.phases import Deciding

#: The answers by name, filled by their definitions.
ANSWERS: dict[str, type[Answer]] = {}


class Answer(Family):
    """An answer to an alarm, in deeds and in words."""

    name: ClassVar[str]
    #: What was done, in a sentence about a person's answer and about the policy's own.
    done: ClassVar[str]
    done_by_itself: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Enter the table."""
        super().__init_subclass__()
        ANSWERS[cls.name] = cls

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Do what a person answered about this arm."""
        raise NotImplementedError


@generic
def answer_alarm(answer: Any, watch: Any, arm: int) -> bool:
    """What the policy does by itself at an alarm; True if the fallback is to decide from now on."""
    raise NotImplementedError
