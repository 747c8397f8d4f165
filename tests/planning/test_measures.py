"""Measures of a trial against closed forms and statsmodels."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t

from greedyfirst import Agent, Greedy, GreedyFirst
from greedyfirst.compiling.records import Record, part
from greedyfirst.planning import least_difference, normal_population, plan_trial, random_effects
from greedyfirst.planning.measures import Trials, find_truth, has_starving_arm, interval
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores
from greedyfirst.problems import GaussianNoise, LinearProblem

D, SIGMA, GAP = 3, 1.5, 0.6


def fixed_trials(n_arms, people, trials, *, interaction=0.0):
    """Measures of fixed trials; the policy's decisions are always arm 0 here."""
    population = normal_population(D)
    effects = least_difference(population, n_arms=n_arms, difference=GAP, interaction=interaction)
    problem = LinearProblem(
        contexts=population.contexts, arms=effects.arms, noise=GaussianNoise(sigma=SIGMA)
    )
    found = Trials(problem, population, Greedy(warmup="pinv"), people=people, seed=5)
    for instance in range(trials):
        found.add(instance, np.zeros((1, people), np.int16))
    return found


def exact_variance(n):
    """Of the estimated mean outcome of an arm with n people, for normal features."""
    return SIGMA**2 * (n - 2) / (n * (n - D - 2))


@pytest.fixture(scope="module")
def two_arms():
    return fixed_trials(2, 40, 1500)


def test_squared_error_and_standard_error_of_a_fixed_trial(two_arms):
    """Both have the mean σ²Σ(n-2)/(n(n-d-2)); 4 standard errors: a false alarm in 8000."""
    truth = 2 * exact_variance(20)
    quantile = t.ppf(0.975, 40 - 2 * (D + 1))
    error = np.array([each.error for each in two_arms.randomised])
    width = np.array([each.width for each in two_arms.randomised])
    for values in (error**2, (width / 2 / quantile) ** 2):
        assert values.mean() == pytest.approx(truth, abs=4 * values.std() / math.sqrt(1500))


def test_intervals_of_a_fixed_trial_are_right_95_times_in_100(two_arms):
    covered = np.array([each.covered for each in two_arms.randomised])
    assert covered.mean() == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 1500))


def test_width_of_a_large_fixed_trial():
    """2·1.96·σ·√(K/n + K/n) but for O(d/n)."""
    found = fixed_trials(3, 3000, 60)
    width = np.mean([each.width for each in found.randomised])
    assert width == pytest.approx(2 * 1.96 * SIGMA * math.sqrt(2 / 1000), rel=0.01)


def test_people_and_regret_of_a_fixed_trial_when_all_have_the_same_best_arm():
    found = fixed_trials(3, 30, 20)
    for each in found.randomised:
        assert each.not_best == each.worse_on_average == pytest.approx(2 / 3)
        assert each.regret == pytest.approx(20 * GAP)
    assert found.differences == pytest.approx([GAP] * 20)
    assert found.differing == [0.0] * 20


def test_the_best_of_two_arms_is_found_as_often_as_the_normal_law_says(two_arms):
    """The chance Φ(gap/deviation) but for the variation of the deviation, some 0.005."""
    right = np.mean([each.right_arm for each in two_arms.randomised])
    chance = NormalDist().cdf(GAP / math.sqrt(2 * exact_variance(20)))
    assert right == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / 1500) + 0.005)


def test_one_arm_for_all_tells_nothing_of_the_difference(two_arms):
    """Nobody is on the best arm, or everybody."""
    for each in two_arms.adaptive[:50]:
        assert (each.width, each.error) == (math.inf, math.inf)
        assert math.isnan(each.covered)
        assert each.starving == 1
        assert each.regret == pytest.approx(40 * GAP * each.not_best)
    shares = {each.worse_on_average for each in two_arms.adaptive}
    assert shares == {0.0, 1.0}


def test_interval_is_that_of_statsmodels():
    """One regression with every arm's own coefficients, and a contrast at the mean context."""
    rng = np.random.default_rng(2)
    population = normal_population(2)
    x = population.contexts.sample(rng, 60)
    arms = rng.integers(3, size=60)
    beta = rng.normal(size=(3, 3))
    rewards = np.einsum("nd,nd->n", x, beta[arms]) + rng.normal(size=60)
    truth = find_truth(beta, population.mean)
    design = np.column_stack([x * (arms == arm)[:, np.newaxis] for arm in range(3)])
    contrast = np.zeros(9)
    contrast[3 * truth.pair[0]], contrast[3 * truth.pair[1]] = 1.0, -1.0
    test = sm.OLS(rewards, design).fit().t_test(contrast)
    low, high = test.conf_int()[0]
    width, error, covered = interval(population.coordinates(x), arms, rewards, truth)
    assert width == pytest.approx(high - low, rel=1e-9)
    assert error == pytest.approx(abs(test.effect[0] - truth.difference), rel=1e-9)
    assert covered == (low <= truth.difference <= high)


@pytest.mark.parametrize(("rule", "line"), [(2, 96), (1, 8)])
@pytest.mark.parametrize("below", [False, True])
def test_an_arm_starves_below_its_share(rule, line, below):
    """One direction, K = 2: of 320 rewards 0.6/2 is the share, and 0.05/2 by rule 1.

    The prior of rule 2 counts as less than a row here, since the arms differ by far.
    """
    rows = line + (-2 if below else 2)
    arms = np.repeat([0, 1], [320 - rows, rows])
    rewards = 5.0 * arms + np.random.default_rng(0).normal(size=320)
    agent = Agent(GreedyFirst(rule=rule), n_arms=2, n_features=1, seed=1)
    agent.update_many(np.ones((320, 1)), arms, rewards)
    assert has_starving_arm(agent) is below


def test_whether_an_arm_starves_is_told_of_any_policys_rows():
    """Of one that explores arm by arm by itself, of others by ``GreedyFirst()``."""
    population = normal_population(1)
    effects = least_difference(population, n_arms=2, difference=GAP)
    problem = LinearProblem(
        contexts=population.contexts, arms=effects.arms, noise=GaussianNoise(sigma=SIGMA)
    )
    found = {}
    for policy in (Greedy(warmup="pinv"), GreedyFirst(), GreedyFirst(rule=1)):
        trials = Trials(problem, population, policy, people=200, seed=5)
        for instance in range(5):
            trials.add(instance, np.repeat([0, 1], [180, 20])[np.newaxis].astype(np.int16))
        found[policy] = [each.starving for each in trials.adaptive]
        assert [each.starving for each in trials.randomised] == [0.0] * 5
    assert list(found.values()) == [[1.0] * 5, [1.0] * 5, [0.0] * 5]


def test_equal_arms_are_both_best_on_average():
    truth = find_truth(np.array([[0.1 + 0.2], [0.0], [0.3]]), np.ones(1))
    assert truth.best.tolist() == [True, False, True]
    assert truth.difference == pytest.approx(0, abs=1e-12)


def test_measures_do_not_depend_on_trials_before():
    """The policy's estimates are learned afresh from each trial's rows, more than 1024 of them."""
    population = normal_population(D)
    effects = random_effects(population, n_arms=2, effect=0.3)
    problem = LinearProblem(
        contexts=population.contexts, arms=effects.arms, noise=GaussianNoise(sigma=SIGMA)
    )

    def measured(instances):
        found = Trials(problem, population, Greedy(), people=1100, seed=5)
        for instance in instances:
            found.add(instance, np.zeros((1, 1100), np.int16))
        return found.adaptive[-1], found.randomised[-1]

    assert repr(measured([0, 1, 2])) == repr(measured([2]))


class WithoutModel(Record):
    scores: Scores = part()


@dataclass(frozen=True, kw_only=True)
class FirstArm(Policy):
    """Keeps no model; plain Python."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return WithoutModel(memory, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    def score(policy, state, step, context, eligible):
        return 0

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        pass


def test_a_policy_without_a_model_is_refused():
    population = normal_population(1)
    effects = random_effects(population, n_arms=2, effect=0.3)
    with pytest.raises(ValueError, match=r"^policy must be one that keeps a model"):
        plan_trial(population, effects, policy=FirstArm(), people=[5], trials=2)
