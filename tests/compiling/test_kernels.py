"""Kernels and entries: the arithmetic of Python, whichever way they are compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import greedyfirst
from greedyfirst.compiling.calls import compiled, run
from greedyfirst.compiling.kernels import (
    bound,
    entry,
    inline_kernel,
    is_kernel,
    kernel,
    plain_function,
)

needs_compilation = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def python(code, **environment):
    """What a new process prints, as JSON; nothing may be said on standard error."""
    env = os.environ | {"PYTHONPATH": str(Path(greedyfirst.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


# ---------------------------------------------------------------- calls


@kernel
def weigh(x, out):
    for i in range(x.shape[0]):
        out[i] = scaled(x[i])


@inline_kernel
def scaled(value):
    return 3.0 * value - 1.0


@entry
def weigh_all(x, out):
    weigh(x, out)


def weigh_as_told(x, out):
    weigh(x, out)


def test_an_entry_is_compiled_once_for_each_set_of_types():
    x, out = np.arange(4.0), np.zeros(4)
    function = compiled(weigh_all, x, out)
    assert compiled(weigh_all, np.zeros(9), out) is function
    row = numba.types.Array(numba.types.float64, 1, "C")
    assert compiled(weigh_all, row, row) is function
    function(x, out)
    assert out.tolist() == [-1.0, 2.0, 5.0, 8.0]
    strided = np.arange(8.0)[::2]
    assert compiled(weigh_all, strided, out) is not function
    run(weigh_all, strided, out)
    assert out.tolist() == [-1.0, 5.0, 11.0, 17.0]


def test_what_is_no_entry_is_called_as_it_is():
    assert compiled(len, [1]) is len
    assert run(len, [1, 2]) == 2


def test_a_bound_function_has_other_functions_for_its_names():
    negated = bound(weigh_as_told, "weigh_negated", weigh=lambda x, out: np.negative(x, out=out))
    out = np.zeros(3)
    negated(np.arange(3.0), out)
    assert out.tolist() == [0.0, -1.0, -2.0]
    assert negated.__name__ == "weigh_negated"
    assert negated.__module__ == __name__


@needs_compilation
def test_kernels_are_known_by_what_they_are_made_from():
    assert is_kernel(weigh)
    assert is_kernel(scaled)
    assert not is_kernel(weigh_as_told)
    assert plain_function(scaled)(2.0) == 5.0
    assert plain_function(weigh_as_told) is weigh_as_told


@needs_compilation
@pytest.mark.skipif(
    os.environ.get("GREEDYFIRST_PLAIN_NUMBA", "0") != "0", reason="plain kernels can be called"
)
def test_a_kernel_called_from_python_says_that_it_is_for_others():
    run(weigh_all, np.zeros(1), np.zeros(1))
    with pytest.raises(KeyError, match=r"kernel weigh, .* is for compiled callers only"):
        weigh(np.zeros(1), np.zeros(1))
    with pytest.raises(KeyError, match=r"kernel scaled, .* is for compiled callers only"):
        scaled(1.0)


# ---------------------------------------------------------------- arithmetic


@entry
def add_up(values):
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * values[i]
    return total


@entry
def divide(a, b):
    return a / b


def test_sums_keep_their_written_order():
    """Fast-math would add up in several sums at once, and fuse products with them."""
    rng = np.random.default_rng(31)
    for n in (1, 5, 64, 1000):
        values = rng.normal(size=n) * np.float_power(10.0, rng.uniform(-8, 8, size=n))
        total = 0.0
        for value in values.tolist():
            total += value * value
        assert run(add_up, values) == total


def test_divisions_by_zero_are_infinite():
    assert run(divide, 1.0, 0.0) == np.inf
    assert run(divide, -1.0, 0.0) == -np.inf
    assert np.isnan(run(divide, 0.0, 0.0))


VECTORS = """
import json
import numpy as np
from greedyfirst.compiling.kernels import entry
from greedyfirst.compiling.calls import run
from greedyfirst.numerics.vectors import add_multiple, add_multiples, inner, inner_of_four

@entry
def work(rows, x, y, out):
    out[0] = inner(rows[0], x)
    out[1], out[2], out[3], out[4] = inner_of_four((rows[0], rows[1], rows[2], rows[3]), x)
    add_multiple(y, x[0], rows[1])
    add_multiples(y, (out[0], 0.3, out[1], -0.7), (rows[0], rows[1], rows[2], rows[3]))

told = []
for n in range(1, 21):
    rng = np.random.default_rng(n)
    rows, x, y = rng.normal(size=(4, n)), rng.normal(size=n), rng.normal(size=n)
    out = np.zeros(5)
    run(work, rows, x, y, out)
    told.append([value.hex() for value in [*out.tolist(), *y.tolist()]])
print(json.dumps(told))
"""


@pytest.mark.slow
def test_vector_loops_agree_bit_for_bit_however_they_are_made():
    """As generated machine instructions, as numba compiles their meaning, and in Python."""
    generated = python(VECTORS, GREEDYFIRST_PLAIN_NUMBA="0")
    assert len(generated) == 20
    assert generated == python(VECTORS, GREEDYFIRST_PLAIN_NUMBA="vectors")
    assert generated == python(VECTORS, GREEDYFIRST_PLAIN_NUMBA="1")
    assert generated == python(VECTORS, NUMBA_DISABLE_JIT="1")


# ---------------------------------------------------------------- whole runs

SIMULATION = """
import json
import numpy as np
from greedyfirst import {policies}, simulate

class Own:
    n_arms, n_features = 3, 4
    def draw(self, rng, horizon):
        contexts = rng.normal(size=(horizon, 4))
        contexts[:, 0] = 1.0
        means = contexts @ np.array([[0.1, 1, 0, 0], [0, 0, 1, 0], [0.2, 0, 0, -1]]).T
        rewards = (means + rng.normal(size=means.shape) > 0) * 1.0
        return contexts, rewards, means.max(axis=1, keepdims=True) - means

policies = [{calls}]
named = {{str(number): policy for number, policy in enumerate(policies)}}
result = simulate(Own(), named, n_instances=2, horizon={horizon}, seed=8, progress=False)
told = [result.mean, result.final, result.pulls, result.switched_at, result.weakest]
print(json.dumps([[float(value).hex() for value in each.flat] for each in told]))
"""


def simulated(calls, horizon, **environment):
    names = ", ".join(sorted({call.partition("(")[0] for call in calls}))
    code = SIMULATION.format(policies=names, calls=", ".join(calls), horizon=horizon)
    return python(code, **environment)


@pytest.mark.nightly  # compiling without private parts takes minutes
def test_a_simulation_is_the_same_bit_for_bit_without_private_parts_of_numba():
    calls = ['Greedy(warmup="pinv")']
    default = simulated(calls, 60, GREEDYFIRST_PLAIN_NUMBA="0")
    assert len(set(default[0])) > 30
    assert default == simulated(calls, 60, GREEDYFIRST_PLAIN_NUMBA="1")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "call",
    [
        'Greedy(warmup="ridge")',
        "GreedyFirst(carry_over=True)",
        "ThompsonSampling()",
        "OFUL()",
        'GLMGreedy(link="probit")',
        "GLMUCB()",
    ],
)
def test_simulations_are_the_same_bit_for_bit_however_they_are_compiled(call):
    default = simulated([call], 300, GREEDYFIRST_PLAIN_NUMBA="0")
    for without in ("1", "counts", "compiler", "vectors"):
        assert default == simulated([call], 300, GREEDYFIRST_PLAIN_NUMBA=without), without
    assert default == simulated([call], 300, NUMBA_DISABLE_JIT="1")


AGENT = """
import json
from greedyfirst import Agent, Greedy

agent = Agent(Greedy(warmup="pinv"), n_arms=2, n_features=2, seed=0)
agent.update([1.0, 2.0], 1, 3.0)
chosen = agent.choose([1.0, 2.0])
print(json.dumps([chosen, agent.expected_rewards([1.0, 2.0]).round(9).tolist()]))
"""


def test_without_compilation_the_answers_are_the_same():
    assert python(AGENT) == python(AGENT, NUMBA_DISABLE_JIT="1") == [1, [0.0, 3.0]]
