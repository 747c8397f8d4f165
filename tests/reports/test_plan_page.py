"""A plan's page: everything a committee asks for, in one file."""

import re
from html import unescape

import numpy as np
from matplotlib.figure import Figure

from greedyfirst import Greedy
from greedyfirst.planning import given_effects, normal_population, plan_trial, random_effects
from greedyfirst.planning.plan import ADAPTIVE, FIXED
from greedyfirst.planning.wording import answer, assumptions, method
from greedyfirst.reports.plan_page import draw_people, draw_precision, write_plan
from greedyfirst.version import __version__

POPULATION = normal_population(1)
EFFECTS = random_effects(POPULATION, n_arms=2, effect=0.5)


def test_the_page_has_question_answer_tables_pictures_assumptions_and_command(tmp_path):
    plan = plan_trial(POPULATION, EFFECTS, people=[20, 60], trials=20)
    paths = write_plan(plan, tmp_path, command="greedyfirst plan <&>")
    assert [path.name for path in paths] == ["plan.csv", "plan.png", "plan.html"]
    page = paths[2].read_text()
    for text in [*answer(plan), *assumptions(plan), *method(plan)]:
        assert text in unescape(page)
    assert "How many people, and how many of them on a worse arm?" in page
    assert "greedyfirst plan &lt;&amp;&gt;" in page
    assert f"greedyfirst {__version__}, seed 10" in page
    assert page.count("<table>") == 3
    assert page.count('<img src="data:image/png;base64,') == 2
    assert not re.search(r"(src|href)=\"http", page)
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_pictures_show_the_numbers_of_the_plan():
    plan = plan_trial(POPULATION, EFFECTS, people=[20, 60], trials=20)
    axes = Figure().add_subplot()
    draw_people(plan, axes)
    for line, design in zip(axes.containers, (ADAPTIVE, FIXED), strict=True):
        expected = [size * plan.row(size, design)["not_best"] for size in plan.people]
        np.testing.assert_allclose(line.lines[0].get_ydata(), expected)
    axes = Figure().add_subplot()
    draw_precision(plan, axes)
    errors = axes.containers[0].lines[0].get_ydata()
    np.testing.assert_allclose(errors, [plan.row(n, ADAPTIVE)["error_95"] for n in plan.people])
    widths = axes.containers[3].lines[0].get_ydata()
    np.testing.assert_allclose(widths, [plan.row(n, FIXED)["width"] / 2 for n in plan.people])


def test_a_difference_that_cannot_be_estimated_is_none(tmp_path):
    """Greedy never tries the other arm: no interval, no error, nothing to draw for it."""
    effects = given_effects(POPULATION, [[9.0, 0.0], [-9.0, 0.0]])
    plan = plan_trial(
        POPULATION, effects, noise=0.1, people=[10, 20], trials=10, policy=Greedy(initial_pulls=1)
    )
    page = write_plan(plan, tmp_path)[2].read_text()
    assert "none</td>" in page
    assert "needs more than 20 people; a fixed" in page
