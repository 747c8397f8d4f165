"""Greedy-First as it comes: only the arms that starve explore."""

import numpy as np
import pytest
from scipy.linalg import eigh

from greedyfirst import (
    Agent,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    simulate,
)
from greedyfirst.models.doubt import DOUBT, EARLY
from greedyfirst.models.learned_prior import LOUDER_ROWS
from greedyfirst.policies.greedy_first.arm_by_arm import SHARE
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem


def played(agent, n, *, n_arms=3, seed=0, worst=-4.0):
    """Decisions of an agent on rows with an intercept; the last arm pays ``worst`` everywhere."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_arms, 4))
    truth[-1] = [worst, 0.0, 0.0, 0.0]
    arms = []
    for _ in range(n):
        row = np.array([1.0, *rng.normal(size=3)])
        noise = 0.3 * rng.normal()
        arm = agent.choose(row)
        agent.update(row, arm, float(truth[arm] @ row) + noise)
        arms.append(arm)
    return arms


def known(agent, rows, arms):
    """P⁻¹ of each arm, and of the prior alone, by the rows; the last entry is the prior's."""
    model = agent.state.model
    means, variances = rows[: model.learned_at].mean(axis=0), rows[: model.learned_at].var(axis=0)
    prior = model.penalty * (np.outer(means, means) + np.diag(variances))  # about the means
    return [prior + rows[arms == arm].T @ rows[arms == arm] for arm in range(agent.n_arms)], prior


def recorded(agent, n, *, n_arms=3, seed=0, worst=-1.0):
    """The rows and arms of ``played`` decisions."""
    arms = np.array(played(agent, n, n_arms=n_arms, seed=seed, worst=worst))
    rng = np.random.default_rng(seed)
    rng.normal(size=(n_arms, 4))
    rows = []
    for _ in range(n):
        rows.append([1.0, *rng.normal(size=3)])
        rng.normal()
    return np.array(rows), arms


def raised(agent, row):
    """How much each arm's score is above what is expected of it."""
    agent.probabilities(row)
    above = agent.state.scores.value - agent.expected_rewards(row)
    return np.where(abs(above) < 1e-12, 0.0, above)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_arms", [2, 5])
def test_the_raise_is_that_of_the_formula(seed, n_arms):
    agent = Agent(GreedyFirst(), n_arms=n_arms, n_features=4, seed=seed)
    rows, arms = recorded(agent, 300, n_arms=n_arms, seed=seed)
    at = agent.state.watch.shares.looked_at
    model, theta = agent.state.model, SHARE / n_arms
    before, prior = known(agent, rows[:at], arms[:at])
    together = np.linalg.inv(sum(before) - (n_arms - 1) * prior)
    now, _ = known(agent, rows, arms)
    starved = [eigh(each, np.linalg.inv(together), eigvals_only=True)[0] < theta for each in before]
    assert agent.state.watch.starving.tolist() == starved
    for row in np.random.default_rng(seed).normal(size=(20, 4)):
        row[0] = 1.0
        expected = np.zeros(n_arms)
        for arm in np.flatnonzero(starved):
            variance = row @ np.linalg.solve(now[arm], row)
            lack = np.log(max(theta * variance / (row @ together @ row), 1.0))
            q = DOUBT * at / (at + EARLY * n_arms * 4) * (lack - np.log1p(lack))
            rows_behind = LOUDER_ROWS + (arms == arm).sum()
            squared = rows_behind * (np.exp(q / rows_behind) - 1.0)
            expected[arm] = model.scale[arm] * np.sqrt(squared * variance)
        np.testing.assert_allclose(raised(agent, row), expected, rtol=1e-6, atol=1e-10)


def test_where_every_arm_holds_its_share_nobody_is_raised():
    """Two arms, each better for half of the people in every direction: the paper's diversity."""
    agent = Agent(GreedyFirst(), n_arms=2, n_features=3, seed=4)
    rng = np.random.default_rng(4)
    for row in rng.normal(size=(2000, 3)):
        arm = agent.choose(row)
        agent.update(row, arm, float(row[0] * (1 - 2 * arm)) + 0.5 * rng.normal())
    assert not agent.state.watch.starving.any()
    assert not agent.state.watch.raises
    assert min(arm.min_eigenvalue for arm in agent.diversity().arms) > SHARE / 2


def test_reports_have_the_smallest_shares():
    agent = Agent(GreedyFirst(), n_arms=3, n_features=4, seed=7)
    rows, arms = recorded(agent, 300, seed=7)
    now, prior = known(agent, rows, arms)
    pooled = sum(now) - 2 * prior
    report = agent.diversity()
    for found, own in zip(report.arms, now, strict=True):
        assert found.min_eigenvalue == pytest.approx(eigh(own, pooled, eigvals_only=True)[0])
        assert found.threshold == pytest.approx(SHARE / 3)


def test_an_arm_that_bad_luck_made_look_worse_comes_back():
    """Without contexts; the arm that pays more was unlucky ten times, by a whole deviation."""
    agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1)
    rng = np.random.default_rng(1)
    agent.update_many(np.ones((10, 1)), np.zeros(10, int), 1.0 + rng.normal(size=10))
    agent.update_many(np.ones((10, 1)), np.ones(10, int), 0.3 + rng.normal(size=10))
    arms = []
    for _ in range(5000):
        arm = agent.choose([1.0])
        agent.update([1.0], arm, (1.0, 1.3)[arm] + rng.normal())
        arms.append(arm)
    assert np.mean(arms[-1000:]) > 0.9


def test_an_arm_that_is_surely_worse_is_tried_ever_more_rarely():
    agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=2)
    rng = np.random.default_rng(2)
    pulls = []
    for _ in range(20_000):
        arm = agent.choose([1.0])
        agent.update([1.0], arm, (1.0, 0.0)[arm] + rng.normal())
        pulls.append(arm)
    assert 3 <= sum(pulls) <= 60  # 2·log(20 000)/1² is 20
    assert sum(pulls[10_000:]) <= 5


def test_one_bad_reward_condemns_no_arm():
    """A safe arm's noise says nothing of another's: arm 1 pays more, with sixty times the noise."""
    late = []
    for seed in range(10):
        agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=seed)
        rng = np.random.default_rng(seed)
        agent.update([1.0], 1, -2.0)
        for _ in range(4000):
            arm = agent.choose([1.0])
            agent.update([1.0], arm, rng.normal((1.0, 1.5)[arm], (0.05, 3.0)[arm]))
            late.append(arm)
    assert np.mean(late) > 0.6


def test_collinear_contexts_starve_no_arm_for_that():
    """Shares are relative to what all arms know: a direction that nobody has is no lack."""
    starving = []
    for columns in (3, 5):
        agent = Agent(GreedyFirst(), n_arms=2, n_features=columns, seed=0)
        rng = np.random.default_rng(0)
        for _ in range(400):
            x = rng.normal(size=2)
            row = np.array([x[0] + x[1], *x, x[0] - x[1], 3.0 * x[1]])[-columns:]
            arm = agent.choose(row)
            agent.update(row, arm, float(x[arm]) + 0.1 * rng.normal())
        starving.append(agent.state.watch.starving.any())
    assert starving == [False, False]


def ten_arms():
    """K=10, d=5: greedy often never learns how good some arm is."""
    return LinearProblem(
        contexts=ClippedGaussian(n_features=5, covariance=0.5, bound=1.0),
        arms=GaussianParameters(n_arms=10, mean=np.zeros(5), covariance=1.0),
        noise=GaussianNoise(sigma=0.5),
    )


def test_it_costs_a_fraction_of_greedy_where_greedy_fails():
    policies = {"Greedy-First": GreedyFirst(), "Greedy": Greedy()}
    settings = {"n_instances": 20, "horizon": 5000, "seed": 3, "n_jobs": 2}
    result = simulate(ten_arms(), policies, **settings)
    ours, greedy = result.final.mean(axis=0)
    assert ours < 0.4 * greedy


def votes(rng, n=435, questions=17):
    """Yes/no answers of two parties as dummies of both levels, without an intercept."""
    party = rng.integers(2, size=n)
    lean = rng.uniform(0.05, 0.45, questions) * rng.choice([-1, 1], questions)
    yes = rng.random((n, questions)) < 0.5 + np.where(party[:, None] == 1, 1, -1) * lean
    return np.column_stack([yes, ~yes]).astype(float), party


@pytest.mark.parametrize("policy", [Greedy(), GreedyFirst()], ids=repr)
def test_a_table_of_dummies_is_learned(policy):
    rows, party = votes(np.random.default_rng(1))
    agent = Agent(policy, n_arms=2, n_features=rows.shape[1], seed=0)
    wrong = 0
    for row, right in zip(rows, party, strict=True):
        arm = agent.choose(row)
        agent.update(row, arm, float(arm == right))
        wrong += arm != right
    assert wrong < 0.1 * len(rows)


# ------------------------------------------------------------------------------- the decision-maker


def test_alarms_come_once_for_each_time_that_an_arm_starves():
    agent = Agent(GreedyFirst(), n_arms=3, n_features=4, seed=1)
    played(agent, 48)
    assert agent.alarms == 0  # 4·K·d rewards: too early for words
    played(agent, 600, seed=1)
    worst = agent.diversity().arms[2]
    assert worst.starving
    assert worst.explored
    assert worst.tripped_at > 48
    assert agent.alarms >= 1
    clock = agent.rewards  # looks come whenever the rewards have grown by 30 %
    told = agent.diversity()
    assert clock / 1.31 - 2 < told.looked_at <= clock
    assert "arm 2 starves" in str(told)
    before = agent.alarms
    agent.state.watch.tripped_at[:] = 1
    played(agent, 400, seed=2)
    assert agent.alarms == before


def test_hold_explores_nothing_until_a_person_asks_for_the_arm():
    agent = Agent(GreedyFirst(on_alarm="hold"), n_arms=3, n_features=4, seed=1)
    played(agent, 400)
    row = np.array([1.0, 0.1, 0.2, 0.3])
    assert raised(agent, row).tolist() == [0.0, 0.0, 0.0]
    agent.answer("explore_arm", 2)
    assert (raised(agent, row) > 0).tolist() == [False, False, True]
    agent.answer("hold", 2)
    assert raised(agent, row).tolist() == [0.0, 0.0, 0.0]
    agent.explore()
    assert (raised(agent, row) > 0).all()
    assert agent.mode == "fallback"
    agent.drop_arm(2)
    assert agent.probabilities(row)[2] == 0.0
    assert agent.mode == "greedy"


def test_explore_explores_all_arms_from_the_alarm_on():
    agent = Agent(GreedyFirst(on_alarm="explore"), n_arms=3, n_features=4, seed=1)
    played(agent, 400)
    report = agent.diversity()
    assert report.mode == "fallback"
    assert report.switched_at == report.arms[2].tripped_at
    assert f"all arms are explored since reward {report.switched_at}" in str(report)
    assert (raised(agent, np.array([1.0, 0.1, 0.2, 0.3])) > 0).all()


def test_an_arm_that_joins_later_starts_from_the_prior_and_is_explored():
    agent = Agent(GreedyFirst(), n_arms=3, n_features=4, seed=1)
    played(agent, 200)
    model = agent.state.model
    reference, prior = model.reference.copy(), model.penalty * np.array(model.shape)
    arm = agent.add_arm("late", initial_pulls=0)
    np.testing.assert_array_equal(agent.state.model.estimate[arm], reference)
    inverse = agent.state.model.inverse[arm]
    np.testing.assert_allclose(inverse, np.linalg.inv(prior), rtol=1e-9, atol=1e-12)
    assert agent.diversity().arms[arm].starving
    played(agent, 50, n_arms=4, worst=20.0)
    assert agent.pulls[arm] > 30


def test_with_a_fallback_arms_are_not_explored_one_by_one():
    with pytest.raises(ValueError, match=r"^on_alarm must be one of 'explore', 'drop', 'hold'"):
        GreedyFirst(fallback=OLSBandit(), on_alarm="explore_arm")
    agent = Agent(GreedyFirst(fallback=OLSBandit()), n_arms=2, n_features=2, seed=0)
    with pytest.raises(ValueError, match=r"^answer must be one of 'explore', 'drop', 'hold'"):
        agent.answer("explore_arm", 0)
    with pytest.raises(ValueError, match=r"^regularization must be None"):
        GreedyFirst(fallback=OLSBandit(), greedy=Greedy(regularization=1.0))


@pytest.mark.parametrize(
    "option",
    [{"t0": 30}, {"lambda0": 0.1}, {"fallback": OLSBandit()}, {"warmup": "none"}, {"span": "full"}],
    ids=str,
)
def test_options_of_the_switch_test_select_the_papers_algorithm(option):
    policy = GreedyFirst(**option)
    assert not policy.arm_by_arm()
    assert policy.answer_to_alarms() == "explore"
    assert policy.greedy_policy() == Greedy(warmup="none")
    assert GreedyFirst().arm_by_arm()
    assert GreedyFirst().answer_to_alarms() == "explore_arm"


# --------------------------------------------------------------------- generalised linear rewards


def clicked(agent, n, *, seed=0):
    """Yes/no rewards of four arms; the last one is far worse for everyone."""
    rng = np.random.default_rng(seed)
    truth = np.array([[0.0, 1.0, -1.0], [0.5, -1.0, 0.5], [0.2, 0.5, 1.0], [-6.0, 0.0, 0.0]])
    for _ in range(n):
        row = np.array([1.0, *rng.normal(size=2)])
        arm = agent.choose(row)
        agent.update(row, arm, float(rng.random() < 1 / (1 + np.exp(-truth[arm] @ row))))


def test_a_yes_no_arm_is_raised_by_the_curvature_of_its_likelihood():
    agent = Agent(GreedyFirst(greedy=GLMGreedy()), n_arms=4, n_features=3, seed=3)
    clicked(agent, 1500)
    assert agent.diversity().arms[3].starving
    assert agent.pulls[3] < 60
    model, known = agent.state.model, agent.state.watch.shares
    row = np.array([1.0, 0.3, -0.5])
    agent.probabilities(row)
    # The curvature of the likelihood, which the ridge's penalty joins while that has no maximum.
    variance = row @ model.inverse[3] @ row
    lack = np.log(SHARE / 4 * variance / (row @ known.inverse @ row))
    q = DOUBT * known.looked_at / (known.looked_at + EARLY * 12) * (lack - np.log1p(lack))
    above = agent.state.scores.value - model.estimate @ row
    assert above[3] == pytest.approx(np.sqrt(q * variance), rel=1e-9)
