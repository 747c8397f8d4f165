"""Files of other programs that are not read here, and how to make a table of each."""

from __future__ import annotations

from pathlib import Path

_BY_ENDING = {
    (".xlsx", ".xlsm", ".xls"): "an Excel workbook; in Excel: File, Save As, CSV UTF-8; or with "
    "pandas: read_excel({0!r}).to_csv({1!r}, index=False)",
    (".ods",): "an OpenDocument sheet; in LibreOffice: File, Save As, Text CSV",
    (".sav", ".zsav"): "an SPSS file; in SPSS: File, Save As, CSV; or with pandas and pyreadstat: "
    "read_spss({0!r}).to_csv({1!r}, index=False)",
    (".dta",): "a Stata file; with pandas: read_stata({0!r}).to_csv({1!r}, index=False)",
    (".sas7bdat", ".xpt"): "a SAS file; with pandas: read_sas({0!r}).to_csv({1!r}, index=False)",
    (".rds", ".rdata", ".rda"): "an R file; in R: write.csv(table, {1!r}, row.names = FALSE)",
    (".json",): "JSON; with pandas: read_json({0!r}).to_csv({1!r}, index=False)",
    (".jsonl", ".ndjson"): "JSON lines; with pandas: read_json({0!r}, lines=True).to_csv({1!r}, "
    "index=False)",
    (".feather", ".arrow"): "an Arrow file; with pandas: read_feather({0!r}).to_parquet({2!r})",
    (".zip", ".bz2", ".xz", ".zst", ".7z"): "a compressed file; unpack it, or compress it with "
    "gzip: NAME.csv.gz",
}
_BY_CONTENT = {
    b"PK\x03\x04": (".xlsx", ".zip"),
    b"\xd0\xcf\x11\xe0": (".xls",),
    b"$FL2": (".sav",),
}


def check_format(path: Path, magic: bytes) -> None:
    """Refuse a file of another program, known by its first bytes or its ending."""
    ending = path.suffix.lower()
    for first, endings in _BY_CONTENT.items():
        if magic.startswith(first) and ending not in endings:
            ending = endings[0]
    for endings, what in _BY_ENDING.items():
        if ending in endings:
            csv, parquet = (path.with_suffix(kind).name for kind in (".csv", ".parquet"))
            raise ValueError(f"{path} is {what.format(path.name, csv, parquet)}")
