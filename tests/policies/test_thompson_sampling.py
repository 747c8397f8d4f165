"""Thompson sampling against the closed-form posterior.

Draws are read off decisions: an arm whose score is a known number wins exactly when the other's
draw is below that number. Statistical tests state their false-alarm rates; seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from greedyfirst import Agent, ThompsonSampling
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.kernels import entry
from greedyfirst.numerics.randomness import normal, stream
from greedyfirst.testing.trial_runs import play_one_by_one

N_ARMS, D, SIGMA = 3, 4, 0.4
MEAN = np.array([0.5, 0.0, -0.5, 1.0])
COVARIANCE = np.array([[2.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]])
POLICY = ThompsonSampling(prior_mean=MEAN, prior_covariance=COVARIANCE, sigma=SIGMA)


def posterior(x, y, *, mean=MEAN, covariance=COVARIANCE, variance=SIGMA**2):
    """N(μ, Σ) given rows x with rewards y, in one go."""
    precision = np.linalg.inv(covariance)
    updated = np.linalg.inv(precision + (x.T / variance) @ x)
    return updated @ (precision @ mean + (x.T / variance) @ y), updated


@pytest.fixture(scope="module")
def trained():
    """An agent after 60 rounds, and each arm's closed-form posterior."""
    rng = np.random.default_rng(21)
    contexts = rng.normal(size=(60, D))
    rewards = contexts @ rng.normal(size=(D, N_ARMS)) + SIGMA * rng.normal(size=(60, N_ARMS))
    agent = Agent(POLICY, n_arms=N_ARMS, n_features=D, seed=4)
    arms = np.array(play_one_by_one(agent, contexts, rewards))
    assert len(set(arms)) == N_ARMS
    laws = [posterior(contexts[arms == k], rewards[arms == k, k]) for k in range(N_ARMS)]
    return agent, laws


def contexts_and_sums():
    """Unit vectors and their pairwise sums: quadratic forms there fix a whole covariance."""
    unit = np.eye(D)
    sums = [unit[i] + unit[j] for i in range(D) for j in range(i)]
    return [*unit, *sums, *np.random.default_rng(22).normal(size=(10, D))]


def test_scores_and_spreads_are_the_closed_form(trained):
    agent, laws = trained
    for context in contexts_and_sums():
        agent.probabilities(context)
        scores = agent.state.scores
        for arm, (mean, covariance) in enumerate(laws):
            assert scores.value[arm] == pytest.approx(context @ mean, rel=1e-9, abs=1e-12)
            assert scores.spread[arm] == pytest.approx(
                np.sqrt(context @ covariance @ context), rel=1e-9
            )


def test_spreads_give_the_whole_covariance_by_polarisation(trained):
    """Σ_ij = (q(e_i + e_j) - q(e_i) - q(e_j))/2 for the variances q of the draws."""
    agent, laws = trained

    def variances(context):
        agent.probabilities(context)
        return agent.state.scores.spread**2

    unit = np.eye(D)
    single = np.array([variances(e) for e in unit])
    for i in range(D):
        for j in range(D):
            pair = (variances(unit[i] + unit[j]) - single[i] - single[j]) / 2
            for arm, (_, covariance) in enumerate(laws):
                assert pair[arm] == pytest.approx(covariance[i, j], abs=1e-9)


@entry
def fill_draws(scores, step, out):
    """The draws that ``select`` compares, for seeds 0, 1, …: its documented formula."""
    for seed in range(out.shape[0]):
        rng = stream(seed, step)
        for arm in range(out.shape[1]):
            out[seed, arm] = scores.value[arm] + scores.spread[arm] * normal(rng, arm)


def test_draws_have_the_posterior_law_and_decide(trained):
    """KS per arm at 1e-6, correlations within 5/√n (6e-7 each); the best draw is the arm chosen."""
    agent, laws = trained
    context = np.array([0.3, -0.2, 0.5, 0.1])
    n = 20_000
    agent.probabilities(context)
    draws = np.zeros((n, N_ARMS))
    run(fill_draws, agent.state.scores, agent.decisions + 1, draws)
    for arm, (mean, covariance) in enumerate(laws):
        law = stats.norm(context @ mean, np.sqrt(context @ covariance @ context))
        assert stats.kstest(draws[:, arm], law.cdf).pvalue > 1e-6
    correlations = np.corrcoef(draws.T)[np.triu_indices(N_ARMS, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(n)
    decisions, seed = agent.decisions, agent.seed
    for agent.seed in range(2000):
        agent.decisions = decisions
        assert agent.choose(context) == np.argmax(draws[agent.seed])
    agent.decisions, agent.seed = decisions, seed


def test_decisions_follow_whole_parameter_draws(trained):
    """Frequencies against 200 000 draws of whole parameters, chi-square at 1e-6 per context."""
    agent, laws = trained
    rng = np.random.default_rng(23)
    decisions, seed = agent.decisions, agent.seed
    for context in rng.normal(size=(4, D)):
        draws = [rng.multivariate_normal(*law, size=200_000) @ context for law in laws]
        wanted = np.bincount(np.argmax(draws, axis=0), minlength=N_ARMS)
        counts = np.zeros(N_ARMS, int)
        for agent.seed in range(5000):
            agent.decisions = decisions
            counts[agent.choose(context)] += 1
        seen = wanted + counts > 0
        table = np.array([wanted[seen], counts[seen]])
        if table.shape[1] > 1:
            assert stats.chi2_contingency(table).pvalue > 1e-6
    agent.decisions, agent.seed = decisions, seed


def test_the_seed_is_honoured():
    """Two arms with the same law: 200 decisions of two seeds agree with probability 2⁻²⁰⁰."""
    contexts = np.random.default_rng(24).normal(size=(200, D))
    runs = [
        Agent(POLICY, n_arms=2, n_features=D, seed=seed).choose_many(contexts).tolist()
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.parametrize(
    ("mean", "covariance", "vector", "matrix"),
    [
        (0.5, 2.0, np.full(D, 0.5), 2 * np.eye(D)),
        (MEAN, [1, 2, 3, 4], MEAN, np.diag([1.0, 2, 3, 4])),
        (0, COVARIANCE.tolist(), np.zeros(D), COVARIANCE),
    ],
    ids=["numbers", "vectors", "matrix"],
)
def test_every_form_of_the_prior(mean, covariance, vector, matrix):
    policy = ThompsonSampling(prior_mean=mean, prior_covariance=covariance, sigma=1)
    agent = Agent(policy, n_arms=2, n_features=D, seed=0)
    x = np.array([1.0, -2.0, 0.5, 3.0])
    agent.probabilities(x)
    assert agent.state.scores.value == pytest.approx([x @ vector] * 2)
    assert agent.state.scores.spread == pytest.approx([np.sqrt(x @ matrix @ x)] * 2)


def test_unknown_noise_is_taken_at_the_time_of_each_update():
    """The weights 1/σ̂² of EXPERIMENTS, replayed in NumPy: residuals right after each update."""
    rng = np.random.default_rng(25)
    horizon, n_arms, d = 80, 2, 3
    contexts = rng.normal(size=(horizon, d))
    rewards = contexts @ rng.normal(size=(d, n_arms)) + 0.7 * rng.normal(size=(horizon, n_arms))
    agent = Agent(ThompsonSampling(sigma_start=100), n_arms=n_arms, n_features=d, seed=6)
    arms = play_one_by_one(agent, contexts, rewards)
    precision = [np.eye(d) for _ in range(n_arms)]
    shift = [np.zeros(d) for _ in range(n_arms)]
    squares = 0.0
    for t, arm in enumerate(arms):
        sigma = np.sqrt(squares / (t - d)) if t > n_arms * d else 100.0
        x, y = contexts[t], rewards[t, arm]
        precision[arm] += np.outer(x, x) / sigma**2
        shift[arm] += x * y / sigma**2
        squares += (y - x @ np.linalg.solve(precision[arm], shift[arm])) ** 2
    for arm in range(n_arms):
        covariance = np.linalg.inv(precision[arm])
        assert np.allclose(agent.state.model.covariance[arm], covariance, rtol=1e-8)
        assert np.allclose(agent.state.model.estimate[arm], covariance @ shift[arm], rtol=1e-8)
