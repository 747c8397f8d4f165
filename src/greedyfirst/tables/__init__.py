"""Tables of named columns: read from files, and encoded as the arrays that policies work on."""

from greedyfirst.tables.findings import TableError, TableNote
from greedyfirst.tables.inference import infer_schema
from greedyfirst.tables.labels import read_labels
from greedyfirst.tables.reading import read_table
from greedyfirst.tables.row_norms import normalise_rows
from greedyfirst.tables.schema import Categorical, Numeric, Schema

__all__ = [
    "Categorical",
    "Numeric",
    "Schema",
    "TableError",
    "TableNote",
    "infer_schema",
    "normalise_rows",
    "read_labels",
    "read_table",
]
