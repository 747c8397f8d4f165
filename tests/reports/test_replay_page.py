"""A replay's page and pictures: classes of any name and number."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from greedyfirst import FixedArm
from greedyfirst.replay import replay_table
from greedyfirst.reports.replay_page import draw_shares, write_replay

ODD = ["$\\frac{a$", "$10 to $20", "_high", "剂量", "x" * 300, "<b>"]


def replayed(classes, policies, *, source="t.csv", orders=2):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=10 * len(classes)), "dose": list(classes) * 10})
    return replay_table(frame, label="dose", policies=policies, permutations=orders, source=source)


def test_classes_of_any_name(tmp_path):
    """Warnings are errors here: none may come from the pictures."""
    replay = replayed(ODD, {"$first$": FixedArm(arm=0)}, source="cost$a$b_{.csv")
    paths = write_replay(replay, tmp_path, name="odd")
    assert all(path.stat().st_size > 100 for path in paths)
    page = (tmp_path / "odd-replay.html").read_text()
    assert "<td>$first$</td>" in page
    assert "&lt;b&gt;</th>" in page
    assert "<b>" not in page


@pytest.mark.parametrize(("orders", "words"), [(1, "one random order"), (2, "2 random orders")])
def test_the_page_counts_orders(tmp_path, orders, words):
    write_replay(replayed("ab", {"First": FixedArm(arm=0)}, orders=orders), tmp_path, name="t")
    assert f"20 rows in {words}, the same" in (tmp_path / "t-replay.html").read_text()


def bars(replay):
    """Names in the legend, and where each bar of each name begins and ends, best policy last."""
    axes = Figure().add_subplot()
    draw_shares(replay, axes)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    edges = [[(bar.get_x(), bar.get_width()) for bar in group] for group in axes.containers]
    colours = [group.patches[0].get_facecolor() for group in axes.containers]
    return names, edges, colours


def test_shares_of_few_arms_are_all_drawn():
    replay = replayed("abcdefghij", {"Third": FixedArm(arm=2)})
    names, edges, colours = bars(replay)
    assert names == list("abcdefghij")
    assert [width for ((_, width),) in edges] == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert len(set(colours)) == 10


def test_of_many_arms_the_most_chosen_are_drawn_and_the_others_together():
    classes = [f"{place:02}" for place in range(30)]
    often = [29, 3, 17, 8, 11, 25, 1, 20, 14]
    chosen = [*often, *often, 5, 6]  # the nine by two policies each, two others by one each
    replay = replayed(classes, {f"Policy {n}": FixedArm(arm=arm) for n, arm in enumerate(chosen)})
    names, edges, colours = bars(replay)
    assert names == [*(classes[arm] for arm in sorted(often)), "21 others"]
    assert len(set(colours)) == 10
    assert sum(width for _, width in edges[-1]) == pytest.approx(2)
    ends = [begin + width for begin, width in edges[-1]]
    assert ends == pytest.approx([1.0] * len(chosen))
