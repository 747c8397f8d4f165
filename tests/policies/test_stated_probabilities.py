"""A policy that states its probabilities, as a script has it: inverse gap weighting.

p = 1/(K + γ·gap) for all arms but the best, which gets the rest (Abe and Long 1999; Foster and
Rakhlin 2020). Statistical checks have fixed seeds and a false-alarm rate of 1e-6 each.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from greedyfirst import Agent, Greedy, GreedyFirst, simulate
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, allocate, part
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import (
    NO_ARM,
    Scores,
    chosen_in_python,
    predict,
    refusal,
    selection_probabilities,
)
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem
from greedyfirst.testing import check_policy
from greedyfirst.validation import number

FALSE_ALARM = 1e-6


class GapState(Record):
    model = part()
    scores = part()


@dataclass(frozen=True, kw_only=True)
class InverseGapWeighting(Policy):
    gamma: float = 10.0

    def __post_init__(self):
        number("gamma", self.gamma, at_least=0)

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        model = least_squares.init(memory, n_arms, n_features)
        state = GapState(memory, model=model, scores=Scores(memory, n_arms=n_arms))
        state.scores.stated = True
        return state

    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        predict(state.model, context, state.scores)
        value = state.scores.value
        best, n_open = -1, 0
        for arm in range(eligible.shape[0]):
            if eligible[arm] != 0.0:
                n_open += 1
                if best < 0 or value[arm] > value[best]:
                    best = arm
        rest, highest = 1.0, value[best]
        for arm in range(eligible.shape[0]):
            gap = highest - value[arm]
            value[arm] = 0.0
            if eligible[arm] != 0.0 and arm != best:
                value[arm] = 1.0 / (n_open + policy.gamma * gap)
                rest -= value[arm]
        value[best] = rest
        return -1

    @staticmethod
    @kernel
    def update(policy, state, step, context, arm, reward):
        least_squares.observe(state.model, PINV, arm, context, reward)


def by_formula(estimates, context, eligible, gamma):
    means, chances = estimates @ context, np.zeros(len(eligible))
    best = max(np.flatnonzero(eligible), key=lambda arm: means[arm])
    others = [arm for arm in np.flatnonzero(eligible) if arm != best]
    chances[others] = 1 / (eligible.sum() + gamma * (means[best] - means[others]))
    chances[best] = 1.0 - chances.sum()
    return chances


def learned(gamma=10.0, policy=None, rounds=60):
    policy = InverseGapWeighting(gamma=gamma) if policy is None else policy
    agent = Agent(policy, n_arms=3, n_features=2, seed=4)
    rng = np.random.default_rng(8)
    for context in rng.normal(size=(rounds, 2)):
        arm = agent.choose(context)
        agent.update(context, arm, float(context[arm % 2] + 0.1 * arm + 0.2 * rng.normal()))
    return agent


def test_inverse_gap_weighting_passes_the_common_checks():
    check_policy(InverseGapWeighting(gamma=3.0))


@pytest.mark.parametrize("eligible", [[0, 1, 2], [0, 2], [1]])
@pytest.mark.parametrize("gamma", [0.0, 10.0, 1e6])
def test_probabilities_and_propensities_are_the_formula(gamma, eligible):
    agent = learned(gamma)
    mask = np.isin(range(3), eligible)
    for context in np.random.default_rng(1).normal(size=(20, 2)):
        exact = by_formula(agent.state.model.estimate, context, mask, gamma)
        if len(eligible) == 3:
            np.testing.assert_allclose(agent.probabilities(context), exact, rtol=1e-12, atol=1e-15)
        arm = agent.choose(context, eligible=eligible)
        np.testing.assert_allclose(agent.propensities, exact, rtol=1e-12, atol=1e-15)
        assert agent.propensity == agent.propensities[arm]
        assert agent.mode == "policy"


def test_a_fallback_that_states_probabilities_keeps_them_in_greedy_first():
    """Before the switch greedy decides; then the fallback's probabilities, exactly; and back."""
    inside = GreedyFirst(warmup="pinv", t0=20, lambda0=100.0, fallback=InverseGapWeighting())
    agent = learned(policy=inside, rounds=15)
    context = np.array([0.3, -1.0])
    assert set(agent.probabilities(context).tolist()) <= {0.0, 0.5, 1.0}
    agent = learned(policy=inside)
    assert agent.explores
    estimates = agent.state.fallback.model.estimate
    exact = by_formula(estimates, context, np.ones(3, bool), 10.0)
    np.testing.assert_allclose(agent.probabilities(context), exact, rtol=1e-12)
    agent.drop_arm(1)  # back to greedy without it
    assert not agent.explores
    assert agent.probabilities(context)[1] == 0
    assert agent.probabilities(context).max() == 1


def test_simulate_takes_arms_by_the_stated_probabilities():
    """γ = 0 is uniform: a chi-squared test of the pulls of 200 instances."""
    problem = LinearProblem(
        contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0),
        arms=GaussianParameters(n_arms=3, mean=[0.0, 0.0], covariance=1.0),
        noise=GaussianNoise(sigma=0.5),
    )
    policies = {"even": InverseGapWeighting(gamma=0.0), "best": InverseGapWeighting(gamma=1e12)}
    settings = {"n_instances": 200, "horizon": 60, "seed": 1, "progress": False}
    result = simulate(problem, policies | {"greedy": Greedy(warmup="pinv")}, **settings)
    assert stats.chisquare(result.pulls[:, 0].sum(axis=0)).pvalue > FALSE_ALARM
    assert result.final[:, 1].mean() < result.final[:, 0].mean()


# ---------------------------------------------------------------- probabilities that are none


def stated(values, share=0.0):
    _, scores = allocate(lambda memory: Scores(memory, n_arms=len(values)))
    scores.value[:], scores.stated, scores.random_share = values, True, share
    return scores


OUT = -np.inf
CASES = {
    "all": ([0.2, 0.3, 0.5], [1, 1, 1], 0.0, [0.2, 0.3, 0.5]),
    "not eligible": ([0.4, 9.0, 0.6], [1, 0, 1], 0.0, [0.4, 0, 0.6]),
    "ruled out": ([0.4, OUT, 0.6], [1, 1, 1], 0.0, [0.4, 0, 0.6]),
    "certain": ([0.0, 1.0, 0.0], [1, 1, 1], 0.0, [0, 1, 0]),
    "with chance": ([0.2, 0.8, 0.0], [1, 1, 1], 0.3, [0.24, 0.66, 0.1]),
}


@pytest.mark.parametrize("case", CASES)
def test_arms_are_taken_with_the_stated_probabilities(case):
    values, eligible, share, expected = CASES[case]
    scores, eligible = stated(values, share), np.array(eligible, float)
    np.testing.assert_allclose(selection_probabilities(scores, eligible), expected, atol=1e-15)
    taken = [chosen_in_python(NO_ARM, scores, eligible, seed, 1) for seed in range(3000)]
    for count, p in zip(np.bincount(taken, minlength=3), expected, strict=True):
        assert stats.binomtest(int(count), 3000, p).pvalue > FALSE_ALARM


NONE = {
    "too little": ([0.2, 0.3, 0.4], [1, 1, 1], "eligible arms 0, 1, 2 sum to 0.9, not to 1"),
    "too much": ([0.2, 0.3, 0.5001], [1, 1, 1], "eligible arms 0, 1, 2 sum to 1.0001, not to 1"),
    "of others": ([0.2, 0.3, 0.5], [1, 0, 1], "eligible arms 0, 2 sum to 0.7, not to 1"),
    "negative": (
        [-0.5, 1.0, 0.5],
        [1, 1, 1],
        "probability of arm 0 is -0.5: expected at least 0",
    ),
    "no number": ([np.nan, 1.0, 0.0], [1, 1, 1], "probability of arm 0 is nan: expected a number"),
}


@pytest.mark.parametrize("case", NONE)
def test_probabilities_that_are_no_distribution_are_told(case):
    values, eligible, told = NONE[case]
    scores, eligible = stated(values), np.array(eligible, float)
    assert chosen_in_python(NO_ARM, scores, eligible, 1, 1) == NO_ARM
    assert told in refusal(NO_ARM, scores, eligible)
