"""Text as numbers: only where it can be read in one way."""

import datetime

import pandas as pd
import pytest

from greedyfirst.tables import TableNote
from greedyfirst.tables.text_numbers import as_numbers, kind_of

KINDS = {
    "number": ["1", "-2.5", "1e5", "007", " 3 "],
    "amount": ["$1,200.50", "1.200,50 €", "EUR 12", "-£5", "€ -5", "kr 100"],
    "percentage": ["12 %", "-0.5%", "1,5 %"],
    "grouped": ["1,200", "1,5", "1 200,5", "1'200.50", "12.345.678"],
    "date": [
        "2020-01-31",
        "31.12.2020",
        "1/2/20",
        "31 Jan 2020",
        "March 1, 2021",
        "2020-01-31T12:00Z",
    ],
    "other": [
        "",
        "a",
        "10-20",
        "AB 12",
        "1_000",
        "inf",
        "12:30",
        "99-1234",
        "1.2.3.4",
        "35/14/2020",
    ],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, each in KINDS.items() for text in each]
)
def test_kinds(kind, text):
    assert kind_of(text) == kind


READ = {
    "dollars": (["$1,200.50", "$3", None], None, [1200.5, 3.0]),
    "euros": (["1.200,50 €", "-3,5 €", None], None, [1200.5, -3.5]),
    "francs": (["CHF 1'200.50", "CHF 3", None], None, [1200.5, 3.0]),
    "percentages": (["12 %", "0.5%", None], None, [12.0, 0.5]),
    "thousands": (["1,200", "1,200,000", None], None, [1200.0, 1.2e6]),
    "thousands, told": (["1,200", "2,300", None], ".", [1200.0, 2300.0]),
    "decimals, told": (["1,200", "2,300", None], ",", [1.2, 2.3]),
    "leading zeros": (["007", "010", None], None, [7.0, 10.0]),
}


@pytest.mark.parametrize("case", READ)
def test_amounts(case):
    cells, decimal, expected = READ[case]
    with pytest.warns(TableNote, match="Column 'x' is read as numbers: "):
        read = as_numbers("x", pd.Series(cells), decimal=decimal)
    assert read.tolist()[:2] == expected
    assert read.isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%B %d, %Y", "%Y/%m/%d"]
)
def test_dates_as_by_the_standard_library(form):
    days = [datetime.date(2020, 2, 1) + datetime.timedelta(days=17 * step) for step in range(12)]
    with pytest.warns(TableNote, match="days since 1970-01-01: "):
        read = as_numbers("x", pd.Series([day.strftime(form) for day in days]), decimal=None)
    assert read.tolist() == [(day - datetime.date(1970, 1, 1)).days for day in days]


REFUSED = {
    "thousands or decimals": (
        ["1,200", "2,300"],
        "may have a decimal mark or thousands.*--decimal",
    ),
    "both marks": (["1,5", "1.5"], "has both '1.5' and '1,5'"),
    "two currencies": (["$5", "€6"], "has both '.5' and '€6': its unit is not the same"),
    "percentages beside shares": (["12 %", "0.12"], "its unit is not the same"),
    "day or month": (["1/2/2020", "3/4/2020"], "may begin with the day or with the month"),
    "day and month": (["13/2/2020", "2/13/2020"], "may begin with the day or with the month"),
    "no day of the calendar": (["2020-02-30"], "has a date that cannot be read"),
    "text": (["1", "x"], "data row 2 is 'x', which is not a number; .*--na"),
    "a number among dates": (["2020-01-31", "7"], "data row 2 is '7', which is not a date"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_mean_two_things_is_refused(case):
    cells, said = REFUSED[case]
    with pytest.raises(ValueError, match=said):
        as_numbers("x", pd.Series(cells), decimal=None)


def test_the_other_mark_is_refused_where_one_is_told():
    with pytest.raises(
        ValueError, match=r"has '1\.5', which is no number with the decimal mark ','"
    ):
        as_numbers("x", pd.Series(["1.5", "2,5"]), decimal=",")


def test_numbers_stay_as_they_are():
    column = pd.Series([1, 2])
    assert as_numbers("x", column, decimal=None) is column
