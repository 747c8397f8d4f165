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
    """An answer to an alarm, in deeds and in words.

    Examples
    --------
    >>> from greedyfirst.policies.greedy_first import ANSWERS
    >>> list(ANSWERS)
    ['explore_arm', 'explore', 'drop', 'hold']
    """

    name: ClassVar[str]
    #: Where it stands in lists of answers.
    order: ClassVar[int]
    #: Whether it explores the arm alone, while that starves.
    explores_arm: ClassVar[bool] = False
    #: Whether all arms are explored after it.
    begins_exploring: ClassVar[bool] = False
    #: Whether the arm is never chosen again.
    drops_arm: ClassVar[bool] = False
    #: Whether it leaves the alarm to a person, when the policy gives it by itself.
    leaves_open: ClassVar[bool] = False
    #: What lists of events say when a person gave the answer, and when the policy did.
    resolved: ClassVar[str]
    answered: ClassVar[str]
    #: What forms say: the choice and what it means, where ``{arm}`` is the arm's name.
    choice: ClassVar[str]
    meaning: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Enter the table."""
        super().__init_subclass__()
        ANSWERS[cls.name] = cls
        in_order = sorted(ANSWERS.items(), key=lambda item: item[1].order)
        ANSWERS.clear()
        ANSWERS.update(in_order)

    @staticmethod
    def apply(agent: Deciding, arm: int) -> None:
        """Do what a person answered about this arm."""
        raise NotImplementedError


@generic
def answer_alarm(answer: Any, watch: Any, arm: int) -> None:
    """What the policy does by itself at an alarm; all arms explore after ``watch.explores``."""
    raise NotImplementedError
