"""Links against scipy, from z = -10⁶ to 10⁶, and a link of the user's own against statsmodels."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special, stats

from greedyfirst import Agent, GLMGreedy
from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for, options_of
from greedyfirst.links import LINKS, Identity, Link, Logistic, Poisson, Probit
from greedyfirst.links.link import (
    check_rewards,
    curvature,
    extreme,
    find_link,
    log_likelihood,
    mean,
    means,
    score,
)

BUILT_IN = [Identity, Logistic, Probit, Poisson]
every_link = pytest.mark.parametrize("link", BUILT_IN, ids=lambda link: link.name)
REWARDS = {
    "identity": [-2.5, 0.0, 3.0],
    "logistic": [0.0, 0.3, 1.0],
    "probit": [0.0, 0.3, 1.0],
    "poisson": [0.0, 1.0, 7.0],
}
MODERATE = np.linspace(-6.0, 6.0, 49)
# Probit changes formulas at -30, 0 and 30, Poisson at 709.
_BRANCHES = np.array([-30.0, 0.0, 30.0, 708.999, 709.0, 709.5])
_SIZES = np.concatenate([np.geomspace(1e-300, 1.0, 8), np.geomspace(2.0, 1e6, 60)])
EVERYWHERE = np.unique(
    np.concatenate(
        [
            -_SIZES,
            _SIZES,
            MODERATE,
            _BRANCHES,
            np.nextafter(_BRANCHES, -np.inf),
            np.nextafter(_BRANCHES, np.inf),
        ]
    )
)


def log_moment(link, z, tau):
    """log E[exp(τ(Y - μ(z)))] of 0/1 rewards or counts."""
    mu = link.mean(z)
    if link is Poisson:
        return mu * (math.expm1(tau) - tau)
    return math.log1p(mu * math.expm1(tau)) - tau * mu


def test_links_know_whether_noise_is_sub_gaussian():
    """σ = 1/2 is enough for rewards in [0, 1]; for counts no σ is, not even at one z."""
    taus = np.concatenate([-np.geomspace(0.01, 20, 60), np.geomspace(0.01, 20, 60)])
    for link in (Logistic, Probit):
        assert link.subgaussian
        half = link.largest_sigma**2 / 2
        assert max(log_moment(link, z, t) - half * t * t for z in MODERATE for t in taus) <= 1e-12
    # Less would not do: μ = 1/2 attains it as τ goes to 0.
    assert log_moment(Logistic, 0.0, 0.01) > 0.4999**2 / 2 * 0.01**2
    assert not Poisson.subgaussian
    assert log_moment(Poisson, 0.0, 20.0) > 1e6 * 20**2
    assert Identity.subgaussian  # normal noise, whose σ is an argument
    assert (Link.canonical, Link.subgaussian) == (False, False)  # one's own must say so


def evaluate(link, z, y, out):
    for i in range(z.shape[0]):
        out[0, i] = mean(link, z[i])
        out[1, i] = log_likelihood(link, z[i], y)
        out[2, i] = score(link, z[i], y)
        out[3, i] = curvature(link, z[i], y)
        out[4, i] = extreme(link, y)


def compiled(link, z, y):
    """Mean, log-likelihood, score, curvature and extreme, as compiled loops have them."""
    z = np.ascontiguousarray(z, dtype=np.float64)
    options, out = options_of(link), np.zeros((5, len(z)))
    run(entry_for(evaluate, options), options, z, float(y), out)
    return out


@every_link
def test_links_know_whether_they_are_canonical(link):
    """The score is the residual y - μ(z) for a canonical link, and for no other."""
    residuals = []
    for y in REWARDS[link.name]:
        means, _, scores, *_ = compiled(link, MODERATE, y)
        residuals.append(scores - (y - means))
    assert bool(np.abs(residuals).max() < 1e-9) == link.canonical


# ---------------------------------------------------------------- judges


def normal_excess(t):
    """φ(t)/Φ(-t) - t for t > 0, without cancellation: a continued fraction."""
    tail = np.zeros_like(t)
    for k in range(2000, 1, -1):
        tail = k / (t + tail)
    return 1.0 / (t + tail)


def normal_hazard(z):
    """φ(z)/Φ(z)."""
    return math.sqrt(2.0 / math.pi) / special.erfcx(-z * math.sqrt(0.5))


def normal_bend(z):
    """h(h + z)."""
    h, far = normal_hazard(z), z < -1.5
    return h * np.where(far, normal_excess(np.where(far, -z, 1.0)), h + z)


def judge_identity(z, y):
    return z, -0.5 * (y - z) ** 2, y - z, np.ones_like(z)


def judge_logistic(z, y):
    high, low = special.expit(z), special.expit(-z)
    likelihood = y * special.log_expit(z) + (1 - y) * special.log_expit(-z)
    return high, likelihood, y * low - (1 - y) * high, high * low


def judge_probit(z, y):
    likelihood = y * special.log_ndtr(z) + (1 - y) * special.log_ndtr(-z)
    slope = y * normal_hazard(z) - (1 - y) * normal_hazard(-z)
    return special.ndtr(z), likelihood, slope, y * normal_bend(z) + (1 - y) * normal_bend(-z)


def judge_poisson(z, y):
    with np.errstate(over="ignore"):
        mu = np.where(z < 709.0, np.exp(z), np.inf)
    return mu, y * z - mu, y - mu, mu


JUDGES = {
    "identity": judge_identity,
    "logistic": judge_logistic,
    "probit": judge_probit,
    "poisson": judge_poisson,
}

# ---------------------------------------------------------------- formulas


@every_link
def test_formulas_at_every_size_of_z(link):
    """The branch points of probit are among them: 1e-10 on both sides means continuous."""
    for y in REWARDS[link.name]:
        have, want = compiled(link, EVERYWHERE, y), JUDGES[link.name](EVERYWHERE, y)
        for name, got, expected in zip(
            ["mean", "log-likelihood", "score", "curvature"], have, want, strict=False
        ):
            # A score of a share y between 0 and 1 is a difference: small against its terms.
            scale = 1.0 if name == "score" and y != 0 else 0.0
            np.testing.assert_allclose(
                got, expected, rtol=1e-10, atol=1e-13 * scale + 1e-300, err_msg=f"{name}, y = {y}"
            )


@every_link
def test_never_nan_and_signs(link):
    for y in REWARDS[link.name]:
        mu, likelihood, _, bend, _ = values = compiled(link, EVERYWHERE, y)
        assert not np.isnan(values).any()
        assert (mu[1:] >= mu[:-1]).all()
        assert (bend >= 0).all()
        assert (likelihood < np.inf).all()
        slopes = np.array([link.slope(float(z)) for z in EVERYWHERE])
        assert (slopes >= 0).all()
        peak = slopes.argmax()
        assert (slopes[1 : peak + 1] >= slopes[:peak]).all()
        assert (slopes[peak + 1 :] <= slopes[peak:-1]).all()


@every_link
def test_scores_fall_in_z(link):
    """A concave likelihood, up to rounding of the largest term."""
    for y in REWARDS[link.name]:
        slope = compiled(link, EVERYWHERE, y)[2]
        finite = slope[np.isfinite(slope)]
        assert (np.diff(finite) <= 1e-13 * np.abs(finite).max()).all()


def derivative(function, z, h=1e-2):
    """Central differences of order 8: exact to about 1e-12."""
    weights = [4 / 5, -1 / 5, 4 / 105, -1 / 280]
    steps = enumerate(weights, 1)
    return sum(w * (function(z + k * h) - function(z - k * h)) for k, w in steps) / h


@every_link
def test_each_formula_is_the_derivative_of_the_one_before(link):
    z = np.linspace(-5.0, 5.0, 41)
    slopes = np.array([link.slope(float(each)) for each in z])
    mu = derivative(lambda z: compiled(link, z, 1.0)[0], z)
    np.testing.assert_allclose(slopes, mu, rtol=1e-9, atol=1e-10)
    for y in REWARDS[link.name]:
        _, _, have_score, have_curvature, _ = compiled(link, z, y)
        first = derivative(lambda z, y=y: compiled(link, z, y)[1], z)
        second = derivative(lambda z, y=y: compiled(link, z, y)[2], z)
        np.testing.assert_allclose(have_score, first, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(have_curvature, -second, rtol=1e-9, atol=1e-10)


def test_likelihoods_are_those_of_scipy():
    """Up to the terms without z."""
    z = MODERATE
    for y in (0.0, 1.0):
        chance = stats.bernoulli.logpmf(y, special.expit(z))
        np.testing.assert_allclose(compiled(Logistic, z, y)[1], chance, rtol=1e-9)
        chance = stats.norm.logcdf(z if y else -z)
        np.testing.assert_allclose(compiled(Probit, z, y)[1], chance, rtol=1e-9)
    want = stats.poisson.logpmf(7, np.exp(z)) + special.gammaln(8)
    np.testing.assert_allclose(compiled(Poisson, z, 7.0)[1], want, rtol=1e-9, atol=1e-9)


@every_link
def test_means_of_arrays_are_the_formula(link):
    z = EVERYWHERE.reshape(-1, 3) if len(EVERYWHERE) % 3 == 0 else EVERYWHERE[None, :]
    before = z.copy()
    result = means(link, z)
    assert result.shape == z.shape
    assert (z == before).all()
    want = np.array([link.mean(float(each)) for each in z.flat]).reshape(z.shape)
    np.testing.assert_allclose(result, want, rtol=1e-14, atol=0)


@every_link
def test_extreme_rewards_are_those_whose_likelihood_never_turns(link):
    for y in REWARDS[link.name]:
        _, _, slope, _, side = compiled(link, np.array([-20.0, 20.0]), y)
        rises, falls = (slope > 0).all(), (slope < 0).all()
        assert side[0] == link.extreme(y) == float(rises) - float(falls)


# ---------------------------------------------------------------- rewards


@pytest.mark.parametrize(
    ("link", "value", "words"),
    [
        (Identity, math.nan, "a finite number"),
        (Identity, math.inf, "a finite number"),
        (Logistic, 1.5, "a number from 0 to 1"),
        (Logistic, -1e-9, "a number from 0 to 1"),
        (Logistic, math.nan, "a number from 0 to 1"),
        (Probit, 2.0, "a number from 0 to 1"),
        (Poisson, -1.0, "a whole number of at least 0"),
        (Poisson, 0.5, "a whole number of at least 0"),
        (Poisson, math.inf, "a whole number of at least 0"),
    ],
)
def test_impossible_rewards_are_named(link, value, words):
    with pytest.raises(ValueError, match=rf"^reward must be {words}.*{link.name}.*, got {value}$"):
        check_rewards("reward", link, value)
    with pytest.raises(ValueError, match=rf"^rewards\[2\] must be {words}.*, got {value}$"):
        check_rewards("rewards", link, np.array([0.0, 1.0, value, value]))
    with pytest.raises(ValueError, match=rf"^rewards\[1, 0\] must be {words}.*, got {value}$"):
        check_rewards("rewards", link, np.array([[0.0, 1.0], [value, 0.0]]))


@every_link
def test_possible_rewards_are_taken(link):
    good = np.array(REWARDS[link.name])
    assert link.accepts(good).all()
    check_rewards("rewards", link, good)
    check_rewards("reward", link, float(good[0]))
    check_rewards("rewards", link, np.zeros(0))


VARIANCE = {
    "identity": (lambda mu: np.ones_like(mu), lambda mu: 3 * np.ones_like(mu)),
    "logistic": (lambda mu: mu * (1 - mu), lambda mu: mu * (1 - mu) * (1 - 3 * mu * (1 - mu))),
    "probit": (lambda mu: mu * (1 - mu), lambda mu: mu * (1 - mu) * (1 - 3 * mu * (1 - mu))),
    "poisson": (lambda mu: mu, lambda mu: mu * (1 + 3 * mu)),
}


@every_link
def test_drawn_rewards_have_their_mean_and_variance(link):
    """Within 5 standard errors each, 24 comparisons: a false alarm in 7e4 seeds."""
    n, mu = 100_000, means(link, np.array([-1.0, 0.2, 1.5]))
    draws = link.draw(np.random.default_rng(8), np.tile(mu, (n, 1)))
    assert draws.shape == (n, 3)
    assert link.accepts(draws).all()
    second, fourth = (moment(mu) for moment in VARIANCE[link.name])
    assert (np.abs(draws.mean(axis=0) - mu) < 5 * np.sqrt(second / n)).all()
    squares = ((draws - mu) ** 2).mean(axis=0)
    assert (np.abs(squares - second) < 5 * np.sqrt((fourth - second**2) / n)).all()


@every_link
def test_a_row_is_drawn_from_the_same_random_numbers(link):
    """A better arm's reward is never below a worse one's."""
    mu = np.tile(means(link, np.array([-0.5, 0.5, 0.5])), (2000, 1))
    draws = link.draw(np.random.default_rng(9), mu)
    assert (draws[:, 0] <= draws[:, 1]).all()
    assert (draws[:, 1] == draws[:, 2]).all()


@pytest.mark.parametrize("mu", [1e16, 1e300, math.inf, math.nan])
def test_absurd_counts_are_refused(mu):
    with pytest.raises(ValueError, match=r"largest expected count must be at most 1e\+15"):
        Poisson.draw(np.random.default_rng(1), np.array([[1.0, mu]]))


def test_an_unknown_link_is_named():
    with pytest.raises(ValueError, match=r"link must be one of 'identity', .*'poisson'.*'logit'"):
        find_link("link", "logit")
    assert find_link("link", "probit") is Probit


# ---------------------------------------------------------------- a link of one's own


@pytest.fixture
def table():
    """The table of links, put back as it was."""
    before = dict(LINKS)
    yield LINKS
    LINKS.clear()
    LINKS.update(before)


def define_cloglog():
    class ComplementaryLogLog(Link):
        """P(Y = 1) = 1 - exp(-eᶻ)."""

        name = "cloglog"
        rewards = "0 or 1"

        @staticmethod
        def mean(z):
            return -math.expm1(-math.exp(min(z, 700.0)))

        @staticmethod
        def slope(z):
            return math.exp(z - math.exp(min(z, 700.0)))

        @staticmethod
        def log_likelihood(z, y):
            e = math.exp(min(z, 700.0))
            return (math.log(-math.expm1(-e)) if e > 1e-300 else z) if y == 1.0 else -e

        @staticmethod
        def score(z, y):
            e = math.exp(min(z, 700.0))
            if y == 0.0:
                return -e
            return (1.0 if e < 1.0 else 0.0) if e < 1e-300 or e > 700.0 else e / math.expm1(e)

        @staticmethod
        def curvature(z, y):
            e = math.exp(min(z, 700.0))
            if y == 0.0:
                return e
            if e > 700.0:
                return 0.0
            if e < 1e-5:
                return 0.5 * e
            h = e / math.expm1(e)
            return h * (h + e - 1.0)

        @staticmethod
        def extreme(y):
            return 1.0 if y == 1.0 else -1.0

        @staticmethod
        def accepts(rewards):
            return (rewards == 0.0) | (rewards == 1.0)

        @staticmethod
        def draw(rng, means):
            return (rng.random((len(means), 1)) < means).astype(np.float64)

    return ComplementaryLogLog


@pytest.mark.slow
def test_a_link_of_ones_own_gives_the_estimate_of_statsmodels(table):
    link = define_cloglog()
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(300), rng.normal(size=(300, 2))])
    mu = means(link, x @ [-0.5, 0.7, -0.4])
    y = link.draw(rng, mu[:, None])[:, 0]
    agent = Agent(GLMGreedy(link="cloglog"), n_arms=1, n_features=3, seed=1)
    with pytest.raises(ValueError, match=r"rewards\[0\] must be 0 or 1 .*'cloglog'.*, got 0.5"):
        agent.update_many(x[:1], [0], [0.5])
    agent.update_many(x, np.zeros(300, int), y)
    family = sm.families.Binomial(sm.families.links.CLogLog())
    want = sm.GLM(y, x, family=family).fit(tol=1e-14, maxiter=300).params
    assert agent.state.model.exists[0]
    np.testing.assert_allclose(agent.state.model.estimate[0], want, rtol=1e-6)
    expected = -np.expm1(-np.exp(x[5] @ want))
    np.testing.assert_allclose(agent.expected_rewards(x[5]), [expected], rtol=1e-6)


def test_the_table_is_as_before():
    assert list(LINKS) == ["identity", "logistic", "poisson", "probit"]


# ---------------------------------------------------------------- links defined again


def define_capped(cap):
    class Capped(Identity):
        """A mean with a constant from outside the formula."""

        name = "capped"

        @staticmethod
        def mean(z):
            return min(z, cap)

    return Capped


def test_a_link_defined_again_with_another_constant_is_compiled_again(table):
    """As a notebook's cell does that is run twice."""
    z = np.array([1.0, 2.0, 3.0])
    assert means(define_capped(1.5), z).tolist() == [1.0, 1.5, 1.5]
    assert means(define_capped(2.5), z).tolist() == [1.0, 2.0, 2.5]


def test_a_link_of_no_file_works(table):
    """As one typed in at a prompt."""
    source = (
        "class Shifted(Identity):\n"
        "    name = 'shifted'\n"
        "    @staticmethod\n"
        "    def mean(z):\n"
        "        return z + 1.0\n"
    )
    names = {"__name__": "nowhere", "Identity": Identity}
    exec(source, names)
    assert means(names["Shifted"], np.array([1.0])).tolist() == [2.0]
