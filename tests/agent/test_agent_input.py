"""Bad input: a ValueError that names the argument, and an agent that has not changed."""

import math

import numpy as np
import pytest

from greedyfirst import Agent, Greedy, GreedyFirst, ThompsonSampling

GOOD = [1.0, 2.0]
BAD_CONTEXTS = {
    "nan": [1.0, math.nan],
    "inf": [math.inf, 1.0],
    "inf array": np.array([1.0, -math.inf]),
    "nan array": np.array([math.nan, 1.0]),
    "inf and -inf": np.array([math.inf, -math.inf]),
    "short": [1.0],
    "long": np.ones(3),
    "empty": [],
    "2-D": np.ones((1, 2)),
    "scalar": 1.0,
    "text": "ab",
    "texts": ["a", "b"],
    "None": None,
    "ragged": [[1.0], [1.0, 2.0]],
    "complex": [1j, 2.0],
    "object": [object(), 1],
}
BAD_TABLES = {
    "nan": [[1.0, math.nan]],
    "one row": GOOD,
    "wide": np.ones((2, 3)),
    "3-D": np.ones((1, 1, 2)),
    "text": [["a", "b"]],
    "None": None,
}
BAD_ARMS = {
    "negative": -1,
    "too high": 2,
    "numpy too high": np.int64(2),
    "bool": True,
    "float": 1.0,
    "unknown name": "arm 9",
    "empty name": "",
    "None": None,
    "list": [0],
    "array": np.array([0, 1]),
}
BAD_REWARDS = {
    "None": None,
    "nan": math.nan,
    "inf": math.inf,
    "text": "1",
    "list": [1.0],
    "pair": [1.0, 2.0],
    "complex": 1j,
}
BAD_STEPS = {"negative": -1, "future": 4, "float": 1.0, "bool": True, "text": "1"}
BAD_ELIGIBLE = {
    "empty": [],
    "unknown name": ["arm 9"],
    "too high": [0, 2],
    "negative": [-1],
    "float": [0.0],
    "bool": [True],
    "a name alone": "arm 0",
    "a number alone": 1,
}


def cases():
    for label, value in BAD_CONTEXTS.items():
        methods = ("choose", "expected_rewards", "probabilities")
        for method in methods[: 1 if label == "2-D" else 3]:  # the others take several contexts
            yield f"{method} context {label}", "context", method, (value,), {}
        yield f"update context {label}", "context", "update", (value, 0, 1.0), {}
    for label, value in BAD_TABLES.items():
        yield f"choose_many contexts {label}", "contexts", "choose_many", (value,), {}
        yield f"update_many contexts {label}", "contexts", "update_many", (value, [0], [1.0]), {}
    for label, value in BAD_ARMS.items():
        yield f"update arm {label}", "arm", "update", (GOOD, value, 1.0), {}
        for method in ("drop_arm", "keep_greedy"):
            yield f"{method} arm {label}", "arm", method, (value,), {}
        table = ([GOOD, GOOD], [0, value], [1, 2])
        yield f"update_many arms {label}", "arms", "update_many", table, {}
    for label, value in BAD_REWARDS.items():
        yield f"update reward {label}", "reward", "update", (GOOD, 0, value), {}
        table = ([GOOD, GOOD], [0, 1], [1.0, value])
        yield f"update_many rewards {label}", "rewards", "update_many", table, {}
    yield "too few arms", "arms", "update_many", ([GOOD, GOOD], [0], [1.0, 2.0]), {}
    yield "2-D arms", "arms", "update_many", ([GOOD], [[0]], [1.0]), {}
    yield "too few rewards", "rewards", "update_many", ([GOOD, GOOD], [0, 1], [1.0]), {}
    for label, value in BAD_STEPS.items():
        yield f"update step {label}", "step", "update", (GOOD, 0, 1.0), {"step": value}
    for label, value in BAD_ELIGIBLE.items():
        yield f"choose eligible {label}", "eligible", "choose", (GOOD,), {"eligible": value}
    for label, value in {"taken": "arm 1", "empty": "", "number": 3, "list": ["a"]}.items():
        yield f"add_arm name {label}", "name", "add_arm", (value,), {}
    for label, value in {"negative": -1, "float": 2.0, "text": "2"}.items():
        pulls = {"initial_pulls": value}
        yield f"add_arm initial_pulls {label}", "initial_pulls", "add_arm", ("new",), pulls


CASES = list(cases())


@pytest.mark.parametrize(
    ("argument", "method", "given", "options"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_bad_input_names_the_argument_and_changes_nothing(argument, method, given, options):
    agent = Agent(GreedyFirst(warmup="ridge"), n_arms=2, n_features=2, seed=1)
    for x in ([1.0, 0.0], [0.5, 0.5], [0.0, 1.0]):
        agent.choose(x)
    agent.update(GOOD, 1, 0.5)
    agent.update(GOOD, 0, 0.5, step=3)
    before = agent.buffer.copy()
    with pytest.raises(ValueError, match=rf"\b{argument}\b"):
        getattr(agent, method)(*given, **options)
    np.testing.assert_array_equal(agent.buffer, before)
    assert (agent.decisions, agent.joined, agent.foreign) == (3, 2, 0)
    assert agent.arm_names == ("arm 0", "arm 1")
    assert not agent.dropped.any()


def test_a_step_before_any_decision_is_refused():
    agent = Agent(Greedy(), n_arms=2, n_features=2)
    with pytest.raises(ValueError, match="step"):
        agent.update(GOOD, 0, 1.0, step=1)


BAD_OPTIONS = {
    "policy": [None, "greedy", Greedy, 3],
    "n_arms": [0, -1, 2.0, "2", True, None, math.nan],
    "n_features": [0, -1, 2.0, "2", True, None],
    "seed": [-1, 1.5, "1", True, 2**63, [1]],
    "arm_names": [["a"], ["a", "a"], ["a", ""], ["a", 1], "ab", 3, ["a", "b", "c"], [["a"], ["b"]]],
    "feature_names": [["a"], ["a", "a"], ["a", ""], ["a", None], "ab", [["a"], ["b"]]],
}


@pytest.mark.parametrize(
    ("argument", "value"),
    [(name, value) for name, values in BAD_OPTIONS.items() for value in values],
)
def test_constructor_names_the_argument(argument, value):
    options = {"policy": Greedy(), "n_arms": 2, "n_features": 2, "seed": 0, argument: value}
    policy = options.pop("policy")
    with pytest.raises(ValueError, match=rf"\b{argument}\b"):
        Agent(policy, **options)


def test_policy_options_that_do_not_fit_the_problem():
    with pytest.raises(ValueError, match="prior_mean"):
        Agent(ThompsonSampling(prior_mean=[0.0, 1.0]), n_arms=2, n_features=3)


def test_large_numbers_are_no_warning():
    agent = Agent(ThompsonSampling(), n_arms=2, n_features=2, seed=0)
    assert agent.choose(np.array([1.5e308, 1.5e308])) in (0, 1)
