"""What a policy is: a class of options with kernels, which joins everything by being defined.

A **policy** is an immutable record of options: a frozen, keyword-only dataclass derived from
:class:`Policy`, in this package or in a script of your own. It has three static methods:

``init(policy, n_arms, n_features, memory) -> state``
    the state before the first decision: a :class:`~greedyfirst.compiling.records.Record` with
    ``scores`` (:class:`~greedyfirst.policies.selection.Scores`) and, if it learns estimates, a
    ``model`` with the arms' ``pulls``, ``gram`` and ``estimate``; plain Python;
``score(policy, state, step, context, eligible) -> arm``
    the arm that decision ``step`` (1, 2, …) must take, or -1 and scores in ``state.scores`` to
    select from; ``eligible`` is 1 for arms that may be chosen; changes nothing but scratch, and
    draws nothing: what is random are the scores' draws, or probabilities that it states;
``update(policy, state, step, context, arm, reward)``
    learn, in place; ``step`` is the decision's, ``FOREIGN`` for a row that the policy did not
    decide, ``SUMMARY`` for one that stands for many others (same Gram matrix and moments).

``policy`` are the options as :meth:`Policy.options` gives them, by name. With ``@kernel`` above
them ``score`` and ``update`` are compiled; without it they run as plain Python, in an agent and,
slowly, in a simulation. ``docs/skeleton_policy.py`` is an example to copy, and
:func:`greedyfirst.testing.check_policy` finds mistakes in a policy.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from greedyfirst.compiling.families import Family, generic, has_kernels, options_of
from greedyfirst.compiling.records import Memory, Options
from greedyfirst.links import Identity, Link
from greedyfirst.validation import FloatArray

if TYPE_CHECKING:
    from greedyfirst.policies.greedy_first.watch import Watch

FOREIGN, SUMMARY = 0, -1

#: All policies by name, filled by their definitions; those from elsewhere as "module:name".
POLICIES: dict[str, type[Policy]] = {}
_PACKAGE = __name__.partition(".")[0]
_NUMBERS = {"int": int, "float": float, "bool": bool}


@dataclass(frozen=True, kw_only=True)
class Policy(Family):
    """Options; no state and no randomness.

    Examples
    --------
    A policy is a record of options. Its state is elsewhere, so one policy serves many agents.

    >>> from greedyfirst import Greedy
    >>> Greedy(initial_pulls=2) == Greedy(initial_pulls=2)
    True
    >>> Greedy.registered_name()
    'Greedy'
    """

    #: Whether its estimates alone decide, so that an arm without samples would never be found out.
    exploits: ClassVar[bool] = False
    #: Whether it keeps a watch over its arms' samples: see :meth:`watch`.
    watches: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class whose options are none, since it is no dataclass."""
        for each in cls.__mro__[: cls.__mro__.index(Policy)]:
            stated = inspect.get_annotations(each).items()
            options = [name for name, kind in stated if "ClassVar" not in str(kind)]
            if options and issubclass(each, Policy) and "__dataclass_fields__" not in vars(each):
                said = f"{each.__name__} has the options {', '.join(options)}, but is no dataclass"
                raise TypeError(f"{said}: write @dataclass(frozen=True, kw_only=True) above it")
        return super().__new__(cls)

    def __init_subclass__(cls) -> None:
        """Enter the table of policies."""
        super().__init_subclass__()
        POLICIES[cls.registered_name()] = cls
        if "__repr__" not in cls.__dict__:  # or dataclass would write one with every option
            cls.__repr__ = Policy.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The options that differ from their defaults."""
        options = ((each, repr(getattr(self, each.name))) for each in fields(self))
        changed = [f"{each.name}={text}" for each, text in options if text != repr(each.default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    @classmethod
    def registered_name(cls) -> str:
        """The name under which files and settings know it."""
        own = cls.__module__.partition(".")[0] == _PACKAGE
        return cls.__name__ if own else f"{cls.__module__}:{cls.__qualname__}"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Policies with every option varied, for the checks that each policy must pass."""
        return [cls()]

    def options(self, n_arms: int, n_features: int) -> Options:
        """The options as kernels take them, with defaults that depend on the problem set."""
        return options_of(type(self), self.option_values(n_arms, n_features))

    def option_values(self, n_arms: int, n_features: int) -> dict[str, Any]:
        """The options as numbers, flags, arrays or other options, by name."""
        return {
            each.name: _NUMBERS.get(str(each.type), _same)(getattr(self, each.name))
            for each in fields(self)
        }

    def reward_link(self) -> type[Link]:
        """The link under which it learns: it says which rewards are possible."""
        return Identity

    def learns_prior(self) -> bool:
        """Whether it learns a prior from all rewards: a summary of them would mislead it."""
        return False

    def needs_truth(self) -> bool:
        """Whether it must be told the true parameters of each instance."""
        return False

    def informed(self, parameters: FloatArray) -> Policy:
        """The policy for an instance with these true parameters (n_arms, n_features)."""
        return self

    def watch(self, state: Any) -> Watch | None:
        """The watch over its arms' samples, if it keeps one."""
        return None

    def answers(self) -> tuple[str, ...]:
        """The answers to its alarms that it can carry out, by name."""
        return ()

    def answering(self, on_alarm: str) -> Policy:
        """The policy with this answer to its alarms, if it raises any."""
        return self

    def untested_rounds(self, n_arms: int, n_features: int) -> int:
        """The rounds before it tests its arms' samples, if it does."""
        return 0

    @classmethod
    def is_compiled(cls) -> bool:
        """Whether its kernels are kernels; else it runs as plain Python."""
        return has_kernels(cls, "score", "update")

    # ------------------------------------------------------------------------------- the kernels

    @staticmethod
    def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> Any:
        """The state before the first decision."""
        raise NotImplementedError

    @staticmethod
    def score(policy: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray) -> int:
        """The arm that must be taken, or -1 and scores."""
        raise NotImplementedError

    @staticmethod
    def update(
        policy: Any, state: Any, step: int, context: FloatArray, arm: int, reward: float
    ) -> None:
        """Learn."""
        raise NotImplementedError


def _same(value: Any) -> Any:
    return value


@generic
def init(policy: Any, n_arms: int, n_features: int, memory: Memory) -> Any:
    """The policy's state before the first decision, in ``memory``."""


@generic
def score(policy: Any, state: Any, step: int, context: FloatArray, eligible: FloatArray) -> int:
    """The arm that decision ``step`` must take, or -1 and scores in the state."""
    raise NotImplementedError


@generic
def update(
    policy: Any, state: Any, step: int, context: FloatArray, arm: int, reward: float
) -> None:
    """Learn from the reward of decision ``step``, or of a foreign or summary row."""
