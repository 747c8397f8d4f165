"""Generalised linear models by other libraries: fits by statsmodels, existence by scipy's LP."""

import warnings

import numpy as np
from scipy import optimize, special, stats
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

MEANS = {
    "logistic": special.expit,
    "probit": stats.norm.cdf,
    "poisson": np.exp,
    "identity": lambda z: z,
}
FAMILIES = {
    "logistic": families.Binomial(),
    "probit": families.Binomial(link=families.links.Probit()),
    "poisson": families.Poisson(),
    "identity": families.Gaussian(),
}


def log_likelihood(link, z, y):
    """Up to terms without z."""
    if link == "logistic":
        return y * special.log_expit(z) + (1 - y) * special.log_expit(-z)
    if link == "probit":
        return y * stats.norm.logcdf(z) + (1 - y) * stats.norm.logcdf(-z)
    return y * z - np.exp(z) if link == "poisson" else -((y - z) ** 2) / 2


def draw_rewards(rng, link, predictors):
    """Independent rewards with expectations μ(z)."""
    if link == "poisson":
        return rng.poisson(np.exp(predictors)).astype(float)
    if link == "identity":
        return predictors + rng.normal(size=predictors.shape)
    return (rng.random(predictors.shape) < MEANS[link](predictors)).astype(float)


def estimate_exists(link, x, y):
    """Whether no direction u ≠ 0 separates the rows: a linear program."""
    if len(x) == 0 or np.linalg.matrix_rank(x) < x.shape[1]:
        return False
    side = np.zeros(len(y))
    if link != "identity":
        side[y == 0] = -1.0
    if link in ("logistic", "probit"):
        side[y == 1] = 1.0
    outward = side[:, None] * x
    inside = x[side == 0]
    solved = optimize.linprog(
        -outward.sum(axis=0),
        A_ub=-outward,
        b_ub=np.zeros(len(x)),
        A_eq=inside if len(inside) else None,
        b_eq=np.zeros(len(inside)) if len(inside) else None,
        bounds=(-1, 1),
    )
    assert solved.success
    return -solved.fun < 1e-7


def maximum_likelihood(link, x, y):
    """Of rows for which it exists."""
    model = GLM(y, x, family=FAMILIES[link])
    # With n = d rows the fit may be perfect, and the scale, not used here, is divided by n - d.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        fit = model.fit(tol=1e-11, tol_criterion="params", maxiter=300, attach_wls=False)
    assert fit.converged
    return fit.params


def penalised_likelihood(link, x, y):
    """The warm-up "ridge": less Σ s²β²/(2·2.5²), s² the mean square of each feature."""
    squares = (x**2).mean(axis=0)
    penalty = np.where(squares > 0, squares, 1.0) / 2.5**2

    def loss(beta):
        return penalty @ beta**2 / 2 - log_likelihood(link, x @ beta, y).sum()

    found = optimize.minimize(loss, np.zeros(x.shape[1]), options={"gtol": 1e-9})
    return found.x


class ReferenceArms:
    """Every arm's rows, and its estimate by the other libraries."""

    def __init__(self, link, n_arms, d, *, warmup):
        self.link, self.warmup, self.d = link, warmup, d
        self.rows = [([], []) for _ in range(n_arms)]
        self.exists = np.zeros(n_arms, bool)
        self.estimate = np.zeros((n_arms, d))

    def learn(self, context, arm, reward):
        for column, value in zip(self.rows[arm], (context, reward), strict=True):
            column.append(value)
        x, y = (np.array(column) for column in self.rows[arm])
        self.exists[arm] = self.exists[arm] or estimate_exists(self.link, x, y)
        if self.exists[arm]:
            self.estimate[arm] = maximum_likelihood(self.link, x, y)
        elif self.warmup == "ridge":
            self.estimate[arm] = penalised_likelihood(self.link, x, y)

    def gram(self, arm):
        x = np.array(self.rows[arm][0]).reshape(-1, self.d)
        return x.T @ x
