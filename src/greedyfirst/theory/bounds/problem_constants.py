r"""The constants of Assumptions 1, 2 and 4 for given arms and contexts, by simulation.

Contexts are drawn once; every constant is estimated from them, with a confidence bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from greedyfirst.problems.context_distributions.context_distribution import (
    ContextDistribution,
    check_distribution,
)
from greedyfirst.theory.bounds.assumption_errors import (
    ALPHA_MARGIN,
    BOUNDED,
    POSITIVE,
    required_by,
)
from greedyfirst.theory.bounds.norm_bounds import largest_norm
from greedyfirst.validation import FloatArray, array, number, whole_number, wrong

# Widths κ at which the margin condition is evaluated: the narrowest contains this share of the
# draws, each next one is wider by this factor.
NARROWEST_SHARE = 0.005
WIDTH_FACTOR = 1.02
FEWEST_CONTEXTS = 10_000
# e to minus this is still a normal float; a lower bound smaller than that is set to 0.
LARGEST_EXPONENT = 600.0


@dataclass(frozen=True, kw_only=True)
class MarginEstimate:
    """C₀ of Assumption 2, or C of Definition 2 with another exponent α.

    The condition is about all κ > 0, but a sample says nothing about κ → 0: widths below
    ``narrowest`` are not evaluated. If the density of x'(β_i - β_j) is continuous at 0, as for the
    laws of §2.2, the ratio P/κ at ``narrowest`` is already close to its limit; so P/κ^α goes to 0
    with κ for α < 1, and for α > 1 it has no bound unless the density vanishes at 0.

    Examples
    --------
    P[0 < 2|x| ≤ κ] = κ/2 for x uniform on [-1, 1], so C₀ = 1/2:

    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import ProblemConstants
    >>> law = UniformBox(n_features=1)
    >>> margin = ProblemConstants(contexts=law, arms=[[1.0], [-1.0]], n_samples=100_000).margin()
    >>> bool(abs(margin.value - 0.5) < 0.05), bool(margin.upper >= margin.value)
    (True, True)
    """

    alpha: float
    value: float
    #: An upper bound for all κ ≥ ``narrowest``, with the confidence asked for.
    upper: float
    narrowest: float


@dataclass(frozen=True, kw_only=True)
class LeadEstimate:
    """Assumption 4 for one h: which arms are optimal, and λ₁.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox, WithIntercept
    >>> from greedyfirst.theory import ProblemConstants
    >>> law = WithIntercept(contexts=UniformBox(n_features=1))
    >>> arms = [[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]  # they pay x, -x and -1
    >>> lead = ProblemConstants(contexts=law, arms=arms, n_samples=10_000).lead(0.2)
    >>> lead.optimal, lead.suboptimal
    ((0, 1), (2,))
    """

    h: float
    #: K_opt: arms that lead by more than h on contexts that span R^d.
    optimal: tuple[int, ...]
    #: K_sub: arms that trail by more than h on every context drawn.
    suboptimal: tuple[int, ...]
    #: Arms that are neither: Assumption 4 does not hold for this h.
    undecided: tuple[int, ...]
    #: λ_min(E[xx' 1{x ∈ U_i}]) of each arm.
    eigenvalues: tuple[float, ...]
    #: λ₁, its standard error, and a lower confidence bound; 0 where undecided arms are left.
    lambda1: float
    standard_error: float
    lower: float

    @property
    def holds(self) -> bool:
        """Whether every arm is optimal or sub-optimal, by this sample."""
        return not self.undecided and bool(self.optimal)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProblemConstants:
    """Contexts drawn for given arms, and the constants estimated from them.

    Parameters
    ----------
    contexts : context distribution
        The law of a context.
    arms : array (n_arms, n_features)
        β of each arm.
    n_samples, seed : int
        Contexts to draw, and the only source of randomness.
    confidence : float
        The confidence of each bound.
    x_max : float or None
        A bound of ‖x‖; by default that of `largest_norm`, or else the largest norm drawn.

    Attributes
    ----------
    b_max : float
        The largest ‖β_i‖.
    x_max_is_certain : bool
        False where x_max is the largest norm drawn: the true one may be larger.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import ProblemConstants
    >>> law = UniformBox(n_features=2)
    >>> constants = ProblemConstants(contexts=law, arms=[[3.0, 4.0], [0.0, 1.0]], n_samples=10_000)
    >>> constants.b_max, round(constants.x_max, 6), constants.x_max_is_certain
    (5.0, 1.414214, True)
    """

    contexts: ContextDistribution
    arms: ArrayLike
    n_samples: int = 10**6
    seed: int = 0
    confidence: float = 0.99
    x_max: float | None = None
    b_max: float = field(init=False)
    x_max_is_certain: bool = field(init=False)
    _drawn: FloatArray = field(init=False, repr=False)
    _leads: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        d = check_distribution("contexts", self.contexts).n_features
        arms = array("arms", self.arms, (None, d))
        if len(arms) < 2:
            raise wrong("arms", arms.shape, "at least two rows, one for each arm")
        n = whole_number("n_samples", self.n_samples, at_least=FEWEST_CONTEXTS)
        number("confidence", self.confidence, above=0, below=1)
        rng = np.random.default_rng(whole_number("seed", self.seed, at_least=0))
        drawn = array("contexts.sample(rng, n_samples)", self.contexts.sample(rng, n), (n, d))
        self._set("arms", arms)
        self._set("b_max", float(np.linalg.norm(arms, axis=1).max()))
        self._set("_drawn", drawn)
        self._set_largest_norm(drawn)
        self._set("_leads", _leads(drawn @ arms.T))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _set_largest_norm(self, drawn: FloatArray) -> None:
        longest = float(np.sqrt(np.einsum("ij,ij->i", drawn, drawn)).max())
        told = largest_norm(self.contexts) if self.x_max is None else self.x_max
        with required_by(BOUNDED):
            if told is not None:
                # A context on the sphere itself may be longer by rounding.
                told = number("x_max", told, at_least=longest * (1 - 1e-12))
        self._set("x_max", longest if told is None else told)
        self._set("x_max_is_certain", told is not None)

    @property
    def n_arms(self) -> int:
        """K."""
        return int(np.asarray(self.arms).shape[0])

    @property
    def n_features(self) -> int:
        """d."""
        return int(np.asarray(self.arms).shape[1])

    @property
    def moment(self) -> FloatArray:
        """E[xx'] (d, d), of the contexts drawn."""
        moment: FloatArray = self._drawn.T @ self._drawn / self.n_samples
        return moment

    @property
    def only_context(self) -> FloatArray | None:
        """The context, where there is only one."""
        first: FloatArray = self._drawn[0]
        return first.copy() if (self._drawn == first).all() else None

    def margin(self, alpha: float = 1.0) -> MarginEstimate:
        r"""C(α): the largest P[0 < |x'(β_i - β_j)| ≤ κ]/κ^α over pairs of arms and widths κ.

        C(1) is C₀ of Assumption 2, C(α) what Corollary 1 needs (Definition 2); C(0) is at most 1.
        On a grid κ₁ < κ₂ < …, P[… ≤ κ] ≤ P[… ≤ κ_{g+1}] for κ between κ_g and κ_{g+1}; so C(α) is
        at most the largest P[… ≤ κ_{g+1}]/κ_g^α. Each probability has its Clopper-Pearson bound,
        the error shared among all (Bonferroni).
        """
        with required_by(ALPHA_MARGIN):
            alpha = number("alpha", alpha, at_least=0)
        arms = np.asarray(self.arms)
        pairs = [(i, j) for i in range(len(arms)) for j in range(i)]
        found = [self._pair_margin(arms[i] - arms[j], len(pairs), alpha) for i, j in pairs]
        return MarginEstimate(
            alpha=alpha,
            value=max(each[0] for each in found),
            upper=max(each[1] for each in found),
            narrowest=max(each[2] for each in found),
        )

    def _pair_margin(
        self, difference: FloatArray, n_pairs: int, alpha: float
    ) -> tuple[float, float, float]:
        gaps = np.abs(self._drawn @ difference)
        gaps = np.sort(gaps[gaps > 0])
        fewest = int(NARROWEST_SHARE * self.n_samples)
        if len(gaps) < fewest:
            return 0.0, 0.0, 0.0
        lowest, highest = gaps[fewest - 1], gaps[-1]
        steps = max(2, math.ceil(math.log(highest / lowest) / math.log(WIDTH_FACTOR)) + 1)
        widths = np.geomspace(lowest, highest * (1 + 1e-12), steps)
        counts = np.searchsorted(gaps, widths, side="right")
        n, level = self.n_samples, (1 - self.confidence) / (n_pairs * steps)
        upper = np.where(counts < n, stats.beta.isf(level, counts + 1, n - counts), 1.0)
        # Wider than the widest gap drawn the probability is at most 1, and κ only grows.
        upper = np.append(upper, 1.0)
        powers = widths**alpha
        value = float((counts / n / powers).max())
        return value, float((upper[1:] / powers).max()), float(lowest)

    def lead(self, h: float, *, shared_by: int = 1) -> LeadEstimate:
        r"""Assumption 4 for a lead h: K_opt, K_sub and λ₁(h) = min_i λ_min(E[xx' 1{x ∈ U_i}]).

        The lower bound needs no matrix inequality. In the true weakest direction v of an arm, which
        is not random, v'Σ̂v is a mean of numbers in [0, x_max²] with mean λ_min(Σ), and it is at
        least λ_min(Σ̂). So λ_min(Σ) is at least the lower Chernoff bound that goes with
        λ_min(Σ̂); the error is shared among the arms, and by ``shared_by`` values of h.
        """
        with required_by(POSITIVE):
            h = number("h", h, above=0)
        found = [self._lead_of(arm, h) for arm in range(self.n_arms)]
        optimal = tuple(arm for arm, (value, _, _) in enumerate(found) if value > 0)
        suboptimal = tuple(arm for arm, (_, _, highest) in enumerate(found) if highest < -h)
        undecided = tuple(
            arm for arm in range(self.n_arms) if arm not in optimal and arm not in suboptimal
        )
        lambda1 = error = lower = 0.0
        if not undecided and optimal:
            weakest = min(optimal, key=lambda arm: found[arm][0])
            lambda1, error, _ = found[weakest]
            alpha = (1 - self.confidence) / (self.n_arms * shared_by)
            lower = self._lower(lambda1, alpha)
        return LeadEstimate(
            h=h,
            optimal=optimal,
            suboptimal=suboptimal,
            undecided=undecided,
            eigenvalues=tuple(value for value, _, _ in found),
            lambda1=lambda1,
            standard_error=error,
            lower=lower,
        )

    def largest_lead(self) -> float:
        """The smallest, over the arms that ever lead, of the largest lead drawn."""
        highest = self._leads.max(axis=0)
        leading = highest[highest > 0]
        return float(leading.min()) if len(leading) else 0.0

    def _lead_of(self, arm: int, h: float) -> tuple[float, float, float]:
        """λ_min on U_i, its standard error, and the largest lead drawn."""
        leads = self._leads[:, arm]
        inside = self._drawn[leads > h]
        highest = float(leads.max())
        if len(inside) < self.n_features:
            return 0.0, 0.0, highest
        values, vectors = np.linalg.eigh(inside.T @ inside / self.n_samples)
        if values[0] <= 1e-13 * values[-1]:
            return 0.0, 0.0, highest
        squares = (inside @ vectors[:, 0]) ** 2
        variance = float(np.sum(squares**2)) / self.n_samples - float(values[0]) ** 2
        return float(values[0]), math.sqrt(max(variance, 0.0) / self.n_samples), highest

    def _lower(self, value: float, alpha: float) -> float:
        """The Chernoff lower bound of a mean in [0, x_max²]: n·KL(value, bound) = log(1/α)."""
        scale = float(self.x_max or 0.0) ** 2
        share, budget = value / scale, math.log(1 / alpha) / self.n_samples

        def excess(bound: float) -> float:
            rest = (1 - share) * math.log((1 - share) / (1 - bound)) if share < 1 else 0.0
            return share * math.log(share / bound) + rest - budget

        # There KL is at least share·(budget/share + 1) - share, which is the budget.
        exponent = budget / share + 1
        if exponent > LARGEST_EXPONENT:
            return 0.0
        lowest = share * math.exp(-exponent)
        return scale * float(optimize.brentq(excess, lowest, share))


def _leads(expected: FloatArray) -> FloatArray:
    """x'β_i - max_{j≠i} x'β_j for every context and arm (n, n_arms)."""
    ordered: NDArray[np.float64] = np.partition(expected, expected.shape[1] - 2, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.where(expected == best, expected - second, expected - best)
