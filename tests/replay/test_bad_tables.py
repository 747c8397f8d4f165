"""Tables that cannot be replayed: one sentence each from the command, exit code 2, no files."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from greedyfirst.cli import main

LONG = 100_000_000  # bytes of one cell
GOOD = b"a,dose\n" + b"1,x\n2,y\n3,x\n4,y\n"
GARBAGE = np.random.default_rng(0).integers(0, 256, size=5000).astype(np.uint8).tobytes()


@pytest.fixture
def refusal(tmp_path, monkeypatch, capsys):
    """The command's one sentence; neither files nor their directory are left."""

    def run(table, *arguments):
        out = tmp_path / "new" / "figures"
        words = ["greedyfirst", "replay", table, "--permutations", 1, "--out", out, *arguments]
        monkeypatch.setattr("sys.argv", [*map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert (end.value.code, said.out) == (2, "")
        first, *others = said.err.splitlines()
        assert all(line.startswith("- ") for line in others)
        assert all(len(line) < 300 + len(str(table)) for line in (first, *others))
        assert not (tmp_path / "new").exists()
        return said.err.strip()

    return run


TABLES = {
    "empty": (b"", "is empty"),
    "header only": (b"a,dose\n", "has a header but no rows"),
    "one row": (b"a,dose\n1,x\n", "at least two classes"),
    "one class": (b"a,dose\n1,x\n2,x\n", "at least two classes, got ('x',)"),
    "a class per row": (
        b"a,dose\n" + b"".join(b"%d,p%d\n" % (i, i) for i in range(9)),
        "has 9 different values in 9 rows",
    ),
    "missing class": (b"a,dose\n1,x\n2,\n3,y\n", "missing values in 1 row, first in data row 2"),
    "constant columns": (b"a,b,dose\n1,5,x\n1,5,y\n", "'a' (1), 'b' (5) never changes"),
    "only classes": (b"dose\nx\ny\nx\n", "no column is left as a feature beside 'dose'"),
    "text among numbers": (
        b"a,dose\n1,x\n2,y\n3,y\nred,x\n5,x\n",
        "column 'a', data row 4 is 'red', expected a number",
    ),
    "identifier": (
        b"n,dose\n" + b"".join(b"id%d,%d\n" % (i, i % 2) for i in range(9)),
        "column 'n' has 9 different values in 9 rows",
    ),
    "ragged row": (b"a,dose\n1,x\n2\n", "data row 2 has 1 cell, the first line has 2"),
    "same names": (b"a,a,dose\n1,2,x\n2,3,y\n", "columns 1 and 2 are both named 'a'"),
    "missing number": (b"a,dose\n1,x\nnan,y\n3,y\n", "'a' has missing values in 1 row"),
    "infinity": (b"a,dose\n1,x\n-inf,y\n3,y\n", "data row 2 must be a finite number, got -inf"),
    "number out of range": (b"a,dose\n1,x\n1e400,y\n3,y\n", "must be a finite number, got inf"),
    "integer out of range": (
        b"a,dose\n1,x\n1" + b"0" * 400 + b",y\n3,y\n",
        "data row 2 must be a finite number, got inf",
    ),
    "squares out of range": (
        b"a,dose\n1e200,x\n2,y\n3,x\n4,y\n",
        "column 'a' has values up to 1e+200, whose squares are not finite",
    ),
    "milliseconds since 1970": (
        b"visit,x,dose\n1645297717000,1,x\n1672500582000,-1,y\n1682500582000,1,x\n",
        "column 'visit' is 2e+12 times larger than 'intercept': give standardise=True",
    ),
    "squares that vanish": (
        b"a,b,dose\n1e-200,1,x\n2e-200,2,y\n3e-200,1,x\n4e-200,2,y\n",
        "column 'b' is 6e+199 times larger than 'a'",
    ),
    "open quote": (b'a,dose\n1,x\n2,"y\n3,x\n', "quotation mark that is never closed"),
    "garbage": (GARBAGE, "is not UTF-8 text"),
    "zeros": (b"\0" * 3000, "is not UTF-8 text"),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-le"), "is not UTF-8 text"),
    "long class": (b"a,dose\n1,x\n2," + b"y" * 5000 + b"\n", "data row 2 has 5000 characters"),
    "huge cell": (b"a,dose\n1,x\n" + b"z" * LONG + b",y\n", "data row 2 has more than 4 MB"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables(case, tmp_path, refusal):
    content, expected = TABLES[case]
    (tmp_path / "t.csv").write_bytes(content)
    assert expected in refusal(tmp_path / "t.csv", "--label", "dose")


OPTIONS = {
    "no such label": (["--label", "dosis"], "label must be the name of a column (close: 'dose')"),
    "no label": ([], "--label must be the name of the column of classes"),
    "no orders": (["--label", "dose", "--permutations", "0"], "--permutations"),
    "no such column": (["--label", "dose", "--drop", "b"], "drop must be the name of a column"),
    "no such filling": (["--label", "dose", "--impute", "zero"], "impute must be one of"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options(case, tmp_path, refusal):
    arguments, expected = OPTIONS[case]
    (tmp_path / "t.csv").write_bytes(GOOD)
    assert expected in refusal(tmp_path / "t.csv", *arguments)


FILES = {
    "not Parquet": ("t.parquet", GOOD, "is not a Parquet file"),
    "damaged Parquet": ("t.parquet", b"PAR1 rubbish PAR1", "is a damaged Parquet file"),
    "not gzip": ("t.csv.gz", GOOD, "not a gzip file"),
    "half of a gzip": ("t.csv.gz", gzip.compress(GOOD * 1000)[:-20], "is damaged"),
    "Excel": ("t.xlsx", b"PK\x03\x04", "is an Excel workbook; in Excel: File, Save As, CSV UTF-8"),
    "unknown ending": ("t.doc", b"a\n1\n2\n", "has no ending that is known"),
}


@pytest.mark.parametrize("case", FILES)
def test_files(case, tmp_path, refusal):
    name, content, expected = FILES[case]
    (tmp_path / name).write_bytes(content)
    assert expected in refusal(tmp_path / name, "--label", "dose")


def test_no_file(tmp_path, refusal):
    assert "is a directory" in refusal(tmp_path, "--label", "dose")
    assert "does not exist" in refusal(tmp_path / "none.csv", "--label", "dose")


def test_no_permission(tmp_path, refusal, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "t.csv").write_bytes(GOOD)
    monkeypatch.setattr("greedyfirst.tables.reading.open", refuse, raising=False)
    assert refusal(tmp_path / "t.csv", "--label", "dose").endswith("t.csv: permission denied")


def test_huge_cells_of_a_parquet_file(tmp_path, refusal):
    huge, path = "y" * (LONG // 10), tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "dose": ["x", "y", "x", huge]}), path)
    assert "column 'dose', data row 4 has 10000000 characters" in refusal(path, "--label", "dose")
    cells = {"a": ["1", "2", "3", huge], "dose": ["x", "y", "x", "y"]}
    pq.write_table(pa.table(cells), path)
    assert "column 'a', data row 4 has 10000000 characters" in refusal(path, "--label", "dose")


def test_a_row_of_zeros_has_no_length(tmp_path, refusal):
    (tmp_path / "t.csv").write_bytes(b"a,b,dose\n1,2,x\n0,0,x\n2,1,y\n3,3,y\n")
    said = refusal(tmp_path / "t.csv", "--label", "dose", "--normalise", "--no-intercept")
    assert "data row 2 is 0 in every column" in said


def test_more_levels_than_memory(tmp_path, refusal):
    rows = [f"z{number % 900},{number % 97},{number % 7}" for number in range(2000)]
    (tmp_path / "t.csv").write_text("\n".join(["zip,age,dose", *rows]) + "\n")
    said = refusal(tmp_path / "t.csv", "--label", "dose")
    assert "7 arms with 901 encoded columns are too many" in said
    assert "'zip' alone makes 899" in said


def test_costs_that_are_no_table(tmp_path, refusal):
    (tmp_path / "t.csv").write_bytes(GOOD)
    (tmp_path / "costs.csv").write_bytes(GARBAGE)
    arguments = [tmp_path / "t.csv", "--label", "dose", "--costs"]
    assert "is not CSV in UTF-8" in refusal(*arguments, tmp_path / "costs.csv")
    assert "none.csv: no such file or directory" in refusal(*arguments, tmp_path / "none.csv")


def test_a_file_in_the_place_of_the_directory(tmp_path, refusal):
    (tmp_path / "t.csv").write_bytes(GOOD)
    said = refusal(tmp_path / "t.csv", "--label", "dose", "--out", tmp_path / "t.csv")
    assert said.endswith("t.csv: file exists")
