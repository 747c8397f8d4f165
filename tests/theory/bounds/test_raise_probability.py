"""With covariate diversity hardly anybody is raised again: the bound against chance and malice."""

import math

import numpy as np
import pytest
from scipy import stats

from greedyfirst import Agent, GreedyFirst
from greedyfirst.problems import UniformBall
from greedyfirst.theory import (
    ArmByArmRule,
    raise_probability,
    raise_probability_after_pulls,
    share_slack,
)
from greedyfirst.theory.bounds.raise_probability import drift_rate

# One-sided tests at this level; a file of them gives a false alarm with a chance below 1 %.
LEVEL = 1e-4


@pytest.mark.parametrize("theta", [0.1, 0.3, 0.45])
@pytest.mark.parametrize("diversity", [0.46, 0.5])
def test_the_rate_is_the_root(theta, diversity):
    y = drift_rate(theta, diversity)
    won = diversity * (1 - math.exp(-(1 - theta) * y))
    assert won == pytest.approx((1 - diversity) * (math.exp(theta * y) - 1), rel=1e-9)
    assert y > 0
    assert drift_rate(diversity, diversity) == drift_rate(0.5, 0.4) == 0.0


@pytest.mark.parametrize(("theta", "slack"), [(0.3, 1.0), (0.3, 2.5), (0.45, 1.0), (0.45, 6.0)])
def test_one_feature_of_signs_is_a_walk(theta, slack):
    """x = ±1, so that each arm gets a round with a chance of 1/2: the ruin of a gambler."""
    rng = np.random.default_rng(0)
    n = 10_000
    first = np.where(rng.random((n, 600)) < 0.5, 1.0, 0.0).cumsum(axis=1)
    rounds = np.arange(1, 601)
    fails = [(slack + own - theta * rounds < 0).any(axis=1) for own in (first, rounds - first)]
    rule = ArmByArmRule(n_arms=2, share=2 * theta)
    options = {"diversity": 0.5, "leverage": 1.0, "n_features": 1}
    bound = raise_probability(rule, slack=slack, **options)
    either = (fails[0] | fails[1]).sum()
    assert stats.binom.sf(either - 1, n, bound) > LEVEL
    if bound < 1:  # and it is not far above the truth
        assert either / n > bound / 4


def signs(rng, n):
    """Contexts (±1, ±1): E[xx'] = I, x'x = 2."""
    return rng.choice([-1.0, 1.0], size=(n, 2))


@pytest.mark.parametrize("theta", [0.3, 0.4])
def test_malice_does_not_break_the_bound(theta):
    """Each round somebody chooses the half-space that takes most of the weakest direction."""
    rng = np.random.default_rng(1)
    n, start = 2000, 16
    # Each arm has had each of the four contexts equally often.
    held = np.tile(np.eye(2) * (0.5 - theta) * start, (n, 2, 1, 1))
    slack, failed = (0.5 - theta) * start, np.zeros(n, dtype=bool)
    for _ in range(400):
        x = signs(rng, n)
        weakest = np.linalg.eigh(held[:, 0])[1][:, :, 0]
        tilted = weakest + 0.1 * rng.normal(size=(n, 2))
        first = np.einsum("ni,ni->n", x, tilted) > 0
        # Half of them mirror it, so that the malice is also against the other arm.
        first[n // 2 :] ^= True
        outer = np.einsum("ni,nj->nij", x, x)
        held[:, 0] += (first - theta)[:, None, None] * outer
        held[:, 1] += (~first - theta)[:, None, None] * outer
        failed |= np.linalg.eigvalsh(held)[:, :, 0].min(axis=1) < -1e-9
    rule = ArmByArmRule(n_arms=2, share=2 * theta)
    bound = raise_probability(rule, slack=slack, diversity=0.5, leverage=2.0, n_features=2)
    assert bound < 0.9 or theta == 0.4
    assert stats.binom.sf(failed.sum() - 1, n, bound) > LEVEL


@pytest.mark.parametrize("pulls", [20, 60])
def test_pulls_in_turns_and_then_greedy(pulls):
    """From the last look on that can be before the first decision of its own."""
    rng = np.random.default_rng(2)
    n, theta = 4000, 0.3
    rule = ArmByArmRule(n_arms=2, share=2 * theta)
    held, failed = np.zeros((n, 2, 2, 2)), np.zeros(n, dtype=bool)
    for step in range(1, 6 * pulls):
        x = signs(rng, n)
        if step <= 2 * pulls:
            first = np.full(n, step % 2 == 1)
        else:
            weakest = np.linalg.eigh(held[:, 1])[1][:, :, 0]
            first = np.einsum("ni,ni->n", x, weakest + 0.1 * rng.normal(size=(n, 2))) > 0
        outer = np.einsum("ni,nj->nij", x, x)
        held[:, 0] += (first - theta)[:, None, None] * outer
        held[:, 1] += (~first - theta)[:, None, None] * outer
        if step >= 2 * int(rule.last_look(2 * pulls + 1) / 2):
            failed |= np.linalg.eigvalsh(held)[:, :, 0].min(axis=1) < -1e-9
    options = {"diversity": 0.5, "leverage": 2.0, "n_features": 2}
    bound = raise_probability_after_pulls(rule, pulls=pulls, **options)
    assert stats.binom.sf(failed.sum() - 1, n, bound) > LEVEL
    assert bound < 1 or pulls == 20


def test_the_policy_raises_nobody_who_holds_a_share():
    """Whatever prior and scale it has learned: 40 runs, from the first look after 150 rounds on.

    Contexts in the unit disc have E[xx'] = I/4, so that x'E[xx']⁻¹x is at most 4.
    """
    rule = ArmByArmRule(n_arms=2)
    bounds, raised_later = [], 0
    for seed in range(40):
        agent = Agent(GreedyFirst(), n_arms=2, n_features=2, seed=seed)
        rng = np.random.default_rng(seed)
        arms = rng.normal(size=(2, 2))
        slack, raised, held = None, False, False
        for x in UniformBall(n_features=2).sample(rng, 600):
            arm = agent.choose(x)
            if held:  # the certificate: at the last look each arm had its share in G alone
                assert not agent.state.watch.raised.any()
            raised |= slack is not None and bool(agent.state.watch.raised.any())
            agent.update(x, arm, arms[arm] @ x + 0.5 * rng.normal())
            known = agent.state.watch.shares
            if known.looked_at == agent.state.watch.clock:
                found = share_slack(agent.state.model.gram, moment=np.eye(2) / 4, theta=rule.theta)
                held = found > 0
                if slack is None and known.looked_at >= 150:
                    slack = found
        options = {"diversity": 0.5, "leverage": 4.0, "n_features": 2}
        bounds.append(raise_probability(rule, slack=slack, **options))
        raised_later += raised
    # A sum of 40 independent events; by Hoeffding it exceeds its mean by 13.5 with 1e-4.
    assert raised_later <= sum(bounds) + 13.5
    assert np.mean(bounds) < 0.5
    assert raised_later < 20


def test_slack_does_not_depend_on_the_units():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 3))
    split = [rows[:35], rows[35:]]
    change = rng.normal(size=(3, 3))
    plain = share_slack(np.array([x.T @ x for x in split]), moment=np.eye(3), theta=0.3)
    moved = share_slack(
        np.array([(x @ change).T @ (x @ change) for x in split]),
        moment=change.T @ change,
        theta=0.3,
    )
    assert plain == pytest.approx(moved)


def test_nothing_is_promised_where_nothing_can_be():
    rule = ArmByArmRule(n_arms=2)
    options = {"leverage": 3.0, "n_features": 3}
    assert raise_probability(rule, slack=1e9, diversity=rule.theta, **options) == 1.0
    assert raise_probability(rule, slack=-1.0, diversity=0.5, **options) == 1.0
    assert raise_probability_after_pulls(rule, pulls=0, diversity=0.5, **options) == 1.0
    with pytest.raises(ValueError, match="n_arms"):
        raise_probability(ArmByArmRule(n_arms=3), slack=1.0, diversity=0.5, **options)
    with pytest.raises(ValueError, match="leverage"):
        raise_probability(rule, slack=1.0, diversity=0.5, leverage=2.0, n_features=3)
    with pytest.raises(ValueError, match="diversity"):
        raise_probability(rule, slack=1.0, diversity=0.6, **options)
