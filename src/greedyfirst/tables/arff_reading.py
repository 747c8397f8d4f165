"""ARFF files, as Weka and OpenML write them, as frames."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd


def read_arff(path: Path, *, encoding: str, compressed: bool) -> pd.DataFrame:
    """The table: numbers as float64, nominal attributes as categories, dates as text.

    Cells that are ``?`` are missing. What SciPy's reader refuses is refused: attributes of free
    text, nominal values that are not ASCII, sparse files.
    """
    from scipy.io.arff import loadarff  # slow to import, and few files need it

    opened = gzip.open if compressed else open
    try:
        with opened(path, "rt", encoding=encoding) as file:
            rows, attributes = loadarff(file)
        columns = {name: _column(rows[name], attributes[name][0]) for name in attributes.names()}
    except Exception as error:  # SciPy raises many kinds on a file that is no ARFF
        reason = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, UnicodeEncodeError):
            reason = "a nominal value is not ASCII"
        raise ValueError(
            f"{path} cannot be read as ARFF ({reason[:80]}); in Weka: Save, as a CSV file"
        ) from None
    return pd.DataFrame(columns)


def _column(cells: np.ndarray, kind: str) -> pd.Series:
    if kind == "nominal":
        texts = [text if (text := cell.decode()) != "?" else None for cell in cells]
        return pd.Series(pd.Categorical(texts))
    if cells.dtype.kind == "M":
        return pd.Series(np.datetime_as_string(cells)).replace("NaT", None)
    return pd.Series(np.asarray(cells, dtype=np.float64))
