"""Schemas and labels from frames, and one sentence for each column that is no feature."""

import datetime

import numpy as np
import pandas as pd
import pytest

from greedyfirst.tables import (
    Categorical,
    Numeric,
    TableError,
    TableNote,
    infer_schema,
    read_labels,
    read_table,
)

N = 12


def frame(**columns):
    plain = {"age": np.arange(N) * 1.5, "sex": ["f", "m"] * (N // 2), "dose": list(range(N))}
    return pd.DataFrame({**plain, **columns})


def test_kinds_of_columns():
    made = infer_schema(
        frame(
            truth=[True, False] * (N // 2),
            ward=pd.Categorical(["10", "9", "2"] * (N // 3), categories=["10", "9", "2", "none"]),
            gap=pd.array([1, 2] * (N // 2), dtype="Int64"),
            dose=[3, 1, 2, 3] * (N // 4),
        ),
        categorical=["dose"],
        drop=["age"],
    )
    assert made.features == (
        Categorical("sex", ("f", "m")),
        Categorical("dose", ("1", "2", "3")),
        Categorical("truth", ("false", "true")),
        Categorical("ward", ("2", "9", "10")),
        Numeric("gap"),
    )
    assert made.impute == {}


def test_label_and_dropped_columns_are_no_features():
    made = infer_schema(frame(), label="sex", drop=["dose"])
    assert made.feature_names == ("age",)


def test_standardised_as_by_numpy():
    values = np.random.default_rng(0).gamma(2.0, size=(300, 4)) * [1e-3, 1, 50, 1e7]
    data = pd.DataFrame(values, columns=list("abcd"))
    expected = (values - values.mean(axis=0)) / values.std(axis=0)
    encoded = infer_schema(data, standardise=True).encode(data)
    np.testing.assert_allclose(encoded, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_categories_as_by_pandas(intercept):
    texts = pd.DataFrame({"u": list("abcabcabcabc"), "v": list("xyyxxyyxxyyx")})
    expected = pd.get_dummies(texts, prefix_sep="=", dtype=float, drop_first=intercept)
    made = infer_schema(texts, intercept=intercept)
    assert made.feature_names[intercept:] == tuple(expected.columns)
    np.testing.assert_array_equal(made.encode(texts)[:, int(intercept) :], expected.to_numpy())


@pytest.mark.parametrize("impute", ["mean", "median", "most-frequent"])
def test_impute(impute):
    ages = [1.0, 1.0, 3.0, 8.0] * (N // 4)
    holed = frame(age=[*ages[:-4], 1.0, 1.0, np.nan, np.nan])
    holed.loc[0, "sex"] = None
    present = holed["age"].dropna()
    made = infer_schema(holed, impute=impute)
    wanted = {"mean": present.mean(), "median": present.median(), "most-frequent": 1.0}[impute]
    assert made.impute["age"] == pytest.approx(wanted, rel=1e-15)
    assert made.impute["sex"] == "m"
    encoded = made.encode(holed)
    assert encoded[-1, 0] == made.impute["age"]
    assert encoded[0, 1:3].tolist() == [0, 1]


@pytest.mark.parametrize("standardise", [False, True])
def test_numbers_without_a_most_frequent_one_may_not_be_missing_later(standardise):
    holed = frame(age=np.arange(float(N)), sex=[None, *["f", "m"] * 5, "m"])
    made = infer_schema(holed, impute="most-frequent", standardise=standardise)
    assert made.impute["sex"] == "m"
    assert "age" not in made.impute
    with pytest.raises(ValueError, match="age"):
        made.encode(holed.assign(age=np.nan))


def test_imputed_columns_are_standardised_as_filled():
    holed = frame(age=[np.nan, *np.arange(N - 1.0)])
    made = infer_schema(holed, impute="median", standardise=True)
    ages = made.encode(holed)[:, 0]
    np.testing.assert_allclose([ages.mean(), ages.std()], [0, 1], atol=1e-15)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e150, 1e306])
def test_standardised_in_any_unit(unit):
    data = pd.DataFrame({"x": np.arange(10) * unit})
    encoded = infer_schema(data, standardise=True).encode(data)
    np.testing.assert_allclose(encoded.mean(), 0, atol=1e-14)
    np.testing.assert_allclose(encoded.std(), 1, rtol=1e-12)


def test_objects_that_are_numbers():
    ages = pd.Series([*range(N - 1), None], dtype=object)
    assert infer_schema(frame(age=ages), impute="mean").features[0] == Numeric("age")


def test_from_file_to_array(tmp_path):
    path = tmp_path / "x.csv"
    frame(truth=[True, False] * (N // 2)).to_csv(path, index=False)
    read = read_table(path)
    made = infer_schema(read, intercept=True)
    assert made.feature_names == ("intercept", "age", "sex=m", "dose", "truth=true")
    np.testing.assert_array_equal(made.encode(read), made.encode(read[read.columns[::-1]]))


DAYS = [datetime.date(2020, 1, day) for day in range(1, N + 1)]
BAD = {
    "one bad cell": (
        {"age": ["1"] * 6 + ["1O"] + ["2"] * 5},
        {},
        ["text in a numeric column", "'age'", "data row 7", "'1O'", "categorical=['age']", "--na"],
    ),
    "bad object": ({"age": [1] * 6 + ["?"] + [2] * 5}, {}, ["'age'", "data row 7", "'?'"]),
    "bad cell after a gap": (
        {"age": [None, "x", *["1", "2"] * 5]},
        {"impute": "mean"},
        ["'age'", "data row 2", "'x'"],
    ),
    "numbers as text": ({"age": ["1", "2"] * 6}, {}, ["'age'", "numbers as text"]),
    "leading zeros": ({"age": ["10", "07"] * 6}, {}, ["'age'", "leading zeros as in '07'"]),
    "no number twice": (
        {"age": [np.nan, *np.arange(N - 1.0)]},
        {"impute": "most-frequent"},
        ["'age' has no value twice", "impute 'median' (--impute median)"],
    ),
    "only constants": (
        {"age": [5.0] * N, "sex": ["f"] * N, "dose": [None] * N},
        {},
        ["no column is left as a feature: 'age' (5), 'sex' ('f'), 'dose' (empty) never changes"],
    ),
    "missing": (
        {"age": [1.0, None, 3.0, None] * 3},
        {},
        ["'age'", "missing values in 6 rows", "data row 2", "impute"],
    ),
    "several missing": (
        {"age": [1.0, None, 3.0, None] * 3, "dose": [None, *range(N - 1)]},
        {},
        ["columns 'age' (6 rows), 'dose' (1 row) have missing values", "--impute median", "--drop"],
    ),
    "infinite": ({"age": [1.0, 2.0, -np.inf] * 4}, {}, ["'age', data row 3", "-inf", "finite"]),
    "identifier": (
        {"sex": [f"id{i}" for i in range(N)]},
        {},
        ["'sex' has 12 different values in 12 rows", "drop=['sex']"],
    ),
    "declared identifier": ({}, {"categorical": ["dose"]}, ["'dose' has 12 different values"]),
    "dates as text": (
        {"age": [f"{day:02d}.12.2020" for day in range(1, N + 1)]},
        {},
        ["'age' holds dates, as in '01.12.2020'", "drop=['age']", "--numeric age", "categorical="],
    ),
    "amounts": (
        {"age": ["$1,200.50", "$3"] * 6},
        {},
        ["'age' holds amounts, as in '$1,200.50'", "--numeric age", "categorical=['age']"],
    ),
    "percentages": ({"age": ["12 %", "5 %"] * 6}, {}, ["percentages, as in '12 %'"]),
    "decimal commas": ({"age": ["1,5", "2,5"] * 6}, {}, ["'age' holds numbers with commas"]),
    "dates": ({"age": DAYS}, {}, ["'age' holds date values", "drop=['age']"]),
    "times": ({"age": pd.to_datetime(DAYS)}, {}, ["'age' holds datetime"]),
    "lists": ({"age": [[1], [2]] * 6}, {}, ["'age', data row 1", "text, numbers"]),
    "label": ({}, {"label": "sexx"}, ["label must be", "(close: 'sex')", "'sexx'"]),
    "label like no column": ({}, {"label": "zzz"}, ["label", "'age', 'sex', 'dose'", "'zzz'"]),
    "label not text": ({}, {"label": 3}, ["label", "got 3"]),
    "drop": ({}, {"drop": ["Dose"]}, ["drop", "close: 'dose'", "'Dose'"]),
    "drop as text": ({}, {"drop": "dose"}, ["drop must be a list of column names"]),
    "categorical": ({}, {"categorical": ["x"]}, ["categorical", "'x'"]),
    "impute": ({}, {"impute": "zero"}, ["impute", "'mean', 'median', 'most-frequent'", "'zero'"]),
    "standardise": ({}, {"standardise": 1}, ["standardise must be True or False"]),
    "nothing left": ({}, {"label": "sex", "drop": ["age", "dose"]}, ["no column", "is left"]),
    "too large": (
        {"age": [1.7e308, -1.7e308, 1.7e308] * 4},
        {"standardise": True},
        ["'age'", "cannot be standardised"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_and_options(case):
    columns, options, mentioned = BAD[case]
    with pytest.raises(ValueError, match=r".") as caught:
        infer_schema(frame(**columns), **options)
    said = str(caught.value)
    assert all(part in said for part in mentioned), said
    assert "\n" not in said


def test_all_faults_are_told_at_once():
    faulty = frame(
        age=[1.0, 2.0, None] * 4, dose=["$1", "$2"] * 6, ward=[f"id{i}" for i in range(N)]
    )
    with pytest.raises(TableError) as caught:
        infer_schema(faulty)
    assert len(caught.value.faults) == 3
    first, *faults = str(caught.value).split("\n- ")
    assert first == "3 things stand in the way:"
    assert tuple(faults) == caught.value.faults
    for name, fault in zip(("dose", "ward", "age"), faults, strict=True):
        assert f"column '{name}'" in fault


def test_columns_that_never_change_are_left_out_and_named():
    with pytest.warns(
        TableNote, match=r"'dose' \(7\), 'gap' \(5 or missing\), 'none' \(empty\)\.$"
    ):
        made = infer_schema(frame(dose=[7] * N, gap=[5.0, None] * 6, none=[None] * N))
    assert made.feature_names == ("age", "sex=f", "sex=m")


def test_missing_categories_are_a_category_of_their_own():
    """As by pandas, with dummy_na; later rows of the same kind are encoded likewise."""
    texts = pd.DataFrame({"u": ["b", None, "a", "b"] * 3, "v": [True, False, None, True] * 3})
    with pytest.warns(TableNote, match="are a category of their own") as said:
        made = infer_schema(texts)
    assert [str(each.message)[:27] for each in said] == [
        "Missing values of 'u' (3 ro",
        "Missing values of 'v' (3 ro",
    ]
    expected = pd.get_dummies(texts, dummy_na=True, dtype=float).to_numpy()
    np.testing.assert_array_equal(made.encode(texts), expected)
    assert made.feature_names == (
        *("u=a", "u=b", "u=(missing)", "v=false", "v=true", "v=(missing)"),
    )
    assert made.encode_row({"u": None, "v": True}).tolist() == [0, 0, 1, 0, 1, 0]


ROWS = 40
ODD = {
    "a code below": ([*range(18, 56), -999, -999], "'x' is -999 in 2 rows and between 18 and 55"),
    "a code above": ([*range(2, 41), 999], "(--na 999 makes it missing)"),
    "-9 among counts": ([0, 1, 2, -9] * 10, "'x' is -9 in 10 rows"),
    "row numbers": (np.random.default_rng(0).permutation(ROWS) + 7, "identifier has.*--drop x"),
    "dates as numbers": ([20200101 + day for day in range(30)] * 2, "dates written as numbers"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_numbers_are_said_and_used(case):
    cells, said = ODD[case]
    data = pd.DataFrame({"x": cells})
    with pytest.warns(TableNote, match=said.replace("(", r"\(").replace(")", r"\)")):
        made = infer_schema(data)
    assert made.encode(data)[:, 0].tolist() == list(cells)


def test_identifiers_are_known_by_name_too():
    data = pd.DataFrame({"patient_id": np.arange(ROWS) * 17, "weight": np.arange(ROWS) * 17})
    with pytest.warns(TableNote) as said:
        infer_schema(data)
    assert ["'patient_id'" in str(each.message) for each in said] == [True]


@pytest.mark.parametrize(
    "cells",
    [
        list(range(60, 100)),  # 99 is the highest age
        [-99, -50, 0, 50] * 10,
        [20209999, 20200101] * 20,
        np.arange(ROWS) / 2,
        [0.0, 1.5, *range(2, ROWS)],
    ],
)
def test_plain_numbers_need_no_note(cells):
    infer_schema(pd.DataFrame({"x": [*cells, cells[1]]}))


def test_too_many_levels_of_many_rows():
    texts = pd.DataFrame({"x": [f"t{i % 1001}" for i in range(5000)]})
    with pytest.raises(ValueError, match="'x' has 1001 different values"):
        infer_schema(texts)
    assert infer_schema(texts.replace("t1000", "t0")).n_features == 1000


def test_bad_frames():
    for bad in (None, np.ones((2, 2)), pd.DataFrame(), frame().iloc[:0]):
        with pytest.raises(ValueError, match="frame must"):
            infer_schema(bad)
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        infer_schema(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize(
    ("cells", "codes", "classes"),
    [
        (["b", "a", "b"], [1, 0, 1], ("a", "b")),
        ([10, 9, 10], [1, 0, 1], ("9", "10")),
        ([10.0, 9.5, 10.0], [1, 0, 1], ("9.5", "10")),
        (["10", "9", "-1"], [2, 1, 0], ("-1", "9", "10")),
        ([True, False, True], [1, 0, 1], ("false", "true")),
        (pd.Categorical(["b", "a", "b"], categories=["b", "c", "a"]), [1, 0, 1], ("a", "b")),
    ],
)
def test_labels(cells, codes, classes):
    once = pd.DataFrame({"y": cells}, index=[7, 7, 7])
    found, names = read_labels(pd.concat([once, once]), "y")
    assert found.dtype == np.int64
    assert (found.tolist(), names) == (codes * 2, classes)


BAD_LABELS = {
    "one class": (["a"] * 3, "y", "'y' must be of at least two classes"),
    "missing": (["a", None, "b", None], "y", "'y' has missing values in 2 rows, .* data row 2"),
    "many": (
        np.arange(101) / 7,
        "y",
        "'y' has 101 different numbers .* measurements, not classes; .*--label",
    ),
    "one a row": (["a", "b", "c"], "y", "'y' has 3 different values in 3 rows"),
    "long": (["a", "b" * 2000], "y", "'y', data row 2 has 2000 characters"),
    "unknown": (["a", "b"], "Y", r"label must be .*\(close: 'y'\), got 'Y'"),
    "dates": (DAYS, "y", "'y', data row 1 must be text, numbers or true/false"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case):
    cells, label, expected = BAD_LABELS[case]
    with pytest.raises(ValueError, match=expected):
        read_labels(pd.DataFrame({"y": cells}), label)


def test_a_hundred_classes_are_classes():
    codes, classes = read_labels(pd.DataFrame({"y": np.arange(200) % 100}), "y")
    assert len(classes) == 100
    np.testing.assert_array_equal(codes, np.arange(200) % 100)
