"""Equal fingerprints stand for equal results: data by value, a user's code by what it does."""

import copy
import importlib
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import FunctionType

import numpy as np
import pytest

from greedyfirst import Greedy, GreedyFirst, OLSBandit
from greedyfirst.engines.fingerprint import fingerprint
from greedyfirst.problems import (
    FromFunction,
    GaussianNoise,
    GaussianParameters,
    LinearProblem,
    UniformBall,
)


def problem(sigma=0.5, mean=0.0):
    return LinearProblem(
        contexts=UniformBall(n_features=2),
        arms=GaussianParameters(n_arms=2, mean=[mean, 0.0]),
        noise=GaussianNoise(sigma=sigma),
    )


def of(value):
    return fingerprint("value", value)


def test_equal_values_have_equal_ones():
    assert of(problem()) == of(problem())
    assert of((Greedy(), GreedyFirst())) == of((Greedy(), GreedyFirst()))
    assert of({1, 2, "three"}) == of({"three", 2, 1})
    text = "".join(["a", "b"])  # not the same object as the literal
    assert of(["ab", text]) == of([text, "ab"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (problem(), problem(sigma=0.5000000001)),
        (problem(), problem(mean=1e-300)),
        (Greedy(), GreedyFirst()),
        (GreedyFirst(fallback=OLSBandit(h=1)), GreedyFirst(fallback=OLSBandit(h=2))),
        (1, 1.0),
        (True, 1),
        ("1", 1),
        ([1, 2], (1, 2)),
        ([[1], [2]], [[1, 2]]),
        (["ab", "c"], ["a", "bc"]),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.array([0.0]), np.array([-0.0])),
        (np.random.default_rng(1), np.random.default_rng(2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_have_others(one, other):
    assert of(one) != of(other)


def made(source, **names):
    """A function ``f`` of a script with these globals."""
    scope = {"__name__": "__main__", **names}
    exec(source, scope)
    assert isinstance(scope["f"], FunctionType)
    return scope["f"]


def test_a_users_function_counts_by_its_code_and_what_it_refers_to():
    plain = "def f(x):\n    return x + 1"
    assert of(made(plain)) == of(made("\n\n# elsewhere\n" + plain))
    assert of(made(plain)) != of(made(plain.replace("1", "2")))
    assert of(made(plain)) != of(made(plain.replace("x)", "x, y=0)")))
    uses = "def f(x):\n    return g(x) + SHIFT"
    assert of(made(uses, SHIFT=1, g=made(plain))) == of(made(uses, SHIFT=1, g=made(plain)))
    assert of(made(uses, SHIFT=1, g=made(plain))) != of(made(uses, SHIFT=2, g=made(plain)))
    other = made(plain.replace("1", "2"))
    assert of(made(uses, SHIFT=1, g=made(plain))) != of(made(uses, SHIFT=1, g=other))
    # What it does not refer to says nothing.
    assert of(made(plain, started=1)) == of(made(plain, started=2))


def test_closures_and_recursion():
    def adding(n):
        return lambda x: x + n if x else adding(n)(1)

    assert of(adding(1)) == of(adding(1))
    assert of(adding(1)) != of(adding(2))
    contexts = [FromFunction(n_features=1, draw=adding(n)) for n in (1, 1, 2)]
    assert of(contexts[0]) == of(contexts[1]) != of(contexts[2])


def test_classes_of_a_user():
    def dataclass_of(default):
        @dataclass(frozen=True)
        class Own:
            size: int = default

            @cached_property
            def twice(self):
                return 2 * self.size

            @staticmethod
            @lru_cache
            def half(x):
                return x / default

        return Own

    one, same, other = dataclass_of(1), dataclass_of(1), dataclass_of(2)
    assert of(one) == of(same) != of(other)
    assert of(one(3)) == of(same(3)) != of(one(4))
    before = of(one)
    copy.copy(one(3))  # pickle and copy note things in the class
    assert of(one) == before
    assert of(one(3)) != of(other(3))  # what they are worth is the same, what they do is not


def test_a_policy_whose_module_was_loaded_again(tmp_path, monkeypatch):
    """As Dask does with a module that ``upload_file`` sends."""
    (tmp_path / "sent_policy.py").write_text(
        "from greedyfirst import Greedy\n\nclass Sent(Greedy):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("sent_policy")
    try:
        before = of(module.Sent)
        assert of(importlib.reload(module).Sent) == before != of(Greedy)
    finally:
        del sys.modules["sent_policy"]


def test_the_same_in_another_process():
    """Strings hash otherwise in every process: nothing may depend on that."""
    script = (
        "from greedyfirst.engines.fingerprint import fingerprint\n"
        "from greedyfirst.policies import GreedyFirst, OLSBandit\n"
        "def f(x):\n    return x in {'a', 'b', 'c'}\n"
        "print(fingerprint('x', (f, {'a', 'b'}, GreedyFirst(fallback=OLSBandit()))))"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != b""


def test_what_cannot_be_compared_is_refused():
    with open(__file__) as file, pytest.raises(ValueError, match=r"resume must be left out"):
        fingerprint("resume", [file])
