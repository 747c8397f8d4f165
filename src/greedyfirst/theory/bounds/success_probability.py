"""Success probabilities without covariate diversity: Theorems 2 and 4 and their corollaries."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from greedyfirst.theory.bounds.assumption_errors import POSITIVE, required_by
from greedyfirst.theory.bounds.branch_and_bound import VACUOUS, BranchAndBound, Minimum
from greedyfirst.theory.bounds.eigenvalue_sample import EigenvalueSample
from greedyfirst.theory.bounds.failure_bound import SuccessInputs, diversity_rate, failure_terms
from greedyfirst.validation import FloatArray, number, whole_number, wrong


@dataclass(frozen=True, kw_only=True)
class SuccessProbability:
    """A lower bound of a success probability, the optimum and the errors behind it.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import EigenvalueSample, SuccessInputs, greedy_success
    >>> sample = EigenvalueSample.draw(UniformBox(n_features=2), rows=10, n_samples=2_000, seed=1)
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.001, x_max=1.5,
    ...                        lambda1=0.1, h=0.2)
    >>> success = greedy_success(inputs, sample)
    >>> bool(0 <= success.worst <= success.value <= 1)
    True
    """

    inputs: SuccessInputs
    form: str
    #: The bound with the simulated constants as they are; 0 if the theorem gives none.
    value: float
    #: The bound with all simulation errors at their worst; it holds with ``confidence``.
    worst: float
    confidence: float
    #: The infimum over (γ, δ, p) is at most this much below the failure bound found.
    gap: float
    #: γ, δ and p at the optimum, and the failure bound's five terms there; None if value is 0.
    gamma: float | None
    delta: float | None
    rounds: int | None
    terms: dict[str, float] | None

    @property
    def dominant(self) -> str | None:
        """The largest term of the failure bound."""
        terms = self.terms
        return None if terms is None else max(terms, key=lambda name: terms[name])


@dataclass(frozen=True)
class _Theorem:
    """Theorem 2, or Theorem 4 with its constraints."""

    greedy_first: bool
    lambda0: float = 0.0
    t0: int | None = None

    def search(
        self, inputs: SuccessInputs, law: tuple[FloatArray, FloatArray], form: str
    ) -> BranchAndBound | None:
        """The search, or None where no (γ, δ, p) is allowed."""
        largest = 1 - self.lambda0 / (4 * inputs.lambda1)
        too_early = self.t0 is not None and self.t0 < inputs.n_arms * inputs.initial_pulls + 1
        if largest <= 0 or too_early:
            return None
        weights = inputs.weights(form, greedy_first=self.greedy_first)
        return BranchAndBound(
            inputs, *law, weights=weights, largest_gamma=largest, last_round=self.t0
        )


def greedy_success(
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    *,
    form: str = "printed",
    tolerance: float = 1e-4,
    confidence: float = 0.99,
    lambda1_lower: float | None = None,
) -> SuccessProbability:
    r"""Theorem 2: S^gb, a lower bound of the chance that the Greedy Bandit succeeds.

    .. math:: S^{gb} = 1 - \inf_{γ \in (0,1),\, δ > 0,\, p \ge Km+1} L(γ, δ, p) .

    Success is the event of its proof: from round Km on, every arm's estimate stays within
    h/(2x_max) of the truth. Regret is then logarithmic.

    Parameters
    ----------
    inputs
        The constants of the problem.
    sample
        Draws of λ_min of m = ``inputs.initial_pulls`` contexts.
    form
        ``"printed"``, the theorem as it stands, or ``"proved"``, what its proof supports: see
        :mod:`greedyfirst.theory.bounds.failure_bound`.
    tolerance
        The largest error of the infimum: see
        :mod:`greedyfirst.theory.bounds.branch_and_bound`.
    confidence
        The confidence of ``worst`` with respect to the errors of ``sample``.
    lambda1_lower
        A lower confidence bound of λ₁ that ``worst`` uses, where λ₁ was estimated.

    Notes
    -----
    For ``worst`` the true θ is only known to be at least θ_low. L at θ_low is the worst case:
    1 - θ^K + Qθ, with Q = 2Kd e^{…}, falls in θ wherever it is below 1.

    Examples
    --------
    The less noise, the likelier that greedy succeeds:

    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import EigenvalueSample, SuccessInputs, greedy_success
    >>> sample = EigenvalueSample.draw(UniformBox(n_features=2), rows=10, n_samples=2_000, seed=1)
    >>> def chance(sigma):
    ...     inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=sigma, x_max=1.5,
    ...                            lambda1=0.1, h=0.2)
    ...     return greedy_success(inputs, sample).value
    >>> chance(1.0), bool(chance(0.0001) > 0.99)
    (0.0, True)
    """
    theorem = _Theorem(greedy_first=False)
    return _bound(theorem, inputs, sample, form, tolerance, confidence, lambda1_lower)


def greedy_first_success(
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    *,
    lambda0: float,
    t0: int,
    form: str = "printed",
    tolerance: float = 1e-4,
    confidence: float = 0.99,
    lambda1_lower: float | None = None,
) -> SuccessProbability:
    r"""Theorem 4: S^gf, a lower bound of the chance that Greedy-First never switches.

    As `greedy_success` with L' and the infimum over γ ≤ 1 - λ₀/(4λ₁) and Km+1 ≤ p ≤ t₀. All arms
    must be optimal for some contexts. 0 if t₀ ≤ Km or λ₀ ≥ 4λ₁: the theorem then says nothing.

    Parameters
    ----------
    lambda0, t0
        The parameters of the test λ_min ≥ λ₀t/4 at every t > t₀.
    inputs, sample, form, tolerance, confidence, lambda1_lower
        As for `greedy_success`.

    Examples
    --------
    >>> from greedyfirst.problems import UniformBox
    >>> from greedyfirst.theory import EigenvalueSample, SuccessInputs, greedy_first_success
    >>> sample = EigenvalueSample.draw(UniformBox(n_features=2), rows=10, n_samples=2_000, seed=1)
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.001, x_max=1.5,
    ...                        lambda1=0.1, h=0.2)
    >>> greedy_first_success(inputs, sample, lambda0=0.4, t0=1000).value  # λ₀ ≥ 4λ₁
    0.0
    """
    _check_no_suboptimal(inputs, "Theorem 4")
    lambda0 = number("lambda0", lambda0, above=0)
    theorem = _Theorem(greedy_first=True, lambda0=lambda0, t0=whole_number("t0", t0, at_least=1))
    return _bound(theorem, inputs, sample, form, tolerance, confidence, lambda1_lower)


def _check_no_suboptimal(inputs: SuccessInputs, theorem: str) -> None:
    if inputs.n_suboptimal:
        raise wrong("n_suboptimal", inputs.n_suboptimal, f"0 ({theorem}: K_sub is empty)")


def _check_rows(inputs: SuccessInputs, sample: EigenvalueSample) -> None:
    if sample.rows != inputs.initial_pulls:
        expected = f"drawn with rows = {inputs.initial_pulls}, the initial_pulls of inputs"
        raise wrong("sample", f"rows = {sample.rows}", expected)


def _bound(
    theorem: _Theorem,
    inputs: SuccessInputs,
    sample: EigenvalueSample,
    form: str,
    tolerance: float,
    confidence: float,
    lambda1_lower: float | None,
) -> SuccessProbability:
    _check_rows(inputs, sample)
    tolerance = number("tolerance", tolerance, above=0, below=1)
    careful = inputs if lambda1_lower is None else _with_lambda1(inputs, lambda1_lower)
    found = _minimum(theorem, inputs, sample.survivors(), form, tolerance)
    law = sample.confident_survivors(confidence)
    worst = VACUOUS if careful is None else _minimum(theorem, careful, law, form, tolerance)
    return SuccessProbability(
        inputs=inputs,
        form=form,
        value=1 - found.value,
        worst=1 - worst.value,
        confidence=confidence,
        gap=found.gap,
        gamma=found.gamma if found.rounds else None,
        delta=found.delta if found.rounds else None,
        rounds=found.rounds or None,
        terms=_terms(theorem, inputs, found, form) if found.rounds else None,
    )


def _minimum(
    theorem: _Theorem,
    inputs: SuccessInputs,
    law: tuple[FloatArray, FloatArray],
    form: str,
    tolerance: float,
) -> Minimum:
    search = theorem.search(inputs, law, form)
    return VACUOUS if search is None else search.run(tolerance)


def _terms(theorem: _Theorem, inputs: SuccessInputs, found: Minimum, form: str) -> dict[str, float]:
    return failure_terms(
        inputs,
        survivor=found.survivor,
        gamma=found.gamma,
        delta=found.delta,
        rounds=found.rounds,
        form=form,
        greedy_first=theorem.greedy_first,
    )


def _with_lambda1(inputs: SuccessInputs, lambda1: float) -> SuccessInputs | None:
    """The inputs with a smaller λ₁; None where it is not above 0."""
    with required_by(POSITIVE):
        lambda1 = number("lambda1_lower", lambda1, at_least=0, at_most=inputs.lambda1)
    return replace(inputs, lambda1=lambda1) if lambda1 > 0 else None


def greedy_success_limit(*, n_arms: int, sample: EigenvalueSample) -> float:
    """Proposition 2: S^gb as σ → 0 is P[λ_min(X₁:ₘ' X₁:ₘ) > 0]^K, here with the sample's share.

    Examples
    --------
    >>> from greedyfirst.theory import EigenvalueSample, greedy_success_limit
    >>> sample = EigenvalueSample(rows=2, values=[0.0, 1.0, 2.0, 3.0])  # three of four are above 0
    >>> greedy_success_limit(n_arms=2, sample=sample)
    0.5625
    """
    return float(sample.positive_share ** whole_number("n_arms", n_arms, at_least=2))


def greedy_first_success_limit(
    inputs: SuccessInputs, sample: EigenvalueSample, *, lambda0: float, t0: int
) -> float:
    r"""Proposition 3: S^gf as σ → 0, cut at 0.

    .. math:: P[λ_{\min} > 0]^K - \frac{Kd\, e^{-D_1(γ^*)t_0}}{1 - e^{-D_1(γ^*)}} ,
              \qquad γ^* = 1 - λ_0/(4λ_1) .

    0 where γ* ≤ 0 or t₀ ≤ Km, as for Theorem 4. ``inputs.sigma`` is not used.

    Examples
    --------
    >>> from greedyfirst.theory import EigenvalueSample, SuccessInputs, greedy_first_success_limit
    >>> sample = EigenvalueSample(rows=10, values=[1.0, 2.0, 3.0])
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.5,
    ...                        lambda1=0.1, h=0.2)
    >>> round(greedy_first_success_limit(inputs, sample, lambda0=0.01, t0=10_000), 6)
    1.0
    """
    _check_no_suboptimal(inputs, "Proposition 3")
    _check_rows(inputs, sample)
    lambda0 = number("lambda0", lambda0, above=0)
    t0 = whole_number("t0", t0, at_least=1)
    gamma = 1 - lambda0 / (4 * inputs.lambda1)
    if gamma <= 0 or t0 <= inputs.n_arms * inputs.initial_pulls:
        return 0.0
    rate = float(diversity_rate(inputs, np.asarray(gamma)))
    tail = inputs.n_arms * inputs.n_features * math.exp(-rate * t0) / -math.expm1(-rate)
    return max(0.0, greedy_success_limit(n_arms=inputs.n_arms, sample=sample) - tail)


def smallest_rate(inputs: SuccessInputs) -> float:
    """D_min = min{0.153λ₁/x_max², λ₁²h²/(32dσ²x_max⁴)} of Corollary 2, with 0.153 = (1-log 2)/2."""
    diversity = (1 - math.log(2)) / 2 * inputs.lambda1 / inputs.x_max**2
    return min(diversity, inputs.signal * (inputs.lambda1 / inputs.x_max) ** 2 / 4)


def simple_greedy_success(inputs: SuccessInputs) -> float:
    r"""Corollary 2: 1 - 3Kd e^{-D_min m|K_opt|}/(1 - e^{-D_min}), cut at 0; needs no sample.

    It holds as printed, also for the ``"proved"`` form of Theorem 2. Its proof bounds
    E[λ_min(xx')] from below, which is 0 for d ≥ 2; what it needs is λ_min(E[xx']) ≥ |K_opt|λ₁.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs, simple_greedy_success
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10_000, sigma=0.001, x_max=1.0,
    ...                        lambda1=0.2, h=0.2)
    >>> round(simple_greedy_success(inputs), 6)
    1.0
    """
    rate = smallest_rate(inputs)
    exponent = -rate * inputs.initial_pulls * inputs.n_optimal
    failure = 3 * inputs.n_arms * inputs.n_features * math.exp(exponent) / -math.expm1(-rate)
    return max(0.0, 1 - failure)


def simple_greedy_first_success(inputs: SuccessInputs, *, lambda0: float, t0: int) -> float:
    """Corollary 3: as Corollary 2 with K for |K_opt|, for Greedy-First.

    Its proof needs conditions that the corollary does not print: γ = ½ and p = Km+1 must be
    allowed, that is λ₀ ≤ 2λ₁ and t₀ ≥ Km+1. Otherwise the result is 0.

    Examples
    --------
    >>> from greedyfirst.theory import SuccessInputs, simple_greedy_first_success
    >>> inputs = SuccessInputs(n_arms=2, n_features=2, initial_pulls=10, sigma=0.1, x_max=1.0,
    ...                        lambda1=0.1, h=0.2)
    >>> simple_greedy_first_success(inputs, lambda0=0.3, t0=100)  # λ₀ above 2λ₁: nothing is said
    0.0
    """
    _check_no_suboptimal(inputs, "Corollary 3")
    lambda0 = number("lambda0", lambda0, above=0)
    t0 = whole_number("t0", t0, at_least=1)
    if lambda0 > 2 * inputs.lambda1 or t0 <= inputs.n_arms * inputs.initial_pulls:
        return 0.0
    return simple_greedy_success(inputs)
