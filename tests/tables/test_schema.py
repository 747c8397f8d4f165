"""Schemas: encoding of tables and of single rows, reference levels, files."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greedyfirst.tables import Categorical, Numeric, Schema

SEX = Categorical("sex", ("female", "male"))
SITE = Categorical("site", ("a", "b", "rest"), reference="b", other="rest")
AGE = Numeric("age", mean=50, scale=10)
ROW = {"age": 60, "sex": "male", "site": "a"}


def schema(**options):
    return Schema(features=[AGE, SEX, SITE], **options)


def test_names_and_values_without_an_intercept():
    plain = schema()
    assert plain.feature_names == (
        *("age", "sex=female", "sex=male"),
        *("site=a", "site=b", "site=rest"),
    )
    assert plain.n_features == 6
    assert plain.encode_row(ROW).tolist() == [1, 0, 1, 1, 0, 0]


def test_names_and_values_with_an_intercept():
    with_ones = schema(intercept=True)
    assert with_ones.feature_names == ("intercept", "age", "sex=male", "site=a", "site=rest")
    assert with_ones.encode_row(ROW).tolist() == [1, 1, 1, 1, 0]
    assert with_ones.encode_row({**ROW, "site": "b"}).tolist() == [1, 1, 1, 0, 0]


def test_encode_gives_a_contiguous_float_array():
    frame = pd.DataFrame({"age": [40, 60], "sex": ["female", "male"], "site": ["b", "new"]})
    encoded = schema(intercept=True).encode(frame)
    assert encoded.dtype == np.float64
    assert encoded.flags.c_contiguous
    assert encoded.tolist() == [[1, -1, 0, 0, 0], [1, 1, 1, 0, 1]]


def test_the_order_of_columns_and_other_columns_do_not_matter():
    frame = pd.DataFrame({"x": [None], "site": ["a"], "sex": ["male"], "age": [60]}, index=[5])
    assert schema().encode(frame).tolist() == [schema().encode_row(ROW).tolist()]
    row = dict(reversed(ROW.items()))
    assert schema().encode_row(row).tolist() == schema().encode_row(ROW).tolist()


def test_no_rows():
    frame = pd.DataFrame({"age": [], "sex": [], "site": []})
    assert schema().encode(frame).shape == (0, 6)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], bool),
        ([True, False], "boolean"),
        ([True, False], object),
        (["true", "false"], "category"),
        (["true", "false"], object),
    ],
)
def test_truths(values, dtype):
    smoker = Schema(features=[Categorical("smoker", ("false", "true"))])
    frame = pd.DataFrame({"smoker": pd.Series(values, dtype=dtype)})
    assert smoker.encode(frame).tolist() == [[0, 1], [1, 0]]
    assert smoker.encode_row({"smoker": np.True_}).tolist() == [0, 1]


@pytest.mark.parametrize("values", [[1, 2], [1.0, 2.0], ["1", "2"], np.array([1, 2], "f4")])
def test_numbers_as_categories(values):
    ward = Schema(features=[Categorical("ward", ("1", "2"))])
    assert ward.encode(pd.DataFrame({"ward": values})).tolist() == [[1, 0], [0, 1]]
    assert ward.encode_row({"ward": values[0]}).tolist() == [1, 0]


numbers = st.one_of(
    st.floats(-1e6, 1e6), st.integers(-(10**9), 10**9), st.just(None), st.just(float("nan"))
)
levels = st.sampled_from(["a", "b", "rest", "unseen", "", None])
rows = st.lists(st.tuples(numbers, st.sampled_from(["female", "male"]), levels), min_size=1)


@given(rows, st.booleans())
def test_encode_and_encode_row_agree(rows, intercept):
    filled = schema(intercept=intercept, impute={"age": 41.5, "site": "b"})
    frame = pd.DataFrame(rows, columns=["age", "sex", "site"])
    encoded = filled.encode(frame)
    for i, row in enumerate(rows):
        one = filled.encode_row(dict(zip(frame.columns, row, strict=True)))
        assert one.tobytes() == encoded[i].tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_reference_levels_give_full_rank(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(size=200)})
    features = [Numeric("age")]
    for name, count in (("u", 2), ("v", 5), ("w", 7)):
        texts = tuple(f"{name}{i}" for i in range(count))
        frame[name] = rng.choice(texts, size=200)
        features.append(Categorical(name, texts, reference=str(rng.choice(texts))))
    encoded = Schema(features=features, intercept=True).encode(frame)
    assert encoded.shape == (200, 2 + 1 + 4 + 6)
    assert np.linalg.matrix_rank(encoded) == encoded.shape[1]


BAD_ROWS = {
    "unknown feature": ({**ROW, "agee": 1}, ["'agee'", "close: 'age'"]),
    "missing feature": ({"age": 1, "sex": "male"}, ["'site'", "is missing"]),
    "NaN": ({**ROW, "age": float("nan")}, ["'age'", "nan", "a finite number"]),
    "infinity": ({**ROW, "age": float("inf")}, ["'age'", "inf", "a finite number"]),
    "None": ({**ROW, "age": None}, ["'age'", "None", "a finite number"]),
    "no category": ({**ROW, "sex": None}, ["'sex'", "None", "'female', 'male'"]),
    "NaN category": ({**ROW, "sex": float("nan")}, ["'sex'", "nan", "'female', 'male'"]),
    "text for a number": ({**ROW, "age": "60"}, ["'age'", "'60'", "a finite number"]),
    "truth for a number": ({**ROW, "age": True}, ["'age'", "True", "a finite number"]),
    "unseen category": ({**ROW, "sex": "Male"}, ["'sex'", "'Male'", "'female', 'male'"]),
    "list as a category": ({**ROW, "site": ["a"]}, ["'site'", "['a']", "'a', 'b', 'rest'"]),
    "not a mapping": ([60, "male", "a"], ["row must be a mapping"]),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case):
    row, mentioned = BAD_ROWS[case]
    with pytest.raises(ValueError, match=r".") as caught:
        schema().encode_row(row)
    assert all(part in str(caught.value) for part in mentioned), str(caught.value)


def test_missing_categories_are_not_the_other_level():
    for bad in (None, float("nan"), pd.NA):
        with pytest.raises(ValueError, match="'site'"):
            schema().encode_row({**ROW, "site": bad})
        with pytest.raises(ValueError, match=r"'site', data row 1 .* a missing value"):
            schema().encode(pd.DataFrame([{**ROW, "site": bad}]))


BAD_COLUMNS = {
    "missing number": ("age", [1.0, None], ["data row 2", "a finite number", "missing"]),
    "infinite number": ("age", [1.0, np.inf], ["data row 2", "a finite number", "inf"]),
    "text": ("age", ["1", "x"], ["data row 1", "a finite number", "'1'"]),
    "text among numbers": ("age", [1, "x"], ["data row 2", "a finite number", "'x'"]),
    "truths": ("age", [True, False], ["data row 1", "a finite number", "True"]),
    "missing category": ("sex", ["male", None], ["data row 2", "'female', 'male'", "missing"]),
    "unseen category": ("sex", ["male", "x"], ["data row 2", "'female', 'male'", "'x'"]),
    "lists": ("sex", [["male"], ["x"]], ["data row 1", "['male']", "text"]),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_bad_columns(case):
    name, cells, mentioned = BAD_COLUMNS[case]
    frame = pd.DataFrame({"age": [1, 2], "sex": ["male"] * 2, "site": ["a"] * 2})
    frame[name] = cells
    with pytest.raises(ValueError, match=f"column '{name}'") as caught:
        schema().encode(frame)
    assert all(part in str(caught.value) for part in mentioned), str(caught.value)


def test_bad_frames():
    with pytest.raises(ValueError, match=r"'sex' is missing from the table \(close: 'Sex'\)"):
        schema().encode(pd.DataFrame({"age": [1], "Sex": ["male"], "site": ["a"]}))
    with pytest.raises(ValueError, match="'age' occurs more than once"):
        schema().encode(pd.DataFrame([[1, 2]], columns=["age", "age"]))
    with pytest.raises(ValueError, match="frame must be a pandas DataFrame"):
        schema().encode([[1, 2]])
    with pytest.raises(ValueError, match="column's name must be non-empty text, got 0"):
        schema().encode(pd.DataFrame([[1, 2]]))


def test_numbers_too_large_once_standardised():
    tiny = Schema(features=[Numeric("x", scale=1e-300)])
    with pytest.raises(ValueError, match=r"'x' must be .*once standardised, got 1e\+100"):
        tiny.encode_row({"x": 1e100})
    with pytest.raises(ValueError, match=r"'x', data row 1 must be .*once standardised"):
        tiny.encode(pd.DataFrame({"x": [1e100]}))


BAD_SCHEMAS = {
    "no features": (lambda: Schema(features=[]), "features must be"),
    "foreign feature": (lambda: Schema(features=["age"]), "features must be"),
    "same names": (lambda: Schema(features=[AGE, AGE]), "of different names, got 'age'"),
    "same encoded names": (
        lambda: Schema(features=[Numeric("sex=male"), SEX]),
        "two encoded columns are named 'sex=male'",
    ),
    "name of the intercept": (
        lambda: Schema(features=[Numeric("intercept")], intercept=True),
        "two encoded columns are named 'intercept'",
    ),
    "intercept": (lambda: schema(intercept=1), "intercept must be True or False, got 1"),
    "impute unknown": (lambda: schema(impute={"x": 1}), "impute must be a feature"),
    "impute text": (lambda: schema(impute={"age": "x"}), "impute of 'age' must be"),
    "impute level": (lambda: schema(impute={"sex": "x"}), "impute of 'sex' must be one of"),
    "impute kind": (lambda: schema(impute="mean"), "impute must be a mapping"),
    "scale": (lambda: Numeric("x", scale=0), "scale of 'x' must be .* above 0, got 0"),
    "mean": (lambda: Numeric("x", mean=np.nan), "mean of 'x' must be"),
    "name": (lambda: Numeric(""), "name of a feature must be non-empty text"),
    "levels": (lambda: Categorical("x", "abc"), "levels of 'x' must be"),
    "no levels": (lambda: Categorical("x", []), "levels of 'x' must be"),
    "same levels": (lambda: Categorical("x", ["a", "a"]), "levels of 'x' must be"),
    "reference": (lambda: Categorical("x", ["a"], reference="b"), "reference of 'x' must be one"),
    "other": (lambda: Categorical("x", ["a"], other="b"), "other of 'x' must be one of 'a'"),
}


@pytest.mark.parametrize("case", BAD_SCHEMAS)
def test_bad_schemas(case):
    make, expected = BAD_SCHEMAS[case]
    with pytest.raises(ValueError, match=expected):
        make()


def test_a_schema_is_a_value():
    one = schema(impute={"age": 3})
    assert one == schema(impute={"age": 3.0})
    assert hash(one) == hash(schema(impute={"age": 3}))
    assert one != schema()
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.intercept = True


texts = st.text(min_size=1, max_size=5).filter(lambda text: text.isprintable())


@given(st.data(), st.floats(-1e300, 1e300), st.floats(1e-300, 1e300), st.booleans())
def test_save_and_load(tmp_path_factory, data, mean, scale, intercept):
    names = data.draw(st.lists(texts, min_size=2, max_size=2, unique=True))
    found = data.draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    level = st.none() | st.sampled_from(found)
    category = Categorical(names[1], found, data.draw(level), data.draw(level))
    made = Schema(
        features=[Numeric("number:" + names[0], mean, scale), category],
        intercept=intercept,
        impute={category.name: found[0]},
    )
    path = tmp_path_factory.getbasetemp() / "schema.json"
    made.save(path)
    assert Schema.load(path) == made
    assert Schema.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def changed(**entries):
    return json.dumps({**schema().to_dict(), **entries}).encode()


BAD_SCHEMA_FILES = {
    "empty": b"",
    "half": json.dumps(schema().to_dict()).encode()[:-9],
    "not text": b"\xff\xfe\x00",
    "a list": b"[1, 2]",
    "foreign": b'{"a": 1}',
    "later version": changed(version=2),
    "no version": changed(version=None),
    "another entry": changed(more=1),
    "features": changed(features=3),
    "feature": changed(features=[3]),
    "kind": changed(features=[{"kind": "x", "name": "a"}]),
    "option": changed(features=[{"kind": "numeric", "name": "a", "colour": 1}]),
    "scale": changed(features=[{"kind": "numeric", "name": "a", "scale": -1}]),
    "NaN": changed(features=[{"kind": "numeric", "name": "a", "mean": float("nan")}]),
    "level": changed(features=[{"kind": "categorical", "name": "a", "levels": [1]}]),
    "impute": changed(impute=[1]),
    "intercept": changed(intercept="yes"),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("case", BAD_SCHEMA_FILES)
def test_bad_files(case, tmp_path):
    path = tmp_path / "schema.json"
    path.write_bytes(BAD_SCHEMA_FILES[case])
    with pytest.raises(ValueError, match=r"schema\.json is not a greedyfirst schema") as caught:
        Schema.load(path)
    assert "\n" not in str(caught.value)


def test_save_replaces_the_file_and_leaves_no_other(tmp_path):
    path = tmp_path / "schema.json"
    schema().save(path)
    schema(intercept=True).save(path)
    assert Schema.load(path).intercept
    assert list(tmp_path.iterdir()) == [path]
