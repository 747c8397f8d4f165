"""Tables of a page: numbers and their headings at the right, texts as they are."""

import re

from greedyfirst.reports.html_page import HtmlPage


def cells(tmp_path, headings, rows):
    page = HtmlPage("A page")
    page.table(headings, rows)
    page.write(tmp_path / "p.html", footer="")
    written = (tmp_path / "p.html").read_text()
    return [
        [("number" in mark, text) for mark, text in re.findall(r"<t[hd]\b([^>]*)>(.*?)</t", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", written)
    ]


def test_numbers_and_their_headings_stand_at_the_right(tmp_path):
    rows = [["Greedy", "0.5", "1.5%", "", "x"], ["OFUL", "+1.0", "2%", "3", "4 to 5"]]
    found = cells(tmp_path, ["policy", "z", "share", "switched", "range"], rows)
    assert [[at_right for at_right, _ in row] for row in found] == [
        [False, True, True, True, False]
    ] * 3
    assert [text for _, text in found[2]] == rows[1]


def test_a_column_of_numbers_has_one_edge(tmp_path):
    """A range among numbers stands with them; blank cells decide nothing."""
    found = cells(tmp_path, ["value", ""], [["1", ""], ["2", ""], ["1 to 2", ""]])
    assert [[at_right for at_right, _ in row] for row in found] == [[True, False]] * 4


def test_texts_are_escaped(tmp_path):
    assert cells(tmp_path, ["<b>"], [["a & b"]]) == [[(False, "&lt;b&gt;")], [(False, "a &amp; b")]]
