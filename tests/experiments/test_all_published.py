"""Every published end value beside ours: one test for all of them together."""

import numpy as np
import pytest
from test_figure4 import needs_data

from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.experiments.published import PUBLISHED, Final, agree, compare
from support.real_data import DATA

#: Few, for the time that they take. Where some instances are stuck and most are not, a mean of few
#: is far from normal: more of those.
INSTANCES = {
    "fig2a": 100,
    "fig2b": 100,
    "fig2c": 400,
    "fig2d": 400,
    "fig3a": 40,
    "fig3b": 40,
    "fig4a": 10,
    "fig4b": 10,
    "fig4c": 20,
    "fig4d": 4,
}


def run_all(instances):
    """The experiment and its result, by figure."""
    for name in PUBLISHED:
        experiment = EXPERIMENTS[name].prepared(DATA)
        yield name, experiment, experiment.run(n_instances=instances.get(name), n_jobs=2)


def explained(found):
    worst = sorted(found, key=lambda each: each.p_value)[:5]
    return "\n".join(f"{c.figure} {c.label}: z = {c.z:+.2f}, p = {c.p_value:.2g}" for c in worst)


@needs_data
def test_all_published_end_values_are_met():
    """False alarms below 1 % over all 53 together; fixed seed.

    Means of so few are skewed: of 8000 resamplings of larger runs, 0.65 % are false alarms where
    0.5 % are asked for.
    """
    found = [c for name, e, r in run_all(INSTANCES) for c in compare(name, e.final(r))]
    assert len(found) == 53
    assert agree(found, false_alarms=0.005), explained(found)


@pytest.fixture(scope="module")
def full_size():
    """As many instances as the paper has, or more."""
    return list(run_all({}))


@pytest.mark.nightly
@needs_data
def test_all_published_end_values_are_met_at_full_size(full_size):
    """False alarms: 1 % over all 53 together; fixed seed."""
    found = [c for name, e, r in full_size for c in compare(name, e.final(r))]
    assert len(found) == 53
    assert agree(found), explained(found)


def end(values, rows):
    chosen = values[rows]
    n = len(rows)
    return Final(chosen.mean(), 2 * chosen.std(ddof=1) / n**0.5, n)


@pytest.mark.nightly
@needs_data
def test_the_false_alarm_rate_for_the_laws_of_the_figures(full_size, monkeypatch):
    """Both sides resampled from our own runs, policies together: about 1 % of alarms.

    Skewed laws and all. 20 of 2000 are expected; 40 are more than four standard errors above.
    """
    rng = np.random.default_rng(1)
    published = {name: dict(ends) for name, ends in PUBLISHED.items()}
    alarms = 0
    for _ in range(2000):
        found = []
        for name, _, result in full_size:
            n, known = result.n_instances, published[name]
            runs = next(iter(known.values())).runs
            own, other = rng.integers(n, size=n), rng.integers(n, size=runs)
            places = {label: result.policies.index(label) for label in known}
            drawn = {label: end(result.final[:, k], other) for label, k in places.items()}
            monkeypatch.setitem(PUBLISHED, name, drawn)
            found += compare(
                name, {label: end(result.final[:, k], own) for label, k in places.items()}
            )
        alarms += not agree(found)
    assert alarms <= 40
