"""All figures on one page: numbers beside the published ones, nothing from outside."""

import math
import re

import pytest
from scipy import stats

from greedyfirst.experiments.published import PUBLISHED, Final
from greedyfirst.reports.figures_page import MadeFigure, write_figures_page

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def page(tmp_path):
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    published = PUBLISHED["fig4d"]
    close = Final(published["Greedy"].mean + 0.5 * published["Greedy"].half_width, 0.0, 100)
    far = Final(published["OFUL"].mean + 2 * published["OFUL"].half_width, 0.0, 100)
    first = {label: Final(12.0, 0.8, 500) for label in ("Greedy-First", "Greedy-First, t0 = 24")}
    switches = {"Greedy-First": 22, "Greedy-First, t0 = 24": 33}
    made = [
        MadeFigure("fig4d", "Figure 4(d): warfarin", picture, {"Greedy": close, "OFUL": far}, {}),
        MadeFigure("fig2c", "Figure 2(c)", picture, first, switches),
        MadeFigure("k5-d3", "Five arms <b>", picture, {"Greedy": Final(7.414, 0.25, 9)}, {}),
        MadeFigure("fig1", "Figure 1", picture, {}, {}),
    ]
    missing = {"Figure 4(a)": "eeg is not here"}
    write_figures_page(made, missing, tmp_path / "f.html", instances=7, seed=3)
    return (tmp_path / "f.html").read_text()


def test_ours_published_and_the_difference(page):
    cells = re.findall(r"<tr>(.*?)</tr>", page)
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in cells]
    assert ["Greedy", "0.3549", "0.0000", "0.3546", "0.0007", "+1.0"] in rows
    assert ["OFUL", "0.5012", "0.0000", "0.4997", "0.0008", "+4.0"] in rows
    assert ["Greedy", "7.41", "0.25"] in rows
    ranked = [row for row in rows if len(row) == 8]
    assert [row[:2] for row in ranked] == [
        ["OFUL", "Figure 4(d)"],
        ["Greedy", "Figure 4(d)"],
        ["Greedy-First", "Figure 2(c)"],
    ]
    assert ranked[1] == [
        *("Greedy", "Figure 4(d)", "0.3549", "0.0000", "0.3546", "0.0007", "+1.0"),
        f"{2 * stats.t(198).sf(1.0):.3f}",  # 100 runs on either side
    ]


def test_switches_beside_the_published_ones(page):
    """22 of 500 against 69 of 1000: pooled 91/1500, z = -0.025/√(p(1 - p)·3/1000) = -1.9."""
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert ["Greedy-First", "22", "500", "69", "-1.9"] in rows
    assert ["Greedy-First, t0 = 24", "33", "500", "69", "-0.2"] in rows


def test_what_the_page_says(page):
    assert (
        "4 figures; 3 published end values beside ours: taken together they do not agree, at a "
        "false-alarm rate of 1 %. The largest |z| is 4.0 (OFUL in Figure 4(d): warfarin)."
    ) in page
    assert "No published numbers are known for this figure." in page
    assert "no end values to compare" in page
    assert "Figure 4(a): eeg is not here" in page
    assert "Five arms &lt;b&gt;" in page
    assert "7 instances, seed 3" in page


def test_the_page_needs_nothing_else(page):
    assert page.count('src="data:image/png;base64,') == 4
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert "http" not in page


def test_one_instance_has_no_interval_and_is_not_compared(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    alone = {"Greedy": Final(7.0, math.nan, 1)}
    made = [MadeFigure(name, name, tmp_path / "a.png", alone, {}) for name in ("fig2a", "k5-d3")]
    write_figures_page(made, {}, tmp_path / "f.html", instances=1, seed=3)
    page = (tmp_path / "f.html").read_text()
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]
    assert ["Greedy", "7.00", "", "5.84", "0.19", ""] in rows
    assert ["Greedy", "7.00", ""] in rows
    assert "2 figures; nothing that can be compared with published numbers." in page
    assert "nan" not in page
    assert "1 instance, seed 3" in page
