"""What is noticed in a table: notes on what was assumed, and all faults in one error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class TableNote(UserWarning):
    """What was assumed about a table, or left out of it, and the option that changes it.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from greedyfirst.tables import TableNote, infer_schema
    >>> frame = pd.DataFrame({"age": [30, 50], "ward": [4, 4]})
    >>> with warnings.catch_warnings(record=True) as notes:
    ...     warnings.simplefilter("always", TableNote)
    ...     schema = infer_schema(frame)
    >>> print(notes[0].message)
    Left out, since the same in every row: 'ward' (4).
    """


class TableError(ValueError):
    """Why a table cannot be used: every fault that was found, not only the first.

    Examples
    --------
    >>> from greedyfirst.tables import TableError
    >>> print(TableError(["column 'age' is text", "column 'dose' is missing"]))
    2 things stand in the way:
    - column 'age' is text
    - column 'dose' is missing
    """

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        several = f"{len(self.faults)} things stand in the way:"
        super().__init__(faults[0] if len(faults) == 1 else "\n- ".join([several, *self.faults]))


class Faults:
    """Collects the errors of several checks: ``with faults: check()``, then ``raise_all``."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, ValueError):
            return False
        faults = error.faults if isinstance(error, TableError) else (str(error),)
        self._found += [fault for fault in faults if fault not in self._found]
        return True

    def raise_all(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise TableError(self._found)


def note(sentence: str) -> None:
    """Say what was assumed or left out, as a warning."""
    warnings.warn(sentence, TableNote, stacklevel=3)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The notes that are made meanwhile, each once; they are shown as other warnings are."""
    notes: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> None:
            if issubclass(category, TableNote):
                if str(message) in notes:
                    return
                notes.append(str(message))
            show(message, category, *place, **line)

        warnings.showwarning = keep
        warnings.simplefilter("always", TableNote)
        yield notes
