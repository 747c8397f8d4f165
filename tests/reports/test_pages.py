"""Tables of a page: numbers and their headings at the right, texts as they are."""

import re

import pytest
from jinja2 import UndefinedError

from greedyfirst.reports.pages import environment


def cells(headings, rows):
    template = '{% from "parts.html" import table %}{{ table(headings, rows) }}'
    written = environment.from_string(template).render(headings=headings, rows=rows)
    return [
        [("number" in mark, text) for mark, text in re.findall(r"<t[hd]\b([^>]*)>(.*?)</t", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", written)
    ]


def test_numbers_and_their_headings_stand_at_the_right():
    rows = [["Greedy", "0.5", "1.5%", "", "x"], ["OFUL", "+1.0", "2%", "3", "4 to 5"]]
    found = cells(["policy", "z", "share", "switched", "range"], rows)
    assert [[at_right for at_right, _ in row] for row in found] == [
        [False, True, True, True, False]
    ] * 3
    assert [text for _, text in found[2]] == rows[1]


def test_a_column_of_numbers_has_one_edge():
    """A range among numbers stands with them; blank cells decide nothing."""
    found = cells(["value", ""], [["1", ""], ["2", ""], ["1 to 2", ""]])
    assert [[at_right for at_right, _ in row] for row in found] == [[True, False]] * 4


def test_texts_are_escaped():
    assert cells(["<b>"], [["a & b"]]) == [[(False, "&lt;b&gt;")], [(False, "a &amp; b")]]


def test_a_place_that_is_not_filled_is_an_error():
    with pytest.raises(UndefinedError, match="title"):
        environment.get_template("plan.html").render(version="0")
