"""The published end values: those of the shared curves, and how far apart ours are."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportions_ztest
from test_figure2 import REFERENCE, needs_reference

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.experiments.published import (
    PUBLISHED,
    PUBLISHED_SWITCHES,
    Comparison,
    Final,
    agree,
    compare,
    standard_errors_apart,
    switches_apart,
)

RUNS = {"fig2": 1000, "fig3": 10, "fig4": 100}


@needs_reference
def test_the_table_is_that_of_the_published_curves():
    curves = json.loads(REFERENCE.read_text())
    assert {
        name: {
            label: Final(curve["mean"][-1], curve["half_width"][-1], RUNS[name[:4]])
            for label, curve in figure.items()
        }
        for name, figure in curves.items()
    } == PUBLISHED


def test_every_published_figure_is_an_experiment():
    assert set(PUBLISHED) <= set(EXPERIMENTS)
    assert set(PUBLISHED_SWITCHES) <= set(EXPERIMENTS)


def test_joint_standard_errors():
    """Half-widths of 0.6 and 0.8 are standard errors of 0.3 and 0.4: jointly 0.5."""
    assert standard_errors_apart(Final(3.0, 0.6, 9), Final(2.0, 0.8, 9)) == pytest.approx(2.0)
    assert standard_errors_apart(Final(1.0, 0.6, 9), Final(2.0, 0.8, 9)) == pytest.approx(-2.0)
    assert math.isnan(standard_errors_apart(Final(1.0, math.nan, 1), Final(2.0, 0.8, 9)))


@pytest.mark.parametrize("runs", [2, 30, 200])
@pytest.mark.parametrize("figure", ["fig2d", "fig3a", "fig4c"])
def test_each_comparison_is_students_test(figure, runs):
    for label, published in PUBLISHED[figure].items():
        ours = Final(1.1 * published.mean, 1.3 * published.half_width, runs)
        (found,) = compare(figure, {label: ours})
        deviations = [end.half_width / 2 * math.sqrt(end.runs) for end in (ours, published)]
        expected = stats.ttest_ind_from_stats(
            *(ours.mean, deviations[0], runs, published.mean, deviations[1], published.runs),
            equal_var=True,
        )
        assert (found.figure, found.label) == (figure, label)
        assert found.z == standard_errors_apart(ours, published)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-6)


def test_what_cannot_be_compared_is_left_out():
    assert compare("fig2a", {"Greedy": Final(5.0, math.nan, 1)}) == []
    assert compare("fig2a", {"Greedy-First, t0 = 24": Final(5.0, 0.1, 9)}) == []
    assert compare("k5-d3", {"Greedy": Final(5.0, 0.1, 9)}) == []


def test_ends_without_any_spread(monkeypatch):
    monkeypatch.setitem(PUBLISHED, "fig4a", {"Oracle": Final(0.5, 0.0, 100)})
    for mean, p_value in ((0.5, 1.0), (0.6, 0.0)):
        (found,) = compare("fig4a", {"Oracle": Final(mean, 0.0, 2)})
        assert found.p_value == p_value


def test_bonferroni():
    def alike(*p_values):
        return agree([Comparison("fig2a", "Greedy", 0.0, p) for p in p_values], false_alarms=0.02)

    assert alike(0.011, 0.9)
    assert not alike(0.009, 0.9)
    assert alike(0.019) is False
    assert alike()


def test_the_false_alarm_rate_over_all_comparisons():
    """Normal runs of one law, as many as behind each published curve and 60 of ours: 1 % alarms.

    4000 times: 40 are expected; 15 and 65 are four standard errors away. Fixed seed.
    """
    rng = np.random.default_rng(1)

    def end(n):
        """Mean and half-width of n standard normal runs, by their exact laws."""
        return Final(rng.normal() / n**0.5, 2 * (rng.chisquare(n - 1) / (n - 1) / n) ** 0.5, n)

    alarms = 0
    for _ in range(4000):
        found = []
        for name, curves in PUBLISHED.items():
            ends = {label: (end(60), end(known.runs)) for label, known in curves.items()}
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(PUBLISHED, name, {label: both[1] for label, both in ends.items()})
                found += compare(name, {label: both[0] for label, both in ends.items()})
        assert len(found) == 53
        alarms += not agree(found)
    assert 15 <= alarms <= 65


@pytest.mark.parametrize(("count", "runs", "published"), [(44, 1000, 69), (9, 60, 139)])
def test_switches_are_compared_as_shares(count, runs, published):
    expected, _ = proportions_ztest([count, published], [runs, 1000])
    assert switches_apart(count, runs, published) == pytest.approx(expected, rel=1e-12)
    assert switches_apart(0, runs, 0) == 0.0
