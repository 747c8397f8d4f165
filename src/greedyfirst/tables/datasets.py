"""Tables by name: the paper's four, and those that come with scikit-learn."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from greedyfirst.files.atomic_write import atomic_write
from greedyfirst.files.user_cache import user_cache
from greedyfirst.tables.reading import read_table


class DataSet(NamedTuple):
    """A table that is known by name."""

    #: The column of classes.
    label: str
    #: Its number at OpenML, None where it is not there.
    openml: int | None = None
    #: scikit-learn's function that loads it, for those that come with it.
    bundled: str | None = None
    #: Whether its file has a line of names.
    header: bool = True
    #: Where to get it, where no program can.
    instructions: str = ""


WARFARIN_INSTRUCTIONS = (
    "get the International Warfarin Pharmacogenetics Consortium's data from PharmGKB, encode it as "
    "numbers with the dose class in the last column and no header, and save it as warfarin.csv"
)
#: By name. The paper's files have their class in the last column.
DATA_SETS = {
    "eeg": DataSet("Class", openml=1471),
    "eye_movements": DataSet("label", openml=1044),
    "cardiotocography": DataSet("Class", openml=1560),
    "warfarin": DataSet("", header=False, instructions=WARFARIN_INSTRUCTIONS),
    "breast_cancer": DataSet("target", bundled="load_breast_cancer"),
    "wine": DataSet("target", bundled="load_wine"),
    "iris": DataSet("target", bundled="load_iris"),
    "digits": DataSet("target", bundled="load_digits"),
}
ENVIRONMENT = "GREEDYFIRST_DATA"


def load_data_set(name: str, *, directory: Path | None = None) -> tuple[pd.DataFrame, str]:
    """A table that is known by name, and its column of classes.

    The paper's are looked for as NAME.csv in ``directory``, in $GREEDYFIRST_DATA and in the user's
    cache; if they are in none of them, OpenML is asked, which needs the network.
    """
    known = DATA_SETS[name]
    if known.bundled is not None:
        return _bundled(name, known), known.label
    for place in _places(directory):
        file = place / f"{name}.csv"
        if file.exists():
            frame = read_table(file, header=known.header)
            return frame, str(frame.columns[-1])
    if known.openml is None:
        raise ValueError(
            f"{name} is not here: {known.instructions} in --data-dir, in ${ENVIRONMENT} or in "
            f"{_cache()}"
        )
    return _from_openml(name, known), known.label


def _cache() -> Path:
    return user_cache() / "data"


def _places(directory: Path | None) -> list[Path]:
    named = os.environ.get(ENVIRONMENT)
    return [
        *([] if directory is None else [directory]),
        *([Path(named)] if named else []),
        _cache(),
    ]


def _bundled(name: str, known: DataSet) -> pd.DataFrame:
    loaded = getattr(_sklearn_datasets(name), str(known.bundled))(as_frame=True)
    frame: pd.DataFrame = loaded.frame
    classes = getattr(loaded, "target_names", None)
    if classes is not None:
        frame = frame.assign(target=[str(classes[code]) for code in frame["target"]])
    varies = frame.nunique() > 1
    return frame.loc[:, varies]


def _from_openml(name: str, known: DataSet) -> pd.DataFrame:
    """Ask OpenML, and keep the answer in the user's cache."""
    fetch = _sklearn_datasets(name).fetch_openml
    try:
        with warnings.catch_warnings():  # of each attempt that fails
            warnings.simplefilter("ignore")
            # Kept here and not in scikit-learn's cache, which may be in a place without access.
            loaded = fetch(data_id=known.openml, as_frame=True, parser="auto", cache=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{name} is not here and OpenML (data set {known.openml}) does not answer "
            f"({type(error).__name__}): put {name}.csv into --data-dir, ${ENVIRONMENT} or "
            f"{_cache()}"
        ) from None
    frame: pd.DataFrame = loaded.data.assign(**{known.label: loaded.target})
    _keep(frame, _cache() / f"{name}.csv")
    return frame


def _keep(frame: pd.DataFrame, path: Path) -> None:
    """Write a download at once, whole or not at all; without a place for it the work goes on."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            frame.to_csv(temporary, index=False)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        warnings.warn(
            f"the download cannot be kept as {path} ({reason}) and will be asked for again",
            stacklevel=4,
        )


def _sklearn_datasets(name: str):  # type: ignore[no-untyped-def]
    try:
        from sklearn import datasets
    except ImportError:
        raise ValueError(
            f"{name} comes with scikit-learn, which is not installed: pip install greedyfirst[data]"
        ) from None
    return datasets
