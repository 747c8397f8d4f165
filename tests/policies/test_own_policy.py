"""A policy in a script of one's own: the skeleton and LinUCB, copied out of the package.

Each script runs in a process of its own with an empty cache: what an edit changes, what is loaded
from disk, and what runs uncompiled are looked at from outside.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from greedyfirst import Agent, EpsilonGreedy, Greedy, GreedyFirst, LinUCB, simulate
from greedyfirst.compiling import native_numba
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, floats, part
from greedyfirst.models import least_squares
from greedyfirst.models.least_squares import PINV
from greedyfirst.policies.policy import Policy
from greedyfirst.policies.selection import Scores, predict
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem

ROOT = Path(__file__).parents[2]
SKELETON = ROOT / "docs" / "skeleton_policy.py"
LIN_UCB = ROOT / "src" / "greedyfirst" / "policies" / "lin_ucb.py"

RUN = """

if __name__ == "__main__":
    import json
    import sys

    import numpy as np

    from greedyfirst import Agent, GreedyFirst, simulate
    from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters
    from greedyfirst.problems import LinearProblem

    policy = POLICY
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(3, 2))

    def arms(agent, rounds=60):
        source, found = np.random.default_rng(1), []
        for _ in range(rounds):
            x = source.normal(size=2)
            found.append(agent.choose(x))
            agent.update(x, found[-1], float(truth[found[-1]] @ x + source.normal()))
        return found

    new = lambda made: Agent(made, n_arms=3, n_features=2, seed=3)
    found = {"agent": arms(new(policy))}
    if INSIDE:
        inside = GreedyFirst(fallback=policy, t0=10, lambda0=5.0, warmup="pinv")
        found["inside"] = arms(new(inside))
    agent = new(policy)
    arms(agent, 20)
    agent.save(sys.argv[1])
    loaded = Agent.load(sys.argv[1])
    found["loaded"] = arms(loaded) == arms(agent)
    problem = LinearProblem(
        contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0),
        arms=GaussianParameters(n_arms=3, mean=np.zeros(2), covariance=1.0),
        noise=GaussianNoise(sigma=0.5),
    )
    settings = {"n_instances": 3, "horizon": 50, "seed": 1, "progress": False}
    found["regret"] = simulate(problem, {"own": policy}, **settings).final.tolist()
    print(json.dumps(found))
"""


def runs(policy, *, inside):
    """The end of a script: it tries the policy, and perhaps Greedy-First with it as fallback."""
    return RUN.replace("POLICY", policy).replace("INSIDE", str(inside))


def run_script(path, tmp_path, **environment):
    """What a script prints, from a process of its own that shares one cache with the others."""
    done = subprocess.run(
        [sys.executable, str(path), str(tmp_path / "agent.gf")],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_skeleton_runs_everywhere_and_an_edit_is_seen(tmp_path):
    script = tmp_path / "my_policy.py"
    text = SKELETON.read_text() + runs("Skeleton(turns=2)", inside=False)
    script.write_text(text)
    compiled = run_script(script, tmp_path)
    assert compiled["agent"][:6] == [0, 1, 2, 0, 1, 2]
    assert compiled["loaded"]
    uncompiled = run_script(script, tmp_path, NUMBA_DISABLE_JIT="1")
    assert uncompiled == compiled
    assert run_script(script, tmp_path) == compiled  # from the cache
    script.write_text(text.replace("state.totals[arm] += reward", "state.totals[arm] -= reward"))
    edited = run_script(script, tmp_path)
    assert edited == run_script(script, tmp_path, NUMBA_DISABLE_JIT="1")
    assert edited["regret"] != compiled["regret"]


@pytest.mark.nightly  # it compiles all loops in three processes
def test_lin_ucb_as_a_script_of_ones_own_is_the_packages(tmp_path):
    script = tmp_path / "own_lin_ucb.py"
    text = re.sub(r"\bLinUCB\b", "OwnLinUCB", LIN_UCB.read_text())
    script.write_text(text + runs("OwnLinUCB(alpha=0.5)", inside=True))
    own = run_script(script, tmp_path)
    package = tmp_path / "package_lin_ucb.py"
    imported = "from greedyfirst import LinUCB\n"
    package.write_text(imported + runs("LinUCB(alpha=0.5)", inside=True))
    assert own == run_script(package, tmp_path)


# ---------------------------------------------------------------- policies defined in this process


class RoundRobinState(Record):
    scores: Scores = part()
    seen: object = floats("n_arms")


class RoundRobin(Policy):
    """In plain Python: no kernels, no model."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return RoundRobinState(memory, n_arms=n_arms, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    def score(policy, state, step, context, eligible):
        names = [f"arm {number}" for number in range(len(eligible))]  # no kernel could do this
        state.scores.value[:] = [-len(names) * count for count in state.seen]
        return -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.seen[arm] += 1


PROBLEM = LinearProblem(
    contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0),
    arms=GaussianParameters(n_arms=3, mean=[0.0, 0.0], covariance=1.0),
    noise=GaussianNoise(sigma=0.5),
)


def test_a_policy_in_plain_python_runs_in_an_agent_and_in_simulate(tmp_path):
    agent = Agent(RoundRobin(), n_arms=3, n_features=2, seed=1)
    arms = []
    for _ in range(9):
        arms.append(agent.choose([1.0, 2.0]))
        agent.update([1.0, 2.0], arms[-1], 0.5)
    assert all(sorted(arms[start : start + 3]) == [0, 1, 2] for start in (0, 3, 6))
    assert agent.choose_many([[1.0, 2.0]] * 2).shape == (2,)
    assert agent.probabilities([1.0, 2.0]).sum() == pytest.approx(1)
    agent.save(tmp_path / "agent")
    assert Agent.load(tmp_path / "agent").state.seen.tolist() == [3.0, 3.0, 3.0]
    result = simulate(PROBLEM, {"own": RoundRobin()}, n_instances=2, horizon=30, seed=1)
    assert result.pulls.tolist() == [[[10, 10, 10]]] * 2


def test_a_policy_without_a_model_says_so():
    agent = Agent(RoundRobin(), n_arms=3, n_features=2, seed=1)
    with pytest.raises(ValueError, match="keeps a model"):
        agent.expected_rewards([1.0, 2.0])
    with pytest.raises(ValueError, match="keeps a model"):
        agent.diversity()


def test_a_policy_in_plain_python_is_no_fallback():
    with pytest.raises(ValueError, match=r"fallback must be .* kernels"):
        GreedyFirst(fallback=RoundRobin())


def test_a_subclass_keeps_its_options():
    class Patient(Greedy):
        pass

    assert Patient(initial_pulls=2).initial_pulls == 2
    assert EpsilonGreedy(epsilon=0.2, warmup="pinv").warmup == "pinv"
    arms = [
        Agent(kind(initial_pulls=2), n_arms=3, n_features=2, seed=1).choose_many([[1, 2]] * 6)
        for kind in (Greedy, Patient)
    ]
    assert arms[0].tolist() == arms[1].tolist() == [0, 1, 2, 0, 1, 2]


def test_a_class_defined_again_runs_its_new_code():
    def define(sign):
        class Signed(LinUCB):
            @staticmethod
            def init(policy, n_arms, n_features, memory):
                state = LinUCB.init(policy, n_arms, n_features, memory)
                state.model.estimate[1] = sign
                return state

        return Signed

    chosen = [
        Agent(define(sign)(alpha=0), n_arms=2, n_features=1, seed=1).choose([1.0])
        for sign in (1.0, -1.0)
    ]
    assert chosen == [1, 0]


def test_a_saved_agent_of_an_unknown_policy_names_its_module(tmp_path):
    from greedyfirst.policies.description import from_description

    with pytest.raises(ValueError, match="import my_module first"):
        from_description({"policy": "my_module:Mine", "options": {}})


# ---------------------------------------------------------------- mistakes, and their sentences


class LearningState(Record):
    model: object = part()
    scores: Scores = part()


class Right(Policy):
    @staticmethod
    def init(policy, n_arms, n_features, memory):
        model = least_squares.init(memory, n_arms, n_features)
        return LearningState(memory, model=model, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        predict(state.model, context, state.scores)
        return -1

    @staticmethod
    @kernel
    def update(policy, state, step, context, arm, reward):
        least_squares.observe(state.model, PINV, arm, context, reward)


class PlainUpdate(Right):
    @staticmethod
    def update(policy, state, step, context, arm, reward):
        least_squares.observe(state.model, PINV, arm, context, reward)


class PlainBoth(PlainUpdate):
    @staticmethod
    def score(policy, state, step, context, eligible):
        predict(state.model, context, state.scores)
        return -1


class NoReturn(Right):
    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        predict(state.model, context, state.scores)


class SometimesNoReturn(Right):
    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        if step <= 2:
            return 0
        predict(state.model, context, state.scores)


class NoReturnInPython(RoundRobin):
    @staticmethod
    def score(policy, state, step, context, eligible):
        RoundRobin.score(policy, state, step, context, eligible)


class NoDataclass(Right):
    turns: int = 2


class SlipState(RoundRobinState):
    counts: object = floats("n_arm")


class SlipInAShape(Right):
    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return SlipState(memory, n_arms=n_arms, scores=Scores(memory, n_arms=n_arms))


class NoScores(Right):
    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return LearningState(memory, model=least_squares.init(memory, n_arms, n_features))


class NoState(Right):
    @staticmethod
    def init(policy, n_arms, n_features, memory):
        Right.init(policy, n_arms, n_features, memory)


MUST_RETURN = "score must return an arm's number, or -1 and scores, "
SENTENCES = {
    PlainUpdate: "PlainUpdate.score is a kernel, but other functions of PlainUpdate are not: write "
    "@kernel above all of them, or above none",
    PlainBoth: "PlainBoth.score calls the kernel predict, which kernels alone can: write @kernel "
    "above PlainBoth.score",
    NoReturn: MUST_RETURN + "but returns nothing, on one way through it at least",
    SometimesNoReturn: MUST_RETURN + "but returns nothing, on one way through it at least",
    NoReturnInPython: MUST_RETURN + "got None",
    NoDataclass: "NoDataclass has the options turns, but is no dataclass: write "
    "@dataclass(frozen=True, kw_only=True) above it",
    SlipInAShape: "SlipState.counts has the length 'n_arm' that is not given, only n_arms, scores",
    NoScores: "LearningState.scores is a record that is not given, only model",
    NoState: "the state that NoState.init returns must be a Record with scores, a part of the type "
    "Scores, got None",
}


@pytest.mark.parametrize("kind", SENTENCES, ids=lambda kind: kind.__name__)
@pytest.mark.skipif(not native_numba.KERNEL_OPTIONS, reason="plain numba has no such sentence")
def test_a_mistake_in_a_policy_is_a_sentence(kind):
    with pytest.raises((TypeError, ValueError), match=re.escape(SENTENCES[kind])):
        Agent(kind(), n_arms=3, n_features=2, seed=1).choose([1.0, 2.0])
