"""Files as tables: types, and one sentence for each file that is no table."""

import csv
import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greedyfirst.tables import TableError, TableNote, csv_reading, infer_schema, read_table


def written(folder, content, name="x.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


def test_types_of_columns(tmp_path):
    text = b"n,x,gap,truth,text,day\n1,0.5,1,true,a,2020-01-01\n2,1e3,,False,NA,2020-01-02\n"
    frame = read_table(written(tmp_path, text))
    assert [str(dtype) for dtype in frame.dtypes[:4]] == ["int64", "float64", "float64", "boolean"]
    assert frame["n"].tolist() == [1, 2]
    assert frame["x"].tolist() == [0.5, 1000.0]
    assert frame["gap"].isna().tolist() == [False, True]
    assert frame["truth"].tolist() == [True, False]
    assert frame["text"].isna().tolist() == [False, True]
    assert frame["day"].tolist() == ["2020-01-01", "2020-01-02"]


SAME = {
    "x.csv": lambda text: text,
    "x.CSV": lambda text: text,
    "x.csv.gz": gzip.compress,
    "x.tsv": lambda text: text.replace(b",", b"\t"),
    "x.tsv.gz": lambda text: gzip.compress(text.replace(b",", b"\t")),
}


@pytest.mark.parametrize("name", SAME)
def test_endings(name, tmp_path):
    frame = read_table(written(tmp_path, SAME[name](b"a,b\n1,x\n2,y\n"), name))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_text_as_other_programs_write_it(tmp_path):
    content = b'\xef\xbb\xbfa,"b, quoted"\r\n1,"two\nlines"\r\n\r\n2," ""x"" "\r\n'
    frame = read_table(written(tmp_path, content))
    assert frame.to_dict("list") == {"a": [1, 2], "b, quoted": ["two\nlines", ' "x" ']}


def test_floats_are_read_exactly(tmp_path):
    values = np.random.default_rng(0).normal(size=1000)
    text = "a\n" + "".join(f"{value!r}\n" for value in values.tolist())
    assert read_table(written(tmp_path, text.encode()))["a"].tolist() == values.tolist()


@pytest.mark.parametrize(
    ("first", "last", "dtype"),
    [
        ("1", "2.5", "float64"),
        ("1", " 2.5 ", "float64"),
        ("1", "99999999999999999999", "float64"),
        ("", "7", "float64"),
        ("1", "x", "str"),
        ("1.50", "x", "str"),
        ("true", "x", "str"),
        ("", "x", "str"),
        ("1", "true", "boolean"),
    ],
)
def test_types_settle_over_the_whole_file(first, last, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reading, "BLOCK_BYTES", 64)
    rows = [first] * 50 + [last]
    frame = read_table(written(tmp_path, b"a,b\n1," + "\n1,".join(rows).encode()))
    assert len(frame) == 51
    kind = "str" if isinstance(frame["b"].iloc[-1], str) else str(frame["b"].dtype)
    assert kind == dtype
    if dtype == "str":
        assert frame["b"].fillna("").tolist() == rows


CODES = ["07", "7", "0", "", "10"]


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (CODES, True),
        (["7", *[" 10"] * 3, "007"], True),
        (["7", "0", "-0", "10"], False),
        (["07", "1.5"], False),
        (["0.5", "00.5"], False),
    ],
)
def test_whole_numbers_with_leading_zeros_are_text(cells, text, tmp_path):
    frame = read_table(written(tmp_path, b"a,b\n1," + "\n1,".join(cells).encode() + b"\n"))
    if text:
        assert frame["b"].fillna("").tolist() == cells
    else:
        assert frame["b"].tolist() == [float(cell) for cell in cells]
    assert frame["a"].tolist() == [1] * len(cells)


def test_leading_zeros_are_kept_where_types_settle(tmp_path, monkeypatch):
    """A later block does not fit the guess of column a, so the whole file is looked at."""
    monkeypatch.setattr(csv_reading, "BLOCK_BYTES", 64)
    rows = [*["1,7,5"] * 50, "x,07,05.5"]
    frame = read_table(written(tmp_path, ("a,b,c\n" + "\n".join(rows)).encode()))
    assert frame["b"].tolist() == [*["7"] * 50, "07"]
    assert frame["c"].tolist() == [*[5.0] * 50, 5.5]


def test_quoted_line_breaks_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reading, "BLOCK_BYTES", 64)
    cell = '"' + "line\n" * 9 + '"'
    frame = read_table(written(tmp_path, ("a,b\n" + f"1,{cell}\n" * 30).encode()))
    assert frame["b"].tolist() == ["line\n" * 9] * 30


HEADER_ONLY = "has a header but no rows"
BAD = {
    "empty": (b"", "is empty"),
    "blank lines": (b"\n\r\n", "is empty"),
    "header": (b"a,b\n", HEADER_ONLY),
    "header without a line's end": (b"a,b", HEADER_ONLY),
    "header and blank lines": (b"a,b\n\n\n", HEADER_ONLY),
    "same names": (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
    "no name": (b",b\n1,2\n", "column 1 has no name"),
    "short row": (b"a,b\n1,2\n3\n", "data row 2 has 1 cell, the first line has 2"),
    "long row": (b"a,b\n1,2\n\n3,4,5\n", "data row 2 has 3 cells, the first line has 2"),
    "long row, quoted names": (b'"a,x","b,x"\n1,2\n3,4,5\n', "data row 2 has 3 cells"),
    "Latin-1 cell": (b"a,b\n1,x\n2,\xe9\n", "column 'b', data row 2 is not UTF-8 text"),
    "Latin-1 header": (b"a,\xe9\n1,2\n", "header of"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "is not UTF-8 text"),
    "open quote": (b'a,b\n1,2\n3,"x\n4,5\n', "column 'b', data row 2 has a quotation mark"),
}


def refusal(path):
    with pytest.raises(ValueError, match=r".") as caught:
        read_table(path)
    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    assert len(said) < 250 + len(str(path))
    assert type(caught.value) is ValueError
    return said


@pytest.mark.parametrize("case", BAD)
def test_bad_text(case, tmp_path):
    content, expected = BAD[case]
    assert expected in refusal(written(tmp_path, content))


@pytest.mark.parametrize("case", ["long row", "Latin-1 cell"])
def test_faults_far_down(case, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reading, "BLOCK_BYTES", 256)
    fault = BAD[case][0].splitlines()[-1]
    said = refusal(written(tmp_path, b"a,b\n" + b"1,2\n" * 5000 + fault + b"\n6,7\n"))
    assert "data row 5001" in said


def test_a_single_column_may_have_any_name(tmp_path):
    assert read_table(written(tmp_path, b"a;b\n1\n")).columns.tolist() == ["a;b"]


def check_big_cell(folder, megabytes, *, open_quote=False):
    cell = b'"' + b"1,2\n" * (megabytes * 250_000) if open_quote else b"x" * (megabytes * 1_000_000)
    path = written(folder, b"a,b\n1,y\n2," + cell + b"\n3,z\n")
    assert "data row 2 has more than 4 MB" in refusal(path)


@pytest.mark.parametrize("open_quote", [False, True])
def test_big_cell(open_quote, tmp_path):
    check_big_cell(tmp_path, 20, open_quote=open_quote)


@pytest.mark.nightly
def test_huge_cell(tmp_path):
    check_big_cell(tmp_path, 100)


def test_long_header(tmp_path):
    assert "header of more than 4 MB" in refusal(written(tmp_path, b"a" * 9_000_000 + b",b\n1,2\n"))


BAD_FILES = {
    "not gzip": ("x.csv.gz", b"a,b\n1,2\n", "not a gzip file"),
    "half of a gzip": ("x.csv.gz", gzip.compress(b"a,b\n1,2\n" * 1000)[:-20], "damaged"),
    "ending": ("x.doc", b"a\n1\n", "name it .csv"),
    "Excel": (
        "x.csv",
        b"PK\x03\x04 and more",
        "is an Excel workbook; in Excel: File, Save As, CSV",
    ),
    "old Excel": ("x.xls", b"a,b\n1,2\n", "read_excel('x.xls').to_csv('x.csv', index=False)"),
    "SPSS": ("x.sav", b"$FL2", "is an SPSS file"),
    "Stata": ("x.dta", b"", "read_stata('x.dta').to_csv('x.csv', index=False)"),
    "JSON": ("x.json", b"{}", "read_json('x.json').to_csv('x.csv', index=False)"),
    "zip": ("x.zip", b"PK\x03\x04", "is a compressed file; unpack it"),
    "no ARFF": ("x.arff", b"a,b\n1,2\n", "cannot be read as ARFF"),
    "ARFF with free text": (
        "x.arff",
        b"@relation r\n@attribute a string\n@data\nx\n",
        "cannot be read as ARFF (String attributes not supported",
    ),
    "ARFF in Greek": (
        "x.arff",
        "@relation r\n@attribute a {α, β}\n@data\nα\n".encode(),
        "cannot be read as ARFF (a nominal value is not ASCII)",
    ),
    "not Parquet": ("x.parquet", b"a,b\n1,2\n", "is not a Parquet file"),
    "damaged Parquet": ("x.parquet", b"PAR1 rubbish PAR1", "damaged Parquet"),
    "empty Parquet": ("x.parquet", b"", "is empty"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(case, tmp_path):
    name, content, expected = BAD_FILES[case]
    assert expected in refusal(written(tmp_path, content, name))


def test_directory(tmp_path):
    assert "is a directory" in refusal(tmp_path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["x.parquet", "x.data", "x.csv"])
def test_parquet_is_known_by_content(name, tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, 1.5]}, index=[7, 9])
    frame.to_parquet(tmp_path / name)
    read = read_table(tmp_path / name)
    assert read.columns.tolist() == ["a", "b", "c"]
    assert read.index.tolist() == [0, 1]
    assert read["b"].isna().tolist() == [False, True]
    assert (str(read["a"].dtype), str(read["c"].dtype)) == ("int64", "float64")


def test_parquet_columns_that_are_no_features(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1], "b": [[1, 2]]}), path)
    assert "column 'b' holds list" in refusal(path)
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    assert "no rows" in refusal(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    assert "both named 'a'" in refusal(path)


def test_damaged_parquet_data(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(1000)}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    assert "damaged Parquet" in refusal(path)


def test_parquet_decimals_and_dates(tmp_path):
    path = tmp_path / "x.parquet"
    decimals = pa.array([1, None], pa.decimal128(5, 2))
    days = pa.array([0, 1], pa.date32())
    pq.write_table(pa.table({"a": decimals, "day": days}), path)
    frame = read_table(path)
    assert str(frame["a"].dtype) == "float64"
    assert frame["day"].tolist() == ["1970-01-01", "1970-01-02"]


DECIMALS = {"a": [1.5, 0.125], "b": ["x", "y"]}
PLAIN = {"a": [1.5, 2.5], "b": ["x", "é"]}
FOUND = {
    "semicolons": ("x.csv", b"a;b\n1.5;x\n2.5;\xc3\xa9\n", ["between ';' (--separator"]),
    "tabs": ("x.csv", b"a\tb\n1.5\tx\n2.5\t\xc3\xa9\n", ["between '\\t'"]),
    "commas": ("x.tsv", b"a,b\n1.5,x\n2.5,\xc3\xa9\n", ["between ','"]),
    "an unknown ending": ("x.data", b"a|b\n1.5|x\n2.5|\xc3\xa9\n", ["between '|'"]),
    "decimal commas": (
        "x.csv",
        b"a;b\n1,5;x\n2,5;\xc3\xa9\n",
        ["between ';'", "decimal comma, as in 1,5 (--decimal . says otherwise)"],
    ),
    "three decimals": ("x.tsv", b"a\tb\n1,500\tx\n0,125\ty\n", ["decimal comma, as in 1,500"]),
    "UTF-16": ("x.csv", "a,b\n1.5,x\n2.5,é\n".encode("utf-16"), ["UTF-16"]),
    "gzip by content": ("x.csv", gzip.compress("a,b\n1.5,x\n2.5,é\n".encode()), []),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_is_found_is_said(case, tmp_path):
    name, content, notes = FOUND[case]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", TableNote)
        frame = read_table(written(tmp_path, content, name))
    assert frame.to_dict("list") == (DECIMALS if case == "three decimals" else PLAIN)
    assert len(said) == len(notes)
    assert all(part in str(each.message) for part, each in zip(notes, said, strict=True))


GIVEN = {
    "separator": (b"a b\n1.5 x\n2.5 \xc3\xa9\n", {"separator": " "}),
    "separator in words": (b"a\tb\n1.5\tx\n2.5\t\xc3\xa9\n", {"separator": "tab"}),
    "encoding": (b"a,b\n1.5,x\n2.5,\xe9\n", {"encoding": "cp1252"}),
    "decimal": (b'a,b\n"1,5",x\n"2,5",\xc3\xa9\n', {"decimal": ","}),
    "amounts": (b'a,b\n"$ 1,50",x\n"2,5",\xc3\xa9\n', {"decimal": ",", "numeric": ["a"]}),
}


@pytest.mark.filterwarnings("ignore::greedyfirst.tables.TableNote")
@pytest.mark.parametrize("case", GIVEN)
def test_what_is_given_is_taken(case, tmp_path):
    content, options = GIVEN[case]
    assert read_table(written(tmp_path, content), **options).to_dict("list") == PLAIN


def test_nothing_is_assumed_where_there_is_a_doubt(tmp_path):
    """1,200 may be 1200 or 1.2; a point beside commas may be of either kind."""
    for cells in (["1,200", "2,300"], ["1,5", "2.5"]):
        text = "a\tb\n" + "".join(f"{cell}\tx\n" for cell in cells)
        assert read_table(written(tmp_path, text.encode(), "x.tsv"))["a"].tolist() == cells


@pytest.mark.parametrize("binary", [False, True])
def test_cells_that_mean_missing(binary, tmp_path):
    frame = pd.DataFrame({"a": [1, -999, 3], "b": [0.5, -999.0, -1.0], "c": ["x", "?", "-999"]})
    path = tmp_path / ("x.parquet" if binary else "x.csv")
    frame.to_parquet(path) if binary else frame.to_csv(path, index=False)
    read = read_table(path, na=["-999", "?"])
    assert read.isna().to_numpy().tolist() == [[False] * 3, [True] * 3, [False, False, True]]
    assert read["a"].dropna().tolist() == [1, 3]


BAD_OPTIONS = [
    ({"separator": ";;"}, r"separator \(--separator\) must be one character"),
    ({"encoding": "utf-99"}, r"encoding \(--encoding\) must be the name of an encoding"),
    ({"encoding": "hex"}, "must be the name of an encoding"),
    ({"encoding": "ascii"}, "x.csv is not ascii text; name its encoding"),
    ({"decimal": "·"}, r"decimal \(--decimal\) must be"),
    ({"na": "-999"}, "na must be a list of texts"),
    ({"numeric": ["c"]}, r"numeric \(--numeric\) must be the name of a column"),
    ({"numeric": ["b"]}, "column 'b', data row 1 is 'é', which is not a number"),
]


@pytest.mark.parametrize(("options", "said"), BAD_OPTIONS)
def test_bad_options(options, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        read_table(written(tmp_path, "a,b\n1,é\n2,y\n".encode()), **options)


def test_options_of_text_are_not_for_parquet(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="must be left out for a Parquet file"):
        read_table(tmp_path / "x.parquet", separator=";")


def test_arff_as_pandas_would_have_it(tmp_path):
    content = b"""@RELATION trial
@ATTRIBUTE 'blood pressure' NUMERIC
@ATTRIBUTE ward {1, 2, 10}
@ATTRIBUTE day DATE "yyyy-MM-dd"
@DATA
120.5,10,"2020-01-31"
?,?,"2020-02-01"
"""
    for name, packed in (("x.arff", content), ("x.arff.gz", gzip.compress(content))):
        frame = read_table(written(tmp_path, packed, name))
        assert frame["blood pressure"].fillna(-1).tolist() == [120.5, -1]
        assert isinstance(frame["ward"].dtype, pd.CategoricalDtype)
        assert frame["ward"].fillna("10").tolist() == ["10", "10"]
        assert frame["day"].tolist() == ["2020-01-31", "2020-02-01"]


cells = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "NA", "-999", "1,5", "1.5", "$1,200.50", "12 %", "2020-01-31", "31/12/20"]
    ),
    st.floats().map(str),
    st.integers().map(str),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "header": st.booleans(),
        "separator": st.sampled_from([",", ";", "tab", " ", "ab", "\\"]),
        "encoding": st.sampled_from(["utf-8", "cp1252", "utf-16", "ascii", "utf-7", "cp037", "x"]),
        "decimal": st.sampled_from([".", ",", ";"]),
        "na": st.lists(cells, max_size=2),
        "numeric": st.lists(st.sampled_from(["a", "f0", "b"]), max_size=2),
    },
)


def outcome(function, *arguments, **options):
    try:
        return function(*arguments, **options), None
    except Exception as error:
        return None, error


def refuses_or_reads(path, options):
    """A frame, or an error of ours: never one of Arrow, pandas, SciPy or a codec."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableNote)
        frame, error = outcome(read_table, path, **options)
        assert error is None or (type(error) is ValueError and str(error))
        if error is not None:
            return
        schema, error = outcome(infer_schema, frame, impute="median")
    assert error is None or type(error) in (ValueError, TableError)
    assert schema is None or np.isfinite(schema.encode(frame)).all()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.one_of(
        st.binary(max_size=200), st.binary(max_size=200).map(lambda tail: b"a,b\n1,2\n" + tail)
    ),
    name=st.sampled_from(["x.csv", "x.tsv", "x.txt", "x.arff", "x.csv.gz", "x.parquet", "x"]),
    options=OPTIONS,
)
def test_random_bytes_are_read_or_refused(content, name, options, tmp_path):
    refuses_or_reads(written(tmp_path, content, name), options)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    columns=st.lists(st.lists(cells, min_size=6, max_size=6), min_size=1, max_size=3),
    options=OPTIONS,
    separator=st.sampled_from(",;\t"),
)
def test_random_tables_are_read_or_refused(columns, options, separator, tmp_path):
    rows = [list("abc")[: len(columns)], *zip(*columns, strict=True)]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    encoded = text.getvalue().encode("utf-8", errors="surrogatepass")
    refuses_or_reads(written(tmp_path, encoded), options)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    numbers=st.lists(
        st.floats(-1e6, 1e6).map(lambda x: round(x, 2) + 0.01), min_size=3, max_size=9
    ),
    words=st.lists(st.text("aéßž ;,|'", max_size=5), min_size=9, max_size=9),
    separator=st.sampled_from(",;\t|"),
    decimal=st.sampled_from(".,"),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
    packed=st.booleans(),
)
def test_what_pandas_writes_is_read_back(
    numbers, words, separator, decimal, encoding, packed, tmp_path
):
    """Told what pandas was told; cells of any content are quoted by it."""
    written_frame = pd.DataFrame(
        {"x": numbers, "word": [f"w{word}w" for word in words[: len(numbers)]]}
    )
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    written_frame.to_csv(path, sep=separator, decimal=decimal, encoding=encoding, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableNote)
        read = read_table(path, separator=separator, decimal=decimal, encoding=encoding)
    pd.testing.assert_frame_equal(read, written_frame, check_dtype=False)
