"""The rule that the bounds are about is the one that is shipped; an unlucky arm returns in time."""

import math

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
            squares = [ramp * rule.width_square(rule.theta * v / by_all) for v in own]
            np.testing.assert_allclose(above, model.scale * np.sqrt(squares * own), atol=1e-9)
            seen += sum(square > 0 for square in squares)
        agent.update(row, arm, [0.5, row[1], -1.0][arm] + rng.normal())
    assert seen > 20


@pytest.mark.parametrize("u", [0.0, 1e-8, 1e-3, 0.3, 1.0, 7.0, 300.0, 1e6])
def test_the_inverse_of_g(u):
    assert log_lack(u - math.log1p(u)) == pytest.approx(u, rel=1e-4 if u < 1e-3 else 1e-9)


def test_many_widths_are_widths():
    rule = ArmByArmRule(n_arms=4)
    lacks = np.array([0.2, 1.0, 1.5, 40.0, 1e9])
    expected = [rule.width_square(lack) for lack in lacks]
    np.testing.assert_allclose(rule.width_squares(lacks), expected, rtol=1e-12)


@pytest.mark.parametrize("deviations", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("pulls", [1, 6])
def test_an_unlucky_arm_returns_at_its_round(deviations, pulls):
    """Without noise: one arm has always paid m, the other's mean is z·σ/√n below."""
    rule = ArmByArmRule(n_arms=2)
    gap = deviations / math.sqrt(pulls)
    looked_at, look_at, rewards = 0, 0, pulls
    due = round_of_return(rule, deviations=deviations, pulls=pulls)
    while True:
        if rewards >= look_at:
            looked_at, look_at = rewards, rewards + 1 + int(rule.growth * rewards)
        square = rule.reached(looked_at, 1) * rule.width_square(rule.theta * looked_at / pulls)
        rewards += 1  # this decision's
        if math.sqrt(square / pulls) >= gap:
            break
    # Not later than promised, and not before the rewards that it takes at the earliest.
    assert due / (1 + rule.growth) - 1 <= rewards <= math.ceil(due)


def test_returns_take_about_as_long_as_said():
    rule = ArmByArmRule(n_arms=2, doubt=2.5, early=0.0, growth=0.0)
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
    ],
)
def test_constants_that_make_no_rule_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ArmByArmRule(**options)
