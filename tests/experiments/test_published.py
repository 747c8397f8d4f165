"""The published end values: those of the shared curves, and differences by hand."""

import json
import math

import pytest
from test_figure2 import REFERENCE, needs_reference

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.experiments.published import PUBLISHED, Final, standard_errors_apart


@needs_reference
def test_the_table_is_that_of_the_published_curves():
    curves = json.loads(REFERENCE.read_text())
    assert {
        name: {
            label: Final(curve["mean"][-1], curve["half_width"][-1])
            for label, curve in figure.items()
        }
        for name, figure in curves.items()
    } == PUBLISHED


def test_every_published_figure_is_an_experiment():
    assert set(PUBLISHED) <= set(EXPERIMENTS)


def test_joint_standard_errors():
    """Half-widths of 0.6 and 0.8 are standard errors of 0.3 and 0.4: jointly 0.5."""
    assert standard_errors_apart(Final(3.0, 0.6), Final(2.0, 0.8)) == pytest.approx(2.0)
    assert standard_errors_apart(Final(1.0, 0.6), Final(2.0, 0.8)) == pytest.approx(-2.0)
    assert math.isnan(standard_errors_apart(Final(1.0, math.nan), Final(2.0, 0.8)))
