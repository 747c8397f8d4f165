"""The rule that the bounds are about is the one that is shipped; an unlucky arm returns in time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from greedyfirst import Agent, GreedyFirst
from greedyfirst.theory import ArmByArmRule, round_of_return
from greedyfirst.theory.bounds.arm_by_arm_rule import log_lack


def test_widths_and_looks_are_those_of_the_policy():
    """Three arms, one of them poor, so that there are raises of all sizes; with an intercept."""
    rule = ArmByArmRule(n_arms=3)
    agent = Agent(GreedyFirst(), n_arms=3, n_features=2, seed=1)
    rng = np.random.default_rng(2)
    seen = 0
    for step in range(1, 600):
        row = np.array([1.0, rng.normal()])
        arm = agent.choose(row)
        known, model = agent.state.watch.shares, agent.state.model
        assert known.looked_at >= rule.last_look(step)
        if step % 10 == 0 and known.looked_at > 0:
            above = agent.state.scores.value - agent.expected_rewards(row)
            centred = model.there @ row
            by_all = centred @ known.inverse @ centred
            own = np.einsum("i,kij,j->k", row, model.covariance, row)
            ramp = rule.reached(known.looked_at, 2)
            lacks = rule.theta * own / by_all
            squares = rule.width_squares(lacks, model.pulls.astype(float), reached=ramp)
            np.testing.assert_allclose(above, model.scale * np.sqrt(squares * own), atol=1e-9)
            seen += (squares > 0).sum()
        agent.update(row, arm, [0.5, row[1], -1.0][arm] + rng.normal())
    assert seen > 20


@pytest.mark.parametrize("u", [0.0, 1e-8, 1e-3, 0.3, 1.0, 7.0, 300.0, 1e6])
def test_the_inverse_of_g(u):
    assert log_lack(u - math.log1p(u)) == pytest.approx(u, rel=1e-4 if u < 1e-3 else 1e-9)


def test_many_widths_are_widths():
    rule = ArmByArmRule(n_arms=4)
    lacks = np.array([0.2, 1.0, 1.5, 40.0, 1e9])
    pulls = np.array([0.0, 3.0, 0.0, 7.0, 2.0])
    for reached in (1.0, 0.4):
        expected = [
            rule.width_square(lack, pulls=n, reached=reached)
            for lack, n in zip(lacks, pulls, strict=True)
        ]
        found = rule.width_squares(lacks, pulls, reached=reached)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("reached", [1.0, 0.3])
def test_a_width_is_where_students_likelihood_is_that_of_the_normal_width(reached):
    rule = ArmByArmRule(n_arms=2, rows=4.0)
    known = replace(rule, rows=math.inf)
    for lack in (1.0, 1.3, 50.0, 1e8):
        q = known.width_square(lack, pulls=6, reached=reached)
        assert q == pytest.approx(reached * rule.normal_square(lack))
        square = rule.width_square(lack, pulls=6, reached=reached)
        assert (1 + square / 10) ** -5 == pytest.approx(math.exp(-q / 2))


def test_students_width_is_never_narrower_and_at_last_the_normal_one():
    """q ≤ w² ≤ q·(e^a - 1)/a for q/ν ≤ a, and w falls with the pulls."""
    rule = ArmByArmRule(n_arms=2)
    pulls = np.arange(10_000.0)
    for lack in (1.01, 2.0, 1e3, 1e12):
        q = rule.normal_square(lack)
        squares = rule.width_squares(np.full(pulls.size, lack), pulls)
        assert (squares >= q).all()
        assert (np.diff(squares) < 0).all()
        a = q / (rule.rows + pulls)
        assert (squares <= q * np.expm1(a) / a * (1 + 1e-12)).all()
        assert (squares[a <= 1] <= (math.e - 1) * q).all()
        assert squares[-1] < 1.01 * q


def test_widths_beyond_all_numbers_are_infinite():
    assert ArmByArmRule(n_arms=2, rows=1.0, doubt=50.0).width_square(1e300, pulls=0) == math.inf


@pytest.mark.parametrize("deviations", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("pulls", [1, 6])
@pytest.mark.parametrize("rows", [5.0, math.inf])
def test_an_unlucky_arm_returns_at_its_round(deviations, pulls, rows):
    """Without noise: one arm has always paid m, the other's mean is z·σ/√n below."""
    rule = ArmByArmRule(n_arms=2, rows=rows)
    gap = deviations / math.sqrt(pulls)
    looked_at, look_at, rewards = 0, 0, pulls
    due = round_of_return(rule, deviations=deviations, pulls=pulls)
    while True:
        if rewards >= look_at:
            looked_at, look_at = rewards, rewards + 1 + int(rule.growth * rewards)
        reached = rule.reached(looked_at, 1)
        square = rule.width_square(rule.theta * looked_at / pulls, pulls=pulls, reached=reached)
        rewards += 1  # this decision's
        if math.sqrt(square / pulls) >= gap:
            break
    # Not later than promised, and not before the rewards that it takes at the earliest.
    assert due / (1 + rule.growth) - 1 <= rewards <= math.ceil(due)


def test_returns_take_about_as_long_as_said():
    rule = ArmByArmRule(n_arms=2, doubt=2.5, early=0.0, growth=0.0)
    for z in (6.0, 9.0):
        likely = (1 + z * z / 9) ** (-9 / 2)  # of Student's law, with 5 + 4 rows
        u = log_lack(-2 * math.log(likely) / 2.5)
        about = 4 / rule.theta * (1 + u) * likely ** (-2 / 2.5)
        due = round_of_return(rule, deviations=z, pulls=4)
        assert due - 1 == pytest.approx(about, rel=1e-9)
    rule = replace(rule, rows=math.inf)
    for z in (6.0, 9.0):
        u = log_lack(z * z / 2.5)
        about = 4 / rule.theta * (1 + u) * math.exp(z * z / 2.5)
        assert round_of_return(rule, deviations=z, pulls=4) == pytest.approx(about, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_arms": 1}, "n_arms"),
        ({"n_arms": 2, "share": 1.5}, "share"),
        ({"n_arms": 2, "doubt": 0}, "doubt"),
        ({"n_arms": 2, "early": -1}, "early"),
        ({"n_arms": 2, "growth": -0.1}, "growth"),
        ({"n_arms": 2, "rows": 0.5}, "rows"),
        ({"n_arms": 2, "rows": math.nan}, "rows"),
    ],
)
def test_constants_that_make_no_rule_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ArmByArmRule(**options)
