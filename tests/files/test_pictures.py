"""Pictures of names that nobody foresaw: formulas, underscores, long ones, other scripts."""

import io

import pytest
from matplotlib import image

from greedyfirst.files.pictures import add_legend, save_picture, shortened

NAMES = ["$\\frac{a$", "$10 to $20", "_high", "剂量", "سعر", "two\nlines", "x" * 300]


def drawn(names):
    """The axes, saved with one line for each name."""
    kept = []

    def draw(figure):
        axes = figure.add_subplot()
        lines = [axes.plot([0, 1])[0] for _ in names]
        add_legend(axes, lines, names, loc="center left", bbox_to_anchor=(1.0, 0.5))
        kept.append(axes)

    content = io.BytesIO()
    save_picture(draw, content)
    content.seek(0)
    return kept[0], image.imread(content)


def test_every_name_is_in_the_legend():
    """Warnings are errors here: none may come from saving."""
    axes, _ = drawn(NAMES)
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown[:5] == NAMES[:5]
    assert shown[5] == "two lines"
    assert len(shown[6]) == 30
    assert not any(text.get_parse_math() for text in axes.get_legend().get_texts())


def test_a_long_name_leaves_the_curves_their_room():
    axes, pixels = drawn(["x" * 300])
    legend = axes.get_legend().get_window_extent()
    box = axes.get_window_extent()
    width = axes.get_figure().bbox.width
    assert box.width > 0.4 * width
    assert legend.x1 <= width
    assert pixels.shape[:2] == (690, 1080)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dose", "dose"),
        ("a" * 30, "a" * 30),
        ("  two\n\twords ", "two words"),
        ("the first of two long names, number 1", "the first of two lo…, number 1"),
    ],
)
def test_names_are_shortened_between_beginning_and_end(name, expected):
    assert shortened(name) == expected
    assert len(shortened(name)) <= 30


def test_long_names_that_differ_at_the_end_still_differ():
    assert shortened("y" * 100 + "1") != shortened("y" * 100 + "2")
