"""Maximum likelihood row by row, against statsmodels, linear programs and closed forms."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from scipy.optimize import linprog, minimize

from greedyfirst.compiling.calls import run
from greedyfirst.compiling.families import entry_for, options_of
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.records import allocate, copy_record
from greedyfirst.links.link import find_link
from greedyfirst.models import centred_likelihood, generalized_linear
from greedyfirst.models.generalized_linear import WARMUPS
from greedyfirst.models.likelihood import BLOCK, GeneralizedLinear

LINKS = ("logistic", "probit", "poisson")
every_link = pytest.mark.parametrize("link", LINKS)


def observe_rows(model, warmup, arm, rows, rewards, estimates, exists):
    for n in range(rows.shape[0]):
        generalized_linear.observe(model, warmup, arm, rows[n], rewards[n])
        for i in range(rows.shape[1]):
            estimates[n, i] = model.estimate[arm, i]
        exists[n] = model.exists[arm]


@entry
def copy_model(source, target):
    copy_record(source, target)


class Trace(NamedTuple):
    """What the model says after each row."""

    estimates: np.ndarray
    exists: np.ndarray
    model: GeneralizedLinear

    @property
    def first(self):
        """How many rows it took until the estimate existed; None if it never did."""
        return int(np.argmax(self.exists)) + 1 if self.exists.any() else None


def new_model(link, n_features, *, rows, n_arms=1, window=0, rule=2):
    build = partial(
        centred_likelihood.init,
        n_arms=n_arms,
        d=n_features,
        link=options_of(find_link("link", link)),
        window_rows=window,
        rule=rule,
    )
    return allocate(build, rows=rows)[1]


def take_in(model, rows, rewards, *, warmup="none", arm=0):
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    rewards = np.ascontiguousarray(rewards, dtype=np.float64)
    trace = Trace(np.zeros(rows.shape), np.zeros(len(rows), bool), model)
    arguments = model, WARMUPS.index(warmup), arm, rows, rewards, trace.estimates, trace.exists
    run(entry_for(observe_rows, model), *arguments)
    return trace


def follow(link, rows, rewards, *, warmup="none", window=0, rule=2):
    model = new_model(link, rows.shape[1], rows=len(rows), window=window, rule=rule)
    return take_in(model, rows, rewards, warmup=warmup)


# ---------------------------------------------------------------- judges


def mean_of(link, z):
    return {
        "logistic": special.expit,
        "probit": special.ndtr,
        "poisson": lambda z: np.exp(np.minimum(z, 700.0)),
        "identity": lambda z: z,
    }[link](z)


def hazard(z):
    return np.exp(stats.norm.logpdf(z) - special.log_ndtr(z))


def derivatives(link, z, y):
    """Log-likelihood, its derivative, minus its second one, of each row."""
    mu = mean_of(link, z)
    if link == "logistic":
        value = y * special.log_expit(z) + (1 - y) * special.log_expit(-z)
        return value, y - mu, mu * (1 - mu)
    if link == "poisson":
        return y * z - mu, y - mu, mu
    up, down = hazard(z), hazard(-z)
    value = y * special.log_ndtr(z) + (1 - y) * special.log_ndtr(-z)
    return value, y * up - (1 - y) * down, y * up * (up + z) + (1 - y) * down * (down - z)


def draw(rng, link, z):
    if link == "poisson":
        return rng.poisson(np.exp(np.clip(z, -20.0, 4.0))).astype(float)
    return (rng.random(len(z)) < mean_of(link, z)).astype(float)


FAMILIES = {
    "logistic": sm.families.Binomial(),
    "probit": sm.families.Binomial(sm.families.links.Probit()),
    "poisson": sm.families.Poisson(),
}


def statsmodels_estimate(link, rows, rewards):
    """In an orthonormal basis of the columns, where statsmodels loses no digits."""
    scale = np.sqrt((rows**2).mean(axis=0))
    q, r = np.linalg.qr(rows / scale)
    q, r = q * np.sqrt(len(rows)), r / np.sqrt(len(rows))
    fit = sm.GLM(rewards, q, family=FAMILIES[link]).fit(tol=1e-14, maxiter=500)
    return np.linalg.solve(r, fit.params) / scale


def relative_error(have, want, rows):
    """In units of the features."""
    scale = np.sqrt((rows**2).mean(axis=0))
    return np.linalg.norm((have - want) * scale) / np.linalg.norm(want * scale)


def sides(link, rewards):
    if link == "poisson":
        return np.where(rewards == 0.0, -1.0, 0.0)
    return np.where(rewards == 1.0, 1.0, np.where(rewards == 0.0, -1.0, 0.0))


def has_maximum(link, rows, rewards):
    """Full rank, and the linear program finds no direction that separates the rows."""
    d = rows.shape[1]
    scaled = rows / np.maximum(np.sqrt((rows**2).sum(axis=0)), 1e-300)
    u, s, _ = np.linalg.svd(scaled, full_matrices=False)
    if len(rows) < d or s[-1] < 1e-10 * s[0]:
        return False
    side = sides(link, rewards)
    ends, others = side[side != 0, None] * u[side != 0], u[side == 0]
    if len(ends) == 0:
        return True
    inside = {"A_eq": others, "b_eq": np.zeros(len(others))} if len(others) else {}
    program = linprog(
        -ends.sum(axis=0), A_ub=-ends, b_ub=np.zeros(len(ends)), bounds=(-1, 1), **inside
    )
    assert program.status == 0
    return -program.fun < 1e-7


def first_with_maximum(link, rows, rewards):
    """The number of rows from which on there is one: more rows never take it away."""
    without, having = 0, len(rows) + 1
    while having - without > 1:
        n = (without + having) // 2
        if has_maximum(link, rows[:n], rewards[:n]):
            having = n
        else:
            without = n
    return having if having <= len(rows) else None


def standard_errors(model, arm=0):
    return np.sqrt(np.diag(model.inverse[arm]))


# ---------------------------------------------------------------- the maximum


@pytest.mark.parametrize("d", [1, 2, 5, 12])
@every_link
def test_random_designs(link, d):
    rng = np.random.default_rng(100 + d)
    rows = rng.normal(size=(600, d))
    rewards = draw(rng, link, rows @ (rng.normal(size=d) / np.sqrt(d)))
    trace = follow(link, rows, rewards)
    for n in (trace.first + 5, 100, 257, 600):
        want = statsmodels_estimate(link, rows[:n], rewards[:n])
        assert relative_error(trace.estimates[n - 1], want, rows[:n]) < 1e-6


HARD = {
    "scales": lambda rng: rng.normal(size=(400, 4)) * [1e-4, 1.0, 1e4, 1e-2],
    "correlated": lambda rng: rng.normal(size=(400, 1)) + 0.01 * rng.normal(size=(400, 3)),
    "far from 0": lambda rng: np.column_stack([np.ones(400), 2000 + 5 * rng.normal(size=400)]),
    "tiny": lambda rng: 1e-6 * rng.normal(size=(400, 3)),
    "huge": lambda rng: 1e6 * rng.normal(size=(400, 3)),
    "a rare feature": lambda rng: np.column_stack(
        [rng.normal(size=(400, 2)), np.arange(400) % 10 == 0]
    ),
}


@pytest.mark.parametrize("name", HARD)
@every_link
def test_hard_designs(link, name):
    rng = np.random.default_rng(5)
    rows = HARD[name](rng)
    centred = rows - rows.mean(axis=0)
    spread = np.maximum(centred.std(axis=0), 1e-9)
    rewards = draw(rng, link, (centred / spread) @ rng.normal(size=rows.shape[1]) * 0.5)
    trace = follow(link, rows, rewards)
    for n in (200, 400):
        want = statsmodels_estimate(link, rows[:n], rewards[:n])
        assert relative_error(trace.estimates[n - 1], want, rows[:n]) < 1e-6


def test_shares_between_0_and_1():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(200, 3))
    rewards = np.clip(special.expit(rows @ [1.0, -0.5, 0.2]) + 0.2 * rng.normal(size=200), 0, 1)
    for link in ("logistic", "probit"):
        estimate = follow(link, rows, rewards).estimates[-1]
        slope = derivatives(link, rows @ estimate, rewards)[1]
        assert np.abs(rows.T @ slope).max() < 1e-8 * np.abs(rows).sum()
        if link == "logistic":
            want = statsmodels_estimate(link, rows, rewards)
            assert relative_error(estimate, want, rows) < 1e-6


def test_counts_of_a_million():
    rng = np.random.default_rng(7)
    rows = np.column_stack([np.ones(100), 0.1 * rng.normal(size=(100, 2))])
    rewards = rng.poisson(np.exp(rows @ [14.0, 1.0, -1.0])).astype(float)
    assert rewards.max() > 1e6
    for warmup in WARMUPS:
        trace = follow("poisson", rows, rewards, warmup=warmup)
        assert trace.first == 3
        for n in (4, 20, 100):
            want = statsmodels_estimate("poisson", rows[:n], rewards[:n])
            assert relative_error(trace.estimates[n - 1], want, rows[:n]) < 1e-6


def test_an_outlying_count():
    """The step that the new row alone asks for would go beyond e⁷⁰⁹."""
    rng = np.random.default_rng(8)
    rows = np.column_stack([np.ones(60), rng.normal(size=60)])
    rewards = rng.poisson(1.0, size=60).astype(float)
    rows[50], rewards[50] = [1.0, 8.0], 1e6
    trace = follow("poisson", rows, rewards)
    for n in (50, 51, 60):
        want = statsmodels_estimate("poisson", rows[:n], rewards[:n])
        assert relative_error(trace.estimates[n - 1], want, rows[:n]) < 1e-6


def test_identity_is_least_squares_once_the_rank_is_full():
    rng = np.random.default_rng(9)
    rows, rewards = rng.normal(size=(100, 4)) * [1e-3, 1.0, 1e3, 1.0], rng.normal(size=100)
    rows[:10, 3] = rows[:10, 1]
    trace = follow("identity", rows, rewards)
    assert trace.first == 11
    for n in (11, 12, 50, 100):
        want = np.linalg.lstsq(rows[:n], rewards[:n], rcond=None)[0]
        assert relative_error(trace.estimates[n - 1], want, rows[:n]) < 1e-6


@every_link
def test_the_inverse_is_that_of_the_second_derivatives(link):
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(150, 3))
    rewards = draw(rng, link, rows @ [0.5, -0.5, 0.2])
    trace = follow(link, rows, rewards)
    curvature = derivatives(link, rows @ trace.estimates[-1], rewards)[2]
    want = np.linalg.inv((rows.T * curvature) @ rows)
    np.testing.assert_allclose(trace.model.inverse[0], want, rtol=1e-4, atol=1e-8)


@every_link
def test_the_order_of_rows_does_not_matter(link):
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(200, 4))
    rewards = draw(rng, link, rows @ [1.0, -0.5, 0.2, 0.0])
    order = rng.permutation(200)
    one, other = follow(link, rows, rewards), follow(link, rows[order], rewards[order])
    np.testing.assert_allclose(one.estimates[-1], other.estimates[-1], rtol=1e-8, atol=1e-8)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    link=st.sampled_from(LINKS),
    warmup=st.sampled_from(WARMUPS),
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 8),
    n=st.integers(1, 150),
    exponents=st.lists(st.integers(-3, 3), min_size=8, max_size=8),
    strength=st.sampled_from([0.0, 0.5, 1.5]),
)
def test_the_gradient_is_zero_wherever_the_maximum_exists(
    link, warmup, seed, d, n, exponents, strength
):
    """Against the size of its terms, at every row."""
    rng = np.random.default_rng(seed)
    unit = np.where(rng.random(d) < 0.5, rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], (n, d)))
    rewards = draw(rng, link, unit @ rng.normal(size=d) * strength)
    rows = unit * np.float_power(4.0, exponents[:d])
    trace = follow(link, rows, rewards, warmup=warmup)
    assert np.isfinite(trace.estimates).all()
    assert (trace.exists[1:] >= trace.exists[:-1]).all()
    for k in (np.flatnonzero(trace.exists) + 1)[::7]:
        z = rows[:k] @ trace.estimates[k - 1]
        slope = derivatives(link, z, rewards[:k])[1]
        terms = np.abs(rows[:k]).T @ (rewards[:k] + mean_of(link, z))
        assert (np.abs(rows[:k].T @ slope) <= 1e-6 * terms).all()


# ---------------------------------------------------------------- when it exists

DESIGNS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "signs": lambda rng, n, d: rng.choice([-1.0, 1.0], size=(n, d)),
    "one-hot": lambda rng, n, d: np.eye(d)[rng.integers(d, size=n)],
    "groups": lambda rng, n, d: np.column_stack(
        [np.ones(n), np.eye(d)[rng.integers(d, size=n)][:, 1:]]
    ),
    "whole": lambda rng, n, d: rng.integers(-1, 2, size=(n, d)).astype(float),
    "a late feature": lambda rng, n, d: (
        rng.choice([-1.0, 1.0], size=(n, d))
        * np.where(np.arange(d) < d - 1, 1.0, np.arange(n)[:, None] >= 20)
    ),
}


@pytest.mark.parametrize("name", DESIGNS)
@every_link
def test_it_exists_from_the_row_that_a_linear_program_says(link, name):
    wrong = {}
    for seed in range(14):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        rows = DESIGNS[name](rng, 40, d)
        rewards = draw(rng, link, rows @ rng.normal(size=d))
        if link == "poisson":
            rewards *= rng.random(40) < 0.4
        if link == "logistic" and seed % 3 == 0:
            shares = rng.random(40) < 0.1
            rewards[shares] = rng.random(shares.sum())
        want = first_with_maximum(link, rows, rewards)
        trace = follow(link, rows, rewards)
        if trace.first != want:
            wrong[seed] = (trace.first, want)
        assert (trace.estimates[: (want or 41) - 1] == 0.0).all() or seed in wrong
    assert not wrong


def penalised_maximum(link, rows, rewards):
    """scipy's, of the formula in the module's docstring."""
    penalty = (rows**2).mean(axis=0) / 2.5**2
    penalty[penalty == 0] = 1.0
    scale = np.sqrt(penalty)

    def loss(b):
        value, slope, _ = derivatives(link, rows @ (b / scale), rewards)
        return 0.5 * b @ b - value.sum(), b - (rows.T @ slope) / scale

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7})
    return found.x / scale


@every_link
def test_ridge_is_the_documented_maximum_until_there_is_one_without(link):
    """The first rows say little, then the last feature is missing for a while."""
    rng = np.random.default_rng(12)
    rows = rng.uniform(0.5, 1.5, size=(40, 3)) * rng.choice([-1.0, 1.0], size=(40, 3)) * [1, 9, 0.1]
    rows[:25, 2] = rows[:25, 0]
    rewards = draw(rng, link, 0.5 * rows[:, 0])
    none, ridge = (follow(link, rows, rewards, warmup=each, rule=1) for each in WARMUPS)
    assert none.first == ridge.first == first_with_maximum(link, rows, rewards)
    assert 25 < ridge.first < 40
    for n in range(1, ridge.first):
        want = penalised_maximum(link, rows[:n], rewards[:n])
        np.testing.assert_allclose(ridge.estimates[n - 1], want, rtol=1e-4, atol=1e-6)
        assert (none.estimates[n - 1] == 0.0).all()
    after = slice(ridge.first - 1, None)
    np.testing.assert_allclose(none.estimates[after], ridge.estimates[after], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("warmup", WARMUPS)
@every_link
def test_designs_that_never_have_a_maximum(link, warmup):
    rng = np.random.default_rng(13)
    normal = rng.normal(size=(150, 3))
    some = draw(rng, link, normal @ [1.0, 0.0, -1.0])
    designs = {
        "rank": (normal @ np.diag([1.0, 1.0, 0.0]), some),
        "collinear": (normal @ [[1, 0, 1], [0, 1, 1], [0, 0, 0]], some),
        "all 0": (np.column_stack([np.ones(150), normal[:, :2]]), np.zeros(150)),
        "all 0, large": (np.column_stack([np.ones(150), normal[:, :2]]) * 1e6, np.zeros(150)),
        "all 0, small": (np.column_stack([np.ones(150), normal[:, :2]]) * 1e-6, np.zeros(150)),
        "rows of zeros": (np.zeros((150, 3)), some),
        "fewer rows": (normal[:2], some[:2]),
    }
    if link != "poisson":
        designs["all 1"] = (np.column_stack([np.ones(150), normal[:, :2]]), np.ones(150))
        designs["a threshold"] = (normal, (normal[:, 0] > 0).astype(float))
    for name, (rows, rewards) in designs.items():
        trace = follow(link, rows, rewards, warmup=warmup)
        assert not trace.exists.any(), name
        assert np.isfinite(trace.estimates).all(), name
        if warmup == "none" or name == "rows of zeros":
            assert (trace.estimates == 0.0).all(), name


@every_link
def test_rows_of_zeros_change_nothing(link):
    rng = np.random.default_rng(14)
    rows = rng.normal(size=(80, 2))
    rewards = draw(rng, link, rows @ [0.5, -0.5])
    padded = np.insert(rows, np.arange(80), 0.0, axis=0)
    with_zeros = follow(link, padded, np.insert(rewards, np.arange(80), 1.0))
    without = follow(link, rows, rewards)
    np.testing.assert_allclose(with_zeros.estimates[-1], without.estimates[-1], rtol=1e-8)
    assert with_zeros.model.pulls[0] == 160


@every_link
def test_units_do_not_matter(link):
    """Powers of two: the same digits, but for the linear model's tolerance on the rank."""
    rng = np.random.default_rng(15)
    rows = rng.normal(size=(100, 3))
    rewards = draw(rng, link, rows @ [1.0, -1.0, 0.5])
    units = np.array([2.0**20, 1.0, 2.0**-3])
    for warmup in WARMUPS:
        plain = follow(link, rows, rewards, warmup=warmup)
        scaled = follow(link, rows * units, rewards, warmup=warmup)
        assert plain.first == scaled.first
        np.testing.assert_allclose(scaled.estimates * units, plain.estimates, rtol=1e-7, atol=1e-9)


# ---------------------------------------------------------------- arms, models


def test_arms_do_not_touch_each_other():
    rng = np.random.default_rng(16)
    rows = rng.normal(size=(300, 3))
    rewards = draw(rng, "logistic", rows @ [1.0, -0.5, 0.0])
    model = new_model("logistic", 3, rows=300, n_arms=3)
    for start in range(0, 300, 30):
        part = slice(start, start + 30)
        take_in(model, rows[part], rewards[part], arm=start // 30 % 2 + 1)
    assert model.pulls.tolist() == [0, 150, 150]
    assert model.exists.tolist() == [False, True, True]
    assert (model.estimate[0] == 0).all()
    for arm in (1, 2):
        mine = np.arange(300) // 30 % 2 + 1 == arm
        alone = follow("logistic", rows[mine], rewards[mine])
        assert (model.estimate[arm] == alone.estimates[-1]).all()
        np.testing.assert_allclose(model.gram[arm], rows[mine].T @ rows[mine], rtol=1e-12)


@pytest.mark.parametrize("window", [0, 64], ids=["exact", "bounded"])
def test_a_copy_is_an_equal_model(window):
    rng = np.random.default_rng(17)
    rows = rng.normal(size=(400, 3))
    rewards = draw(rng, "logistic", rows @ [1.0, -0.5, 0.0])
    size = {"rows": 400, "n_arms": 2, "window": window}
    source, target = (new_model("logistic", 3, **size) for _ in range(2))
    for arm in (0, 1):
        part = slice(100 * arm, 100 * arm + 100)
        take_in(source, rows[part], rewards[part], arm=arm)
    take_in(target, rows[:30], rewards[:30], arm=1)
    run(copy_model, source, target)
    assert (source.estimate == target.estimate).all()
    for arm in (0, 1):
        later = [take_in(each, rows[200:], rewards[200:], arm=arm) for each in (source, target)]
        assert (later[0].estimates == later[1].estimates).all()
    assert source.pulls.tolist() == target.pulls.tolist() == [300, 300]


# ---------------------------------------------------------------- bounded memory


def plain_rows(seed, link, n=1500, d=4):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n), rng.normal(size=(n, d - 1))])
    return rows, draw(rng, link, rows @ (0.5 * rng.normal(size=d)))


def test_memory_does_not_grow():
    few, many = (new_model("logistic", 3, rows=n, window=100) for n in (10, 10**6))
    assert [(path, array.shape) for path, array in few.arrays()] == [
        (path, array.shape) for path, array in many.arrays()
    ]
    assert few.features.shape == (3, 3, BLOCK)  # 100 rows and a block that is being filled
    assert few.rewards.shape == (3, BLOCK)
    exact = new_model("logistic", 3, rows=10**4)
    assert exact.rewards.size >= 10**4


@every_link
def test_it_is_exact_while_nothing_is_folded(link):
    rows, rewards = plain_rows(18, link, n=193)
    exact, bounded = (follow(link, rows, rewards, window=window) for window in (0, 128))
    assert (exact.estimates[:192] == bounded.estimates[:192]).all()
    assert bounded.model.folded[0] == BLOCK
    assert (exact.estimates[192] != bounded.estimates[192]).any()


@pytest.mark.parametrize(("window", "bound"), [(128, 0.3), (512, 0.1)])
@every_link
def test_bounded_memory_stays_within_a_fraction_of_a_standard_error(link, window, bound):
    """After 1500 rows of plain data: 0.3 of a standard error with 128 rows kept, 0.1 with 512."""
    for seed in range(4):
        rows, rewards = plain_rows(seed, link)
        exact, bounded = (follow(link, rows, rewards, window=each) for each in (0, window))
        assert bounded.model.folded[0] >= 1500 - window - 2 * BLOCK
        error = np.abs(bounded.estimates[-1] - exact.estimates[-1])
        assert (error < bound * standard_errors(exact.model)).all()


@every_link
def test_folded_rows_are_a_second_order_expansion(link):
    rows, rewards = plain_rows(19, link, n=2 * BLOCK + 1, d=2)
    trace = follow(link, rows, rewards, window=BLOCK)
    x, y, at = rows[:BLOCK], rewards[:BLOCK], trace.estimates[2 * BLOCK - 1]
    assert trace.exists[2 * BLOCK - 1]
    _, slope, bend = derivatives(link, x @ at, y)
    hessian = (x.T * bend) @ x
    model = trace.model
    np.testing.assert_allclose(model.folded_curvature[0], hessian, rtol=1e-9)
    np.testing.assert_allclose(
        model.folded_gradient[0], x.T @ slope + hessian @ at, rtol=1e-9, atol=1e-9
    )
    last = trace.estimates[-1]
    kept = rows[BLOCK:]
    of_kept_rows = derivatives(link, kept @ last, rewards[BLOCK:])[1] @ kept
    gradient = x.T @ slope - hessian @ (last - at) + of_kept_rows
    assert np.abs(gradient).max() < 1e-8


# ---------------------------------------------------------------- near separation, far starts

# Rows that a direction separates, some of them on it: M of `proves_existence` is then only
# rounding, and its inverse proves nothing.
QUASI_SEPARATED = {
    "logistic": (
        [[2, -1, 1], [-1, 2, 0], [-1, 3, -2], [-3, -3, -1], [-2, -2, -2]],
        [1, 1, 1, 0, 1],
        "none",
    ),
    "probit": ([[1, 1], [1, 3], [1, 1], [1, -1], [1, 1]], [0, 1, 0, 0, 1], "ridge"),
    "poisson": ([[1, 1, 2], [1, 2, 1], [0, -1, 2], [-2, -1, 1]], [0, 0, 1, 2], "ridge"),
    "poisson, all 0": (
        [[2, -1], [3, -3], [2, -1], [0, -2], [0, -2], [-2, 1]],
        [0, 0, 0, 0, 0, 0],
        "none",
    ),
}


@pytest.mark.parametrize("name", QUASI_SEPARATED)
def test_quasi_separated_rows_have_no_maximum(name):
    rows, rewards, warmup = QUASI_SEPARATED[name]
    rows, rewards, link = np.array(rows, float), np.array(rewards, float), name.split(",")[0]
    assert not has_maximum(link, rows, rewards)
    assert not follow(link, rows, rewards, warmup=warmup).exists.any()


@every_link
def test_existence_on_many_small_designs_of_whole_numbers(link):
    wrong = {}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        d, size = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        rows = rng.integers(-size, size + 1, size=(30, d)).astype(float)
        rows[:, 0] = 1.0 if seed % 2 else rows[:, 0]
        rewards = draw(rng, link, rows @ rng.normal(size=d) * rng.choice([0.5, 2.0, 5.0]))
        if link == "poisson":
            rewards *= rng.random(30) < 0.4
        trace = follow(link, rows, rewards, warmup=WARMUPS[seed // 2 % 2])
        known = trace.first or len(rows) + 1
        too_early = known <= len(rows) and not has_maximum(link, rows[:known], rewards[:known])
        too_late = has_maximum(link, rows[: known - 1], rewards[: known - 1])
        if too_early or too_late:
            wrong[seed] = trace.first
    assert not wrong


@pytest.mark.parametrize("name", ["scales", "far from 0"])
@every_link
def test_existence_does_not_depend_on_units_or_origin(link, name):
    """The share ``SIDE`` of two lengths is more than the rows' own differences."""
    wrong = {}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(60, 2))
        rewards = draw(rng, link, z @ [1.0, -1.0])
        rows = z * [1e-4, 1e4] if name == "scales" else np.insert(1e4 + 5 * z, 0, 1.0, axis=1)
        have, want = follow(link, rows, rewards).first, first_with_maximum(link, rows, rewards)
        if have != want:
            wrong[seed] = (have, want)
    assert not wrong


@every_link
def test_an_estimate_exists_at_last_for_features_far_from_0(link):
    """Two features of 100000 ± 5 beside an intercept: three times the rows that are needed."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(60, 2))
        rewards = draw(rng, link, z @ [1.0, -1.0])
        rows = np.insert(1e5 + 5 * z, 0, 1.0, axis=1)
        assert has_maximum(link, rows[:20], rewards[:20])
        assert follow(link, rows, rewards).exists[-1]


def test_a_feature_that_starts_near_0_does_not_freeze_the_ridge():
    """One row makes its coefficient large, the next is then at e⁸⁰: no start but the last."""
    rows = np.array(
        [[-0.005, -1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [0.5, 1.0], [-1.0, -1.0]]
    )
    rewards = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 1.0])
    trace = follow("poisson", rows, rewards, warmup="ridge", rule=1)
    want = first_with_maximum("poisson", rows, rewards)
    assert trace.first == want
    for n in range(1, want):
        judge = penalised_maximum("poisson", rows[:n], rewards[:n])
        np.testing.assert_allclose(trace.estimates[n - 1], judge, rtol=1e-4, atol=1e-6)
    judge = statsmodels_estimate("poisson", rows, rewards)
    assert relative_error(trace.estimates[-1], judge, rows) < 1e-6


def assert_gradient_is_zero(link, rows, rewards, estimate):
    z = rows @ estimate
    terms = np.abs(rows).T @ (rewards + mean_of(link, z))
    assert (np.abs(rows.T @ derivatives(link, z, rewards)[1]) <= 1e-6 * terms).all()


def test_a_row_far_up_the_exponential_does_not_freeze_the_estimate():
    rows = [[-0.002, -1.555, 0], [-0.927, -0.291, -2.483], [-0.076, -0.192, 0], [0, -1.583, 0]]
    rows, rewards = np.array([*rows, [1.032, 0.49, 0]]), np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    trace = follow("poisson", rows, rewards)
    assert trace.exists[-1]
    assert_gradient_is_zero("poisson", rows, rewards, trace.estimates[-1])


def test_a_negative_decrement_is_no_convergence():
    """Correlated features, a start at e²⁰⁰: the inverse is rounding, g'H⁻¹g = -10⁹²."""
    rng = np.random.default_rng(198)
    d, n = int(rng.integers(2, 9)), int(rng.choice([30, 80, 200]))
    rows = rng.normal(size=(n, 1)) + 0.01 * rng.normal(size=(n, d))
    slopes = rng.normal(size=d) * rng.choice([0.3, 1, 3]) / rows.std(axis=0)
    rewards = rng.poisson(np.exp(np.clip(rows @ slopes, -20, 5))) * (rng.random(n) >= 0.6) * 1.0
    trace = follow("poisson", rows, rewards)
    for k in (10, 11, n):
        assert_gradient_is_zero("poisson", rows[:k], rewards[:k], trace.estimates[k - 1])


def test_blocks_folded_before_the_maximum_exists():
    """Rare rewards with warmup "none": expanded at 0, they pull the estimate there for good."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.ones(3000), rng.normal(size=3000)])
    rewards = draw(rng, "logistic", rows @ [-5.0, 0.5])
    exact = follow("logistic", rows, rewards)
    for warmup in ("ridge", "none"):
        bounded = follow("logistic", rows, rewards, warmup=warmup, window=64)
        error = np.abs(bounded.estimates[-1] - exact.estimates[-1])
        assert (error < standard_errors(exact.model)).all(), warmup
