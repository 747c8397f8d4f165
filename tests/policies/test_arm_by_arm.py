"""Greedy-First as it comes: only the arms that starve explore."""

import numpy as np
import pytest
from scipy.linalg import eigh

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    LinUCB,
    OLSBandit,
    ThompsonSampling,
    simulate,
)
from greedyfirst.policies.greedy_first.arm_by_arm import GROWTH, SHARE
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem


def played(agent, n, *, n_arms=3, seed=0, shift=0.0, scale=1.0, units=1.0, worst=-4.0):
    """Decisions of an agent on rows with an intercept; the last arm pays ``worst`` everywhere."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_arms, 4))
    truth[-1] = [worst, 0.0, 0.0, 0.0]
    arms = []
    for _ in range(n):
        row = np.array([1.0, *rng.normal(size=3)])
        noise = 0.3 * rng.normal()
        arm = agent.choose(row * units)
        agent.update(row * units, arm, scale * (float(truth[arm] @ row) + noise) + shift)
        arms.append(arm)
    return arms


UNITLESS = [
    Greedy(),
    GreedyFirst(),
    EpsilonGreedy(),
    OLSBandit(h="auto"),
    OFUL(regularization="auto"),
    LinUCB(regularization="auto"),
    ThompsonSampling(prior_covariance="auto"),
]


@pytest.mark.parametrize("policy", UNITLESS, ids=repr)
@pytest.mark.parametrize(
    "change",
    [
        {"shift": 100.0},
        {"shift": -1e5},
        {"scale": 1000.0},
        {"units": 100.0},
        {"units": np.array([1.0, 1e-3, 50.0, 1.0])},
    ],
    ids=str,
)
def test_units_and_the_zero_of_rewards_change_no_decision(policy, change):
    plain, changed = (Agent(policy, n_arms=3, n_features=4, seed=5) for _ in range(2))
    assert played(plain, 400) == played(changed, 400, **change)


def least_shares(agent):
    """The smallest share of all samples in any direction, by a generalised eigenvalue problem."""
    grams = agent.state.model.gram
    total = grams.sum(axis=0)
    return np.array([eigh(gram, total, eigvals_only=True)[0] for gram in grams])


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_starves_when_it_lacks_its_share_in_some_direction(seed):
    agent = Agent(GreedyFirst(), n_arms=3, n_features=4, seed=seed)
    played(agent, 20, seed=seed)
    looks = 0
    for k in range(400):
        played(agent, 1, seed=1000 * seed + k)
        watch = agent.state.watch
        if watch.look_at == watch.clock + 1 + int(GROWTH * watch.clock):
            looks += 1
            assert (watch.starving == (least_shares(agent) < SHARE / 3)).all()
    assert looks >= 8
    report = agent.diversity()
    np.testing.assert_allclose(
        [arm.min_eigenvalue for arm in report.arms], least_shares(agent), rtol=1e-6
    )
    assert all(arm.threshold == SHARE / 3 for arm in report.arms)


def raised(agent, row):
    """How much each arm's score is above what is expected of it."""
    agent.probabilities(row)
    above = agent.state.scores.value - agent.expected_rewards(row)
    return np.where(abs(above) < 1e-12, 0.0, above)


def test_a_starving_arm_gets_the_benefit_of_the_doubt_and_a_fed_arm_does_not():
    agent = Agent(GreedyFirst(), n_arms=2, n_features=4, seed=2)
    played(agent, 300, n_arms=2, worst=-1.0)
    model, watch = agent.state.model, agent.state.watch
    watch.starving[:] = [False, True]
    row = np.array([1.0, 0.3, -0.2, 0.1])
    deviation = np.sqrt(model.noise_variance * row @ model.covariance[1] @ row)
    np.testing.assert_allclose(raised(agent, row), [0.0, watch.width * deviation], rtol=1e-12)
    assert watch.width == 1.0  # 0.25·log₂(1 + 300/8) is above it
    watch.starving[:] = False
    assert raised(agent, row).tolist() == [0.0, 0.0]


def test_collinear_contexts_starve_no_arm_for_that():
    agent = Agent(GreedyFirst(), n_arms=2, n_features=5, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(400):
        x = rng.normal(size=2)
        row = np.array([1.0, *x, x[0] - x[1], 3.0 * x[1]])
        arm = agent.choose(row)
        agent.update(row, arm, float(x[arm]) + 0.1 * rng.normal())
    assert not agent.state.watch.starving.any()
    assert agent.state.watch.rank == 3


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
    said = f"arm 2 starves by the look at reward {told.looked_at} (alarm since reward "
    assert f"{said}{worst.tripped_at}): it is explored" in str(told)
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
    reference, precision = model.reference.copy(), model.penalty * model.mean_squares
    arm = agent.add_arm("late", initial_pulls=0)
    np.testing.assert_array_equal(agent.state.model.estimate[arm], reference)
    np.testing.assert_allclose(agent.state.model.covariance[arm], np.diag(1.0 / precision))
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


def test_arms_of_yes_no_rewards_are_explored_one_by_one():
    agent = Agent(GreedyFirst(greedy=GLMGreedy()), n_arms=4, n_features=3, seed=3)
    clicked(agent, 1500)
    starving = [arm.starving for arm in agent.diversity().arms]
    assert starving == [False, False, False, True]
    model, watch = agent.state.model, agent.state.watch
    row = np.array([1.0, 0.3, -0.5])
    agent.probabilities(row)
    # The curvature of the likelihood, which the ridge's penalty joins while that has no maximum.
    width = np.sqrt(row @ model.inverse[3] @ row)
    np.testing.assert_allclose(
        agent.state.scores.value - model.estimate @ row, [0, 0, 0, watch.width * width], atol=1e-12
    )
    assert agent.pulls[3] < 60


@pytest.mark.parametrize("pulled", [False, True])
def test_the_variance_of_a_yes_no_arm_is_that_of_its_likelihood_and_prior(pulled):
    agent = Agent(GreedyFirst(greedy=GLMGreedy()), n_arms=2, n_features=2, seed=0)
    rows = np.array([[1.0, 2.0], [1.0, -1.0], [1.0, 4.0]])
    agent.update_many(rows, np.zeros(3, int), np.array([1.0, 0.0, 1.0]))
    probe, arm = np.array([1.0, 0.5]), 0 if pulled else 1
    agent.state.watch.starving[:] = True
    agent.probabilities(probe)
    model, watch = agent.state.model, agent.state.watch
    found = (agent.state.scores.value[arm] - model.estimate[arm] @ probe) / watch.width
    mean_squares = (rows**2).mean(axis=0)
    precision = np.diag(mean_squares / 2.5**2)
    if pulled:
        chance = 1 / (1 + np.exp(-rows @ model.estimate[0]))
        precision += (rows * (chance * (1 - chance))[:, None]).T @ rows
    assert found == pytest.approx(np.sqrt(probe @ np.linalg.solve(precision, probe)), rel=1e-3)
