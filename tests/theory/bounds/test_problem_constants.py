"""Constants of Assumptions 1, 2 and 4 against quadrature and geometry."""

import math

import numpy as np
import pytest
from scipy import integrate

from greedyfirst.problems import (
    ClippedGaussian,
    FromArray,
    FromFunction,
    Gibbs,
    Product,
    Rademacher,
    TruncatedGaussian,
    UniformBall,
    UniformBox,
    WithinBall,
    WithIntercept,
)
from greedyfirst.theory import (
    EigenvalueSample,
    ProblemConstants,
    choose_lead,
    largest_norm,
    success_inputs,
)

ARMS = np.array([[1, 0], [-0.5, math.sqrt(0.75)], [-0.5, -math.sqrt(0.75)]])
DISC = UniformBall(n_features=2)


@pytest.fixture(scope="module")
def example():
    return ProblemConstants(contexts=DISC, arms=ARMS, n_samples=10**6, seed=3)


def exact_lambda1(h):
    """λ_min of E[xx' 1{x ∈ U_1}] by quadrature over the disc; x₂² and x₁² are its eigenvalues."""

    def first_radius(angle):
        return h / (
            math.sqrt(3) * min(math.cos(angle - math.pi / 6), math.cos(angle + math.pi / 6))
        )

    def part(trigonometric):
        def over_radius(angle):
            r = first_radius(angle)
            return trigonometric(angle) ** 2 * max(0.0, 1 - r**4) / 4 / math.pi

        edge = math.acos(h / math.sqrt(3)) - math.pi / 6
        return 2 * integrate.quad(over_radius, 0, edge)[0]

    return min(part(math.sin), part(math.cos))


def test_lambda1_of_example_1(example):
    """Target 0.0255 ± 0.0003; four standard errors of the exact value: false alarms 6e-5."""
    exact = exact_lambda1(0.3)
    assert exact == pytest.approx(0.0255, abs=0.0003)
    lead = example.lead(0.3)
    assert lead.lambda1 == pytest.approx(0.0255, abs=0.0003)
    assert abs(lead.lambda1 - exact) < 4 * lead.standard_error
    assert lead.lower < exact
    assert exact - lead.lower < 10 * lead.standard_error
    assert (lead.optimal, lead.suboptimal, lead.undecided) == ((0, 1, 2), (), ())
    assert lead.holds


def test_lambda1_falls_with_the_lead(example):
    values = [example.lead(h) for h in (0.1, 0.3, 0.6, 1.0)]
    assert [one.lambda1 for one in values] == sorted((one.lambda1 for one in values), reverse=True)
    for one in values:
        assert one.lambda1 == pytest.approx(exact_lambda1(one.h), abs=5 * one.standard_error)


def test_lower_bounds_hold():
    """100 seeds at 90 %: more than 20 misses have a chance below 0.1 %."""
    exact = exact_lambda1(0.3)
    misses = sum(
        ProblemConstants(contexts=DISC, arms=ARMS, n_samples=10_000, seed=seed, confidence=0.9)
        .lead(0.3)
        .lower
        > exact
        for seed in range(100)
    )
    assert misses <= 20


def test_margin_of_example_1(example):
    """x'(β_i - β_j) = √3·s with s of density 2√(1-s²)/π: C₀ = 4/(π√3), reached at κ → 0."""
    exact = 4 / (math.pi * math.sqrt(3))
    margin = example.margin()
    assert margin.value == pytest.approx(exact, rel=0.04)
    assert exact <= margin.upper <= 1.15 * exact
    assert 0 < margin.narrowest < 0.02


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0])
def test_margin_of_any_exponent(alpha):
    """x uniform on [-1, 1], gap 2|x|: P = κ/2 up to κ = 2, so C(α) = 2^{-α} for α ≤ 1.

    For α > 1 the ratio P/κ^α has no bound near 0; what is reported is that at ``narrowest``.
    """
    law = UniformBall(n_features=1)
    constants = ProblemConstants(contexts=law, arms=[[1.0], [-1.0]], n_samples=10**5, seed=1)
    margin = constants.margin(alpha)
    assert margin.alpha == alpha
    exact = 2.0**-alpha if alpha <= 1 else 0.5 / margin.narrowest
    assert margin.value == pytest.approx(exact, rel=0.12)
    assert exact <= margin.upper * (1 + 1e-12)
    assert margin.upper <= 1.35 * exact
    if alpha == 1.0:
        assert margin == constants.margin()


def test_an_exponent_below_0_is_refused(example):
    with pytest.raises(ValueError, match=r"alpha must be .* at least 0, got -1 \(Definition 2"):
        example.margin(-1)


def test_bounds_of_assumption_1(example):
    assert (example.x_max, example.x_max_is_certain) == (1.0, True)
    assert example.b_max == pytest.approx(1.0)
    assert (example.n_arms, example.n_features) == (3, 2)
    assert example.largest_lead() == pytest.approx(1.5, abs=0.02)


def test_arms_that_are_never_best():
    """With an intercept, an arm whose intercept is 1 lower trails by 1 everywhere."""
    contexts = WithIntercept(contexts=UniformBall(n_features=1))
    arms = [[0.0, 1.0], [0.0, -1.0], [-1.0, 1.0], [-0.05, 1.0]]
    constants = ProblemConstants(contexts=contexts, arms=arms, n_samples=20_000, seed=1)
    lead = constants.lead(0.2)
    assert lead.suboptimal == (2,)
    assert lead.undecided == (0, 3)
    assert not lead.holds
    assert lead.lambda1 == 0
    with pytest.raises(
        ValueError, match=r"h must be one .* arms \[0, 3\] do neither, .*Assumption 4"
    ):
        success_inputs(constants, lead, sigma=0.1, initial_pulls=5)
    without = ProblemConstants(contexts=contexts, arms=arms[:3], n_samples=20_000, seed=1)
    lead = without.lead(0.2)
    assert (lead.optimal, lead.suboptimal) == ((0, 1), (2,))
    inputs = success_inputs(without, lead, sigma=0.1, initial_pulls=5)
    assert (inputs.n_suboptimal, inputs.n_optimal) == (1, 2)
    assert inputs.x_max == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        (UniformBall(n_features=3, radius=2.0), 2.0),
        (UniformBox(n_features=2, half_width=[3.0, 4.0]), 5.0),
        (UniformBox(n_features=4, half_width=0.5), 1.0),
        (TruncatedGaussian(n_features=4, bound=1.5), 1.5),
        (TruncatedGaussian(n_features=4, bound=1.5, norm="linf"), 3.0),
        (ClippedGaussian(n_features=4, bound=1.0), 2.0),
        (ClippedGaussian(n_features=4, bound=1.0, ball_radius=0.7), 0.7),
        (Rademacher(n_features=9), 3.0),
        (Rademacher(n_features=9, scale=0.5), 1.5),
        (Gibbs(couplings=np.zeros((4, 4))), 2.0),
        (FromArray(rows=[[3.0, 4.0], [1.0, 1.0]]), 5.0),
        (WithIntercept(contexts=UniformBall(n_features=1, radius=2.0)), math.sqrt(5)),
        (Product(parts=[Rademacher(n_features=1), UniformBall(n_features=2)]), math.sqrt(2)),
        (WithinBall(contexts=Rademacher(n_features=9), radius=1.5), 1.5),
    ],
)
def test_largest_norms(contexts, expected):
    assert largest_norm(contexts) == pytest.approx(expected)
    norms = np.linalg.norm(contexts.sample(np.random.default_rng(1), 2000), axis=1)
    assert norms.max() <= expected * (1 + 1e-12)


def test_a_law_that_does_not_tell_its_largest_norm():
    contexts = FromFunction(n_features=2, draw=lambda rng, size: rng.uniform(-1, 1, (size, 2)))
    assert largest_norm(contexts) is None
    seen = ProblemConstants(contexts=contexts, arms=ARMS, n_samples=20_000)
    assert not seen.x_max_is_certain
    assert 1.3 < seen.x_max <= math.sqrt(2)
    told = ProblemConstants(contexts=contexts, arms=ARMS, n_samples=20_000, x_max=1.5)
    assert (told.x_max, told.x_max_is_certain) == (1.5, True)
    with pytest.raises(ValueError, match=r"x_max must be .* got 1.0 \(Assumption 1"):
        ProblemConstants(contexts=contexts, arms=ARMS, n_samples=20_000, x_max=1.0)


def test_the_lead_can_be_chosen(example):
    """The paper's h = 0.3 gives 0.61; the best h of the grid more, and the trade-off shows it."""
    sample = EigenvalueSample.draw(DISC, rows=20, n_samples=10_000, seed=1)
    chosen = choose_lead(example, sample, sigma=0.003, n_candidates=8, tolerance=1e-2)
    assert chosen.success.value > 0.75
    assert 0.35 < chosen.lead.h < 0.7
    hs, lambdas, values = zip(*chosen.candidates, strict=True)
    assert list(hs) == sorted(hs)
    assert list(lambdas) == sorted(lambdas, reverse=True)
    assert max(values) == chosen.success.value
    assert chosen.success.worst < chosen.success.value
    first = choose_lead(
        example, sample, sigma=0.003, lambda0=0.01, t0=1000, n_candidates=4, tolerance=1e-2
    )
    assert 0.3 < first.success.value < chosen.success.value


def test_bad_arguments_are_named(example):
    with pytest.raises(ValueError, match=r"h must be .* got 0 \(Assumption 4"):
        example.lead(0)
    with pytest.raises(ValueError, match=r"arms must be .* shape"):
        ProblemConstants(contexts=DISC, arms=[[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="arms must be at least two rows"):
        ProblemConstants(contexts=DISC, arms=[[1.0, 0.0]])
    with pytest.raises(ValueError, match="n_samples must be"):
        ProblemConstants(contexts=DISC, arms=ARMS, n_samples=10)
    sample = EigenvalueSample(rows=2, values=np.ones(100))
    with pytest.raises(ValueError, match="lambda0 and t0 must be both given"):
        choose_lead(example, sample, sigma=0.1, lambda0=0.1)
