"""Instances × policies: the same numbers whatever the threads, and the right ones."""

import tracemalloc

import numpy as np
import pytest

from greedyfirst import (
    OFUL,
    Agent,
    EpsilonGreedy,
    FixedArm,
    Greedy,
    GreedyFirst,
    OLSBandit,
    ThompsonSampling,
    simulate,
)
from greedyfirst.problems import (
    ClippedGaussian,
    Draw,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    TableProblem,
    WithIntercept,
)
from greedyfirst.simulation.simulate import plotted_steps

PROBLEM = LinearProblem(
    contexts=WithIntercept(contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0)),
    arms=GaussianParameters(n_arms=3, mean=np.zeros(3)),
    noise=GaussianNoise(sigma=0.5),
)
POLICIES = {
    "Greedy": Greedy(warmup="ridge"),
    "Greedy-First": GreedyFirst(warmup="ridge", fallback=OLSBandit(h=1, q=1)),
    "Thompson": ThompsonSampling(),
    "epsilon": EpsilonGreedy(epsilon=0.2),
}


class Kept:
    """A user's own problem, which keeps what it drew."""

    n_arms, n_features = PROBLEM.n_arms, PROBLEM.n_features

    def __init__(self):
        self.draws = []

    def draw(self, rng, horizon):
        self.draws.append(PROBLEM.draw(rng, horizon))
        return self.draws[-1]


def run(policies=POLICIES, *, problem=PROBLEM, n_instances=20, horizon=253, seed=4, **options):
    return simulate(
        problem, policies, n_instances=n_instances, horizon=horizon, seed=seed, **options
    )


@pytest.fixture(scope="module")
def reference():
    return run()


# -------------------------------------------------------------------- reproducibility


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("chunk_size", [1, 3, 7, None])
def test_same_bits_for_any_threads_and_chunks(reference, n_jobs, chunk_size):
    result = run(n_jobs=n_jobs, chunk_size=chunk_size)
    for name in ("steps", "mean", "half_width", "final", "switched_at", "eigenvalue_computations"):
        np.testing.assert_array_equal(getattr(result, name), getattr(reference, name))


def test_another_seed_gives_other_numbers(reference):
    assert (run(seed=5).final != reference.final).any(axis=0).all()


def test_all_processors(reference):
    np.testing.assert_array_equal(run(n_jobs=-1).mean, reference.mean)


def test_common_random_numbers(reference):
    """The same policy under two names has the same curve, whoever else takes part."""
    twice = run({"one": Greedy(warmup="ridge"), "OFUL": OFUL(), "two": Greedy(warmup="ridge")})
    np.testing.assert_array_equal(twice.mean[0], twice.mean[2])
    np.testing.assert_array_equal(twice.final[:, 0], reference.final[:, 0])
    np.testing.assert_array_equal(twice.half_width[0], reference.half_width[0])


def test_ties_are_broken_alike_by_all_policies():
    """Epsilon-greedy that always explores chooses at random, the same twice."""
    policies = {"one": EpsilonGreedy(epsilon=1.0), "two": EpsilonGreedy(epsilon=1.0, warmup="pinv")}
    final = run(policies).final
    np.testing.assert_array_equal(final[:, 0], final[:, 1])


def test_an_instance_does_not_depend_on_how_many_there_are(reference):
    fewer = run(n_instances=7, n_jobs=2)
    np.testing.assert_array_equal(fewer.final, reference.final[:7])
    np.testing.assert_array_equal(fewer.switched_at, reference.switched_at[:7])


# -------------------------------------------------------------------- numbers


def test_curves_are_handed_over_in_the_order_of_the_instances(reference):
    """Their mean is the result's; threads change nothing."""
    handed = {}
    run(n_jobs=2, chunk_size=3, collect_curves=handed.__setitem__)
    assert list(handed) == list(range(20))
    curves = np.array(list(handed.values()))
    np.testing.assert_allclose(curves.mean(axis=0), reference.mean, rtol=1e-12)
    np.testing.assert_array_equal(curves[:, :, -1] <= reference.final, True)


def test_the_papers_grid():
    """t = 20, then every ⌊T/50⌋ rounds up to T."""
    problem = TableProblem(contexts=np.ones((10_000, 1)), rewards=np.ones((10_000, 1)))
    steps = {
        horizon: simulate(
            problem,
            {"only": FixedArm(arm=0)},
            n_instances=1,
            horizon=horizon,
            seed=0,
            steps=plotted_steps(horizon),
        ).steps.tolist()
        for horizon in (100, 130, 2000, 10_000)
    }
    assert steps[10_000] == list(range(20, 10_000, 200))
    assert steps[10_000][-1] == 9820
    assert steps[2000] == list(range(20, 2001, 40))
    assert steps[130] == list(range(20, 131, 2))
    assert steps[100] == list(range(20, 101, 2))


@pytest.mark.parametrize("horizon", [1, 7, 99, 100, 130, 999, 1234])
def test_curves_end_at_the_horizon(horizon):
    """There the mean regret is that of the whole run."""
    table = np.random.default_rng(0).normal(size=(horizon, 2))
    problem = TableProblem(contexts=np.ones((horizon, 1)), rewards=table)
    result = simulate(problem, {"only": FixedArm(arm=0)}, n_instances=2, horizon=horizon, seed=0)
    assert result.steps[-1] == horizon
    assert set(plotted_steps(horizon)) <= set(result.steps)
    np.testing.assert_allclose(result.mean[0, -1], result.final[:, 0].mean(), rtol=1e-12)
    assert f"t = {horizon}" in result.table()
    assert result.plot().get_xlim() == (0, horizon)


def test_curves_are_kept_at_given_steps(reference):
    chosen = run(steps=[3, reference.horizon // 2, reference.horizon])
    full = run(steps=range(1, reference.horizon + 1))
    np.testing.assert_array_equal(chosen.mean, full.mean[:, chosen.steps - 1])


@pytest.mark.parametrize("steps", [[], [0, 3], [3, 3], [5, 4], [1, 10**6], [1.0], "all", [[1]]])
def test_steps_that_cannot_be_are_refused(steps):
    with pytest.raises(ValueError, match=r"^steps must be"):
        run(steps=steps)


def play_slowly(policy, draw):
    """One instance with an agent, in Python: the regret after each round."""
    _, n_features = draw.contexts.shape
    agent = Agent(policy, n_arms=draw.rewards.shape[1], n_features=n_features, seed=0)
    regrets = []
    for context, rewards, losses in zip(*draw, strict=True):
        arm = agent.choose(context)
        agent.update(context, arm, rewards[arm])
        regrets.append(losses[arm])
    return np.cumsum(regrets), agent.diversity().switched_at or 0


def test_curves_are_those_of_an_agent():
    """Mean and 2·std/√n by numpy over instances played in Python; no ties in these policies."""
    policies = {
        "Greedy": Greedy(warmup="pinv", initial_pulls=3),
        "OLS Bandit": OLSBandit(h=1, q=2, warmup="ridge", initial_pulls=3),
        "Greedy-First": GreedyFirst(
            initial_pulls=3, t0=30, lambda0=0.01, fallback=OLSBandit(h=1, q=2, warmup="pinv")
        ),
    }
    problem = Kept()
    result = run(policies, problem=problem, n_instances=6)
    assert len(problem.draws) == 6
    for place, policy in enumerate(policies.values()):
        played = [play_slowly(policy, draw) for draw in problem.draws]
        curves = np.array([regrets for regrets, _ in played])
        at = curves[:, result.steps - 1]
        np.testing.assert_allclose(result.mean[place], at.mean(axis=0), rtol=1e-9)
        half_width = 2 * at.std(axis=0, ddof=1) / np.sqrt(6)
        np.testing.assert_allclose(result.half_width[place], half_width, rtol=1e-9)
        np.testing.assert_allclose(result.final[:, place], curves[:, -1], rtol=1e-9)
        assert result.switched_at[:, place].tolist() == [switch for _, switch in played]
    assert 0 < result.switches["Greedy-First"] < 6  # both branches are compared


def test_regret_of_fixed_arms_by_hand():
    problem = TableProblem(
        contexts=np.ones((4, 1)), rewards=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.25], [0.0, 2.0]]
    )
    policies = {"first": FixedArm(arm=0), "second": FixedArm(arm=1)}
    result = simulate(problem, policies, n_instances=3, horizon=4, seed=0)
    assert result.steps.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(result.mean, [[0, 1, 1, 3], [1, 1, 1.25, 1.25]])
    np.testing.assert_array_equal(result.half_width, 0.0)
    np.testing.assert_array_equal(result.final, [[3, 1.25]] * 3)


@pytest.mark.parametrize("horizon", [1, 30, 100, 101, 250, 253])
def test_final_is_the_regret_at_the_horizon(horizon):
    """Whether or not the horizon is one of the plotted steps: 1 regret a round."""
    problem = TableProblem(contexts=np.ones((300, 1)), rewards=np.tile([0.0, 1.0], (300, 1)))
    result = simulate(problem, {"a": FixedArm(arm=0)}, n_instances=2, horizon=horizon, seed=0)
    np.testing.assert_array_equal(result.final, horizon)
    np.testing.assert_array_equal(result.mean[0], result.steps)


# -------------------------------------------------------------------- memory, output


def peak_memory(n_instances):
    tracemalloc.start()
    try:
        run(n_instances=n_instances, horizon=2000, n_jobs=2)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_instances():
    """Curves of 300 instances × 2000 rounds × 4 policies would take 19 MB."""
    run(n_instances=2, horizon=2000, n_jobs=2)
    few, many = peak_memory(30), peak_memory(300)
    assert many < 1.3 * few + 500_000


def test_no_progress_bar_without_a_terminal(capsys):
    run(n_instances=2)
    assert capsys.readouterr() == ("", "")


def test_a_progress_bar_on_demand(capsys):
    run(n_instances=2, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err
    run(n_instances=2, progress=False)
    assert capsys.readouterr() == ("", "")


# -------------------------------------------------------------------- input


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("policies", {}),
        ("policies", None),
        ("policies", [Greedy()]),
        ("policies", Greedy()),
        ("policies", {"Greedy": Greedy}),
        ("policies", {"Greedy": "greedy"}),
        ("policies", {1: Greedy()}),
        ("policies", {"": Greedy()}),
        ("n_instances", 0),
        ("n_instances", 2.0),
        ("n_instances", True),
        ("horizon", 0),
        ("horizon", -5),
        ("horizon", "10"),
        ("n_jobs", 0),
        ("n_jobs", -2),
        ("n_jobs", 1.5),
        ("seed", -1),
        ("seed", 0.5),
        ("seed", None),
        ("chunk_size", 0),
        ("chunk_size", 1.0),
        ("problem", None),
        ("problem", "fig2a"),
        ("problem", LinearProblem),
    ],
)
def test_bad_input_names_the_argument(argument, value):
    options = {"problem": PROBLEM, "policies": {"Greedy": Greedy()}, argument: value}
    with pytest.raises(ValueError, match=rf"\b{argument}\b"):
        run(**options)


def test_a_horizon_past_the_table():
    problem = TableProblem(contexts=np.ones((4, 1)), rewards=np.ones((4, 2)))
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="horizon"):
            run({"Greedy": Greedy()}, problem=problem, horizon=5, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_users_exception_reaches_the_user(n_jobs):
    class Broken(Kept):
        def draw(self, rng, horizon):
            raise LookupError("no such patient")

    with pytest.raises(LookupError, match="no such patient"):
        run(problem=Broken(), n_jobs=n_jobs)


def test_a_users_problem_gives_the_same_numbers(reference):
    result = run(problem=Kept(), n_jobs=2)
    np.testing.assert_array_equal(result.mean, reference.mean)


def test_a_users_tuple_is_a_draw(reference):
    class Plain(Kept):
        def draw(self, rng, horizon):
            return tuple(PROBLEM.draw(rng, horizon))

    assert isinstance(PROBLEM.draw(np.random.default_rng(0), 3), Draw)
    np.testing.assert_array_equal(run(problem=Plain()).mean, reference.mean)
