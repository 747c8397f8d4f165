r"""Contexts that an adversary chooses, perturbed by white noise (§1, after Kannan et al. 2018).

The text: "the greedy algorithm can be rate optimal in this setting even for small perturbations".
The adversary knows the parameters of the two arms and the law of the noise, not the noise itself.
It shows one unit vector x for ever: that at which an unperturbed Greedy is expected to lose most by
staying with the worse arm, which is the arms' gap there times the chance P to stay for ever.

- Greedy from estimates of 0 tries an arm at random. It stays with the worse one while the mean of
  its rewards is above 0, the estimate of the other arm. With expected reward r > 0 and noise σ,

  .. math:: P = \tfrac12 \exp\Bigl(-\sum_{n\ge1} \Phi(-\sqrt n\,r/\sigma)/n\Bigr)
            \quad\text{(Spitzer)} .

- Greedy after m first pulls of each arm, the warm start of Kannan et al., stays with the worse arm
  while its mean is above that of the better one, which no longer changes. With the gap
  :math:`u\sigma/\sqrt m`, and a mean that moves like a Brownian motion in 1/n, which leaves
  earlier, that is

  .. math:: P = \int_0^\infty (2\Phi(w) - 1)\,\varphi(u + w)\,dw .

Contexts are :math:`x + \rho z` with z ~ N(0, I), and ρ is varied.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from greedyfirst.experiments.experiment import Experiment, Varied
from greedyfirst.policies import Greedy
from greedyfirst.problems import GaussianNoise, GaussianParameters, LinearProblem
from greedyfirst.problems.problem import Draw
from greedyfirst.validation import FloatArray

N_ARMS, N_FEATURES, HORIZON, N_INSTANCES = 2, 3, 10_000, 1000
SIGMA = 0.5
PARAMETERS = GaussianParameters(n_arms=N_ARMS, mean=np.zeros(N_FEATURES), covariance=1.0)
PERTURBATIONS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
#: Directions among which the adversary chooses. The chances are interpolated between GRID; terms of
#: the series beyond TERMS, and the integral beyond 8, are below Φ(-8).
DIRECTIONS, TERMS = 720, 25_600
GRID = np.linspace(0.05, 8.0, 160)


@cache
def _from_zero() -> FloatArray:
    """The first P at 0 and where r/σ is GRID."""
    n = np.arange(1, TERMS + 1)
    sums = [float((special.ndtr(-np.sqrt(n) * drift) / n).sum()) for drift in GRID]
    return np.concatenate([[0.0], np.exp(-np.array(sums)) / 2])


@cache
def _from_pulls() -> FloatArray:
    """The second P where u is 0 or GRID."""
    w = np.linspace(0.0, 8.0, 1601)
    densities = np.exp(-((np.array([0.0, *GRID])[:, None] + w) ** 2) / 2) / np.sqrt(2 * np.pi)
    found: FloatArray = np.trapezoid((2 * special.ndtr(w) - 1) * densities, w, axis=1)
    return found


def chance_from_zero(drift: FloatArray) -> FloatArray:
    """P from estimates of 0 where r/σ is ``drift``; 0 where that is negative."""
    return np.interp(drift, [0.0, *GRID], _from_zero())


def chance_from_pulls(gap: FloatArray) -> FloatArray:
    """P after m first pulls of each arm where u is ``gap``."""
    return np.interp(gap, [0.0, *GRID], _from_pulls())


def expected_loss(parameters: FloatArray, contexts: FloatArray, initial_pulls: int) -> FloatArray:
    """The gap of the arms times P at each context (n, d): what is lost in a round."""
    means = contexts @ parameters.T
    worse = means.min(axis=1)
    gap: FloatArray = means.max(axis=1) - worse
    if initial_pulls == 0:
        return gap * chance_from_zero(worse / SIGMA)
    return gap * chance_from_pulls(gap * np.sqrt(initial_pulls) / SIGMA)


def worst_context(parameters: FloatArray, initial_pulls: int) -> FloatArray:
    """The unit vector, in the plane of the two arms' parameters, with the largest expected loss."""
    plane = np.linalg.qr(parameters.T)[0]
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    candidates = np.column_stack([np.cos(angles), np.sin(angles)]) @ plane.T
    worst: FloatArray = candidates[np.argmax(expected_loss(parameters, candidates, initial_pulls))]
    return worst


@dataclass(frozen=True, kw_only=True)
class PerturbedAdversary:
    """Two arms with β ~ N(0, I), and perturbed contexts of the adversary."""

    #: ρ, the standard deviation of each coordinate.
    perturbation: float
    #: m of the Greedy that the adversary is against.
    initial_pulls: int

    @property
    def n_arms(self) -> int:
        """Two."""
        return N_ARMS

    @property
    def n_features(self) -> int:
        """The dimension of contexts."""
        return N_FEATURES

    def draw(self, rng: np.random.Generator, horizon: int) -> Draw:
        """Parameters, perturbations, then noise: alike for every ρ."""
        parameters = PARAMETERS.sample(rng)
        noise = rng.standard_normal((horizon, N_FEATURES))
        shown = worst_context(parameters, self.initial_pulls)
        problem = LinearProblem(
            contexts=shown + self.perturbation * noise,
            arms=parameters,
            noise=GaussianNoise(sigma=SIGMA),
        )
        return problem.draw(rng, horizon)


def experiment(name: str, *, initial_pulls: int) -> Experiment:
    """Greedy at each size of the perturbation."""
    labels = {f"Greedy, ρ = {rho:g}": rho for rho in PERTURBATIONS}
    start = f"{initial_pulls} first pulls of each arm" if initial_pulls else "no first pulls"
    return Experiment(
        name=name,
        title=f"Perturbed contexts of an adversary, {start}",
        problem={
            label: PerturbedAdversary(perturbation=rho, initial_pulls=initial_pulls)
            for label, rho in labels.items()
        },
        policies=dict.fromkeys(labels, Greedy(warmup="pinv", initial_pulls=initial_pulls)),
        horizon=HORIZON,
        n_instances=N_INSTANCES,
        settings={
            "arms": N_ARMS,
            "features": N_FEATURES,
            "intercept": False,
            "noise": SIGMA,
            "contexts": "x + ρz, x the unit vector with the largest expected loss, z ~ N(0, I)",
            "perturbations": list(PERTURBATIONS),
            "arm parameters": "N(0, I)",
        },
        varied=Varied("ρ", PERTURBATIONS, boxes=True),
    )


EXPERIMENTS = (
    experiment("perturbed-adversary", initial_pulls=0),
    experiment("perturbed-adversary-warm", initial_pulls=N_FEATURES),
)
