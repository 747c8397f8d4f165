"""Plans: reproducible, each number with its error, people until a width."""

import math
from dataclasses import replace

import numpy as np
import pytest

from greedyfirst import GLMGreedy, Greedy, Oracle, ThompsonSampling
from greedyfirst.planning import given_effects, normal_population, plan_trial, random_effects
from greedyfirst.planning.measures import Measures
from greedyfirst.planning.plan import ADAPTIVE, FIXED, MEANINGS
from greedyfirst.planning.summary import (
    interpolate,
    likely_range,
    mean,
    people_until,
    quantile,
    summarise,
)
from greedyfirst.planning.wording import (
    COSTS,
    LEARNED,
    answer,
    assumptions,
    method,
    precision,
    terminal_tables,
)

POPULATION = normal_population(2)
EFFECTS = random_effects(POPULATION, n_arms=2, effect=0.5)


def made(**options):
    return plan_trial(POPULATION, EFFECTS, **{"people": [30, 120], "trials": 60, **options})


@pytest.fixture(scope="module")
def plan():
    return made(n_jobs=1)


def test_the_same_plan_on_any_number_of_threads(plan):
    assert plan.frame.equals(made(n_jobs=2).frame)
    assert not plan.frame.equals(made(seed=11).frame)


def test_a_row_per_size_and_design_with_a_standard_error_for_each_number(plan):
    columns = [name for key in MEANINGS for name in (key, f"{key}_se")]
    assert list(plan.frame.columns) == ["people", "design", *columns]
    rows = [(30, ADAPTIVE), (30, FIXED), (120, ADAPTIVE), (120, FIXED)]
    assert list(zip(plan.frame["people"], plan.frame["design"], strict=True)) == rows
    shares = ["interval", "coverage", "not_best", "worse_on_average", "starving", "right_arm"]
    assert plan.frame[shares].to_numpy().min() >= 0
    assert plan.frame[shares].to_numpy().max() <= 1


def test_regret_saved_is_the_difference_of_the_designs(plan):
    for size in plan.people:
        own, fixed = plan.row(size, ADAPTIVE), plan.row(size, FIXED)
        assert own["regret_saved"] == pytest.approx(fixed["regret"] - own["regret"])
        assert math.isnan(fixed["regret_saved"])
        assert math.isnan(fixed["alarm"])


def test_only_policies_with_a_watch_have_alarms(plan):
    assert 0 <= plan.row(120, ADAPTIVE)["alarm"] <= 1
    assert math.isnan(made(policy=Greedy(), trials=5).row(120, ADAPTIVE)["alarm"])


def test_an_arm_that_is_never_best_starves_and_alarms_are_raised():
    """Arms of 5 and -5 with little noise: the worse one is left alone at once."""
    effects = given_effects(POPULATION, [[5.0, 0.1, 0.1], [-5.0, 0.1, -0.1]])
    own = plan_trial(POPULATION, effects, noise=0.1, people=[100], trials=20).row(100, ADAPTIVE)
    assert own["starving"] == own["right_arm"] == 1
    assert own["alarm"] >= 0.8  # arms are looked at now and then only
    assert own["not_best"] < 0.1


def test_the_wanted_width_is_twice_the_effect_unless_told(plan):
    assert plan.width == 1.0
    assert made(width=0.7, trials=5).width == 0.7


def test_people_until_a_width_are_exact_where_it_falls_as_the_root():
    sizes = (100, 400, 900)
    widths = [3 / math.sqrt(n) for n in sizes]
    for wanted in (0.29, 0.2, 0.15, 0.101):
        assert people_until(sizes, widths, wanted) == pytest.approx((3 / wanted) ** 2)
    assert people_until(sizes, widths, 0.31) == 100
    assert people_until(sizes, widths, 0.099) == math.inf
    assert people_until(sizes, [math.inf, 0.2, 0.1], 0.25) == 400
    assert people_until(sizes, [0.1, 0.3, 0.1], 0.2) > 400  # for good
    assert people_until(sizes, [math.nan, math.inf, math.inf], 0.2) == math.inf


def test_interpolation_is_exact_for_powers():
    assert interpolate((100, 400), (10.0, 20.0), 200) == pytest.approx(10 * math.sqrt(2))
    assert interpolate((100, 400), (0.0, 0.0), 200) == 0


def test_people_needed_fall_with_the_width():
    wide, narrow = made(width=3.0), made(width=0.01)
    for by in ("width", "error"):
        found = wide.people_needed(FIXED, by=by)
        assert found.about == found.least == 30
        assert narrow.people_needed(FIXED, by=by).about == math.inf
    between = made(width=1.2).people_needed(FIXED, by="width")
    assert 30 < between.least < between.about < between.most < 120


def test_limits_of_a_width_are_positive():
    low, high = likely_range(2.0, 0.1)
    assert (low, high) == (pytest.approx(2 * math.exp(-0.1)), pytest.approx(2 * math.exp(0.1)))
    assert 0 < likely_range(1e-3, 5.0)[0] < 1e-3 < likely_range(1e-3, 5.0)[1] < math.inf
    assert likely_range(2.0, math.inf) == (2.0, math.inf)
    assert likely_range(math.inf, math.inf) == (math.inf, math.inf)


def test_standard_errors_of_means_and_quantiles():
    rng = np.random.default_rng(0)
    value, error = mean(np.array([1.0, 2.0, 3.0, math.nan]))
    assert (value, error) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert all(map(math.isnan, mean(np.full(3, math.nan))))
    # Of the median of n normal numbers: √(π/2n). One estimate of it varies by some 20 %.
    errors = [quantile(rng.normal(size=2000), 0.5)[1] for _ in range(100)]
    assert np.mean(errors) == pytest.approx(math.sqrt(math.pi / 4000), rel=0.1)
    assert quantile(np.array([1.0, 2.0, math.inf]), 0.5)[0] == 2.0
    assert quantile(np.array([1.0, math.inf, math.inf]), 0.5) == (math.inf, math.inf)


def test_trials_without_an_interval_are_counted():
    known = Measures(1.0, 0.2, 1.0, 0.5, 0.5, 3.0, 0.0, 1.0, 0.8)
    unknown = known._replace(width=math.inf, error=math.inf, covered=math.nan)
    found = summarise([known, known, unknown, known])
    assert found["interval"] == 0.75
    assert found["coverage"] == 1.0
    assert found["width"] == 1.0
    assert found["error_95"] == math.inf


def test_every_assumption_is_in_words(plan):
    text = " ".join(assumptions(plan))
    for part in (
        POPULATION.description,
        EFFECTS.description,
        "normal noise of standard deviation 1",
        "The policy is GreedyFirst().",
        "2 arms",
        "known before the next person comes",
        "wanted width is 1",
    ):
        assert part in text
    assert "60 trials of each size" in method(plan)[0]
    assert "percentage points" in precision(plan)


def test_quantiles_without_an_upper_limit_are_pointed_out(plan):
    assert "may be much larger" not in precision(plan)
    frame = plan.frame.copy()
    frame.loc[0, "error_95_se"] = math.inf
    assert "may be much larger" in precision(replace(plan, frame=frame))


def test_the_answer_has_the_numbers_of_the_frame(plan):
    first, second = answer(plan)
    own, fixed = plan.row(120, ADAPTIVE), plan.row(120, FIXED)
    assert "± 0.5" in first
    assert f"{own['not_best'] * 120:.0f} ({own['not_best']:.0%})" in second
    assert f"{fixed['not_best'] * 120:.0f} ({fixed['not_best']:.0%})" in second
    assert f"{own['right_arm']:.2f} and {fixed['right_arm']:.2f}" in second


def test_sizes_that_are_too_small_are_said_to_be():
    assert "needs more than 120 people; a fixed" in answer(made(width=0.01, trials=5))[0]
    assert "at most 30 people" in answer(made(width=9.0, trials=5))[0]


BAD = {
    "noise": {"noise": 0},
    "people": {"people": [100, 50]},
    "people, none": {"people": []},
    "people, fewer than arms": {"people": [1]},
    "people, text": {"people": "100"},
    "trials": {"trials": 1},
    "seed": {"seed": -1},
    "width": {"width": 0},
    "policy": {"policy": "Greedy"},
    "policy, links": {"policy": GLMGreedy()},
    "policy, truth": {"policy": Oracle()},
    "n_jobs": {"n_jobs": 0},
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    with pytest.raises(ValueError, match=f"^{case.partition(',')[0]} must be"):
        made(**BAD[case])


def test_equal_arms_need_a_width():
    effects = given_effects(POPULATION, [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    with pytest.raises(ValueError, match=r"^width must be"):
        plan_trial(POPULATION, effects)


def test_small_numbers_cut_no_heading_and_no_column():
    """Widths such as 0.000813 take room, and so does the longest name of a policy."""
    shown = terminal_tables(
        plan_trial(
            normal_population(1),
            random_effects(normal_population(1), n_arms=2, effect=0.0005),
            noise=0.001,
            policy=ThompsonSampling(prior_covariance="auto"),
            people=[50, 1000],
            trials=2,
        )
    )
    assert "…" not in shown
    for word in " ".join([*LEARNED.values(), *COSTS.values()]).split():
        assert word in shown
    edges = [line[-1] for line in shown.splitlines() if line[0] in "┃│"]
    assert edges
    assert {*edges} <= {"┃", "│"}
