"""``check_policy`` on policies as scripts have them: right ones pass, each planted bug is told."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from greedyfirst import Agent, Greedy, GreedyFirst, Policy, simulate
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.records import Record, floats, integer, integers, part
from greedyfirst.numerics.randomness import stream, uniform
from greedyfirst.policies.selection import Scores
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem
from greedyfirst.testing import check_policy
from greedyfirst.testing.hidden_draws import draws_of
from greedyfirst.testing.uncompiled import uncompiled_arms

ROOT = Path(__file__).parents[2]
PROBLEM = LinearProblem(
    contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0),
    arms=GaussianParameters(n_arms=3, mean=[0.0, 0.0], covariance=1.0),
    noise=GaussianNoise(sigma=0.5),
)


def named(case):
    return None if isinstance(case, str) else type(case).__name__


GENERATOR = np.random.default_rng(0)


class Means(Record):
    pulls = integers("n_arms")
    totals = floats("n_arms")
    asked = integer()
    scores = part()


@dataclass(frozen=True, kw_only=True)
class HighestMean(Policy):
    """Right, in plain Python: the arm with the highest mean, and untried ones first."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        return Means(memory, n_arms=n_arms, scores=Scores(memory, n_arms=n_arms))

    @staticmethod
    def score(policy, state, step, context, eligible):
        state.scores.value[:] = [
            total / pulls if pulls else 100.0
            for total, pulls in zip(state.totals, state.pulls, strict=True)
        ]
        return -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.pulls[arm] += 1
        state.totals[arm] += reward


def test_a_policy_in_plain_python_passes():
    check_policy(HighestMean)


@dataclass(frozen=True, kw_only=True)
class LearnsTheNextArm(HighestMean):
    @staticmethod
    def update(policy, state, step, context, arm, reward):
        HighestMean.update(policy, state, step, context, (arm + 1) % len(state.pulls), reward)


@dataclass(frozen=True, kw_only=True)
class LearnsAnArmWithoutPulls(HighestMean):
    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.totals[0] += reward


@dataclass(frozen=True, kw_only=True)
class DrawsByGenerator(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        HighestMean.score(policy, state, step, context, eligible)
        arm = int(GENERATOR.integers(len(eligible)))
        return arm if eligible[arm] else -1


@dataclass(frozen=True, kw_only=True)
class DrawsByStep(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        HighestMean.score(policy, state, step, context, eligible)
        return drawn(step, eligible)


@kernel
def drawn(step, eligible):
    arm = int(uniform(stream(1, step), 0) * eligible.shape[0])
    return arm if eligible[arm] != 0.0 else -1


@dataclass(frozen=True, kw_only=True)
class CountsBesideTheState(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        HighestMean.score(policy, state, step, context, eligible)
        best = getattr(state, "best", 0)
        return best if eligible[best] else -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        HighestMean.update(policy, state, step, context, arm, reward)
        state.best = int(np.argmax(state.totals))


@dataclass(frozen=True, kw_only=True)
class LearnsInScore(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        state.totals[0] += 0.1
        return HighestMean.score(policy, state, step, context, eligible)


@dataclass(frozen=True, kw_only=True)
class CountsQuestions(HighestMean):
    """Nothing of the state that is saved changes, and yet ``score`` has a memory."""

    @staticmethod
    def score(policy, state, step, context, eligible):
        state.questions = getattr(state, "questions", 0) + 1
        state.scores.value[:] = [(state.questions * 7 + arm * 3) % 5 for arm in range(3)]
        return -1


@dataclass(frozen=True, kw_only=True)
class TakesAnything(HighestMean):
    margin: float = 1.0


class OwnRecord(Record):
    count = integer()


class MeansBesideNobody(Record):
    pulls = integers("n_arms")
    totals = floats("n_arms")
    own = part(shared=True)
    scores = part()


@dataclass(frozen=True, kw_only=True)
class SharesWithNobody(HighestMean):
    """The record is not said to be this state's own, so that it is not saved."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        parts = {"own": OwnRecord(memory), "scores": Scores(memory, n_arms=n_arms)}
        return MeansBesideNobody(memory, n_arms=n_arms, **parts)

    @staticmethod
    def score(policy, state, step, context, eligible):
        arm = state.own.count % len(eligible)
        HighestMean.score(policy, state, step, context, eligible)
        return arm if eligible[arm] else -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.own.count += 1
        HighestMean.update(policy, state, step, context, arm, reward)


BUGS = [
    (SharesWithNobody(), "what it learns is not kept: own.count is no field of the state"),
    (LearnsTheNextArm(), r"step 1 took arm (\d), but update changed pulls by "),
    (LearnsAnArmWithoutPulls(), "took arm|learns the same whichever arm"),
    (DrawsByGenerator(), "what is random must be in the scores|takes other arms"),
    (DrawsByStep(), r"calls the kernel drawn|score uses stream, uniform"),
    (CountsBesideTheState(), "what it learns is not kept: best is no field of the state"),
    (LearnsInScore(), "score changes totals in step 1: leave that to update, or declare"),
    (CountsQuestions(), "score answers step 1 in two ways|takes other arms"),
    (TakesAnything(), "margin takes any object: refuse it in __post_init__"),
]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    BUGS,
    ids=lambda each: None if isinstance(each, str) else type(each).__name__,
)
def test_a_planted_bug_is_told(policy, sentence):
    with pytest.raises((AssertionError, TypeError), match=sentence) as raised:
        check_policy(policy)
    assert type(policy).__name__ in str(raised.value)


def test_a_draw_is_found_in_kernels_and_in_what_they_call():
    assert draws_of(DrawsByStep.score) == ["stream", "uniform"]
    assert draws_of(DrawsByGenerator.score) == ["GENERATOR"]
    assert draws_of(LearnsInScore.score) == []
    assert draws_of(lambda: np.random.default_rng()) == ["np.random"]


# ---------------------------------------------------------------- arms and scores that are none


@dataclass(frozen=True, kw_only=True)
class Forces(HighestMean):
    """At step 3, in plain Python."""

    @staticmethod
    def score(policy, state, step, context, eligible):
        return HighestMean.score(policy, state, step, context, eligible) if step < 3 else 7


@dataclass(frozen=True, kw_only=True)
class ForcesCompiled(HighestMean):
    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        return step % 3 if step < 3 else 7

    @staticmethod
    @kernel
    def update(policy, state, step, context, arm, reward):
        state.pulls[arm] += 1


@dataclass(frozen=True, kw_only=True)
class NotANumber(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        state.scores.value[:] = [0.0, np.nan if step >= 3 else 1.0, 2.0]
        return -1


@dataclass(frozen=True, kw_only=True)
class NotANumberCompiled(ForcesCompiled):
    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        for arm in range(eligible.shape[0]):
            state.scores.value[arm] = np.nan if step >= 3 and arm == 1 else 1.0
        return -1


OUTSIDE = r"step 3: score returned arm 7: expected one of the arms 0 to 2, or -1 and scores"
NAN = r"step 3: the score of arm 1 is nan: expected a number"
WRONG = [
    (Forces(), OUTSIDE),
    (ForcesCompiled(), OUTSIDE),
    (NotANumber(), NAN),
    (NotANumberCompiled(), NAN),
]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    WRONG,
    ids=lambda each: None if isinstance(each, str) else type(each).__name__,
)
def test_a_decision_that_cannot_be_made_is_told_everywhere(policy, sentence):
    """It names policy, step and arm, and changes nothing."""
    sentence = rf"policy {type(policy).__name__}\(\), {sentence}"
    agent = Agent(policy, n_arms=3, n_features=2, seed=1)
    for _ in range(2):
        agent.update([1.0, 2.0], agent.choose([1.0, 2.0]), 0.5)
    before = agent.state.pulls.copy()
    for ask in (agent.choose, agent.probabilities):
        with pytest.raises(ValueError, match=sentence):
            ask([1.0, 2.0])
    with pytest.raises(ValueError, match=sentence):
        agent.choose([1.0, 2.0], eligible=[0, 1])
    fresh = Agent(policy, n_arms=3, n_features=2, seed=1)
    with pytest.raises(ValueError, match=sentence):
        fresh.choose_many([[1.0, 2.0]] * 5)
    assert (agent.decisions, fresh.decisions) == (2, 0)
    assert agent.state.pulls.tolist() == before.tolist()
    with pytest.raises(ValueError, match=sentence):
        simulate(PROBLEM, {"own": policy}, n_instances=2, horizon=30, seed=1, progress=False)
    with pytest.raises((ValueError, AssertionError), match=sentence):
        check_policy(policy)


def test_an_arm_that_is_not_eligible_is_told():
    agent = Agent(AlwaysOne(), n_arms=3, n_features=2, seed=1)
    assert agent.choose([1.0, 2.0]) == 1
    agent.drop_arm(1)
    told = (
        r"AlwaysOne\(\), step 2: score returned arm 1, which is not eligible: expected one of 0, 2"
    )
    for ask in (agent.choose, agent.probabilities, lambda x: agent.choose_many([x])):
        with pytest.raises(ValueError, match=told):
            ask([1.0, 2.0])


@dataclass(frozen=True, kw_only=True)
class AlwaysOne(HighestMean):
    @staticmethod
    def score(policy, state, step, context, eligible):
        return 1


# ---------------------------------------------------------------- what is refused, and scripts


def test_a_policy_inside_another_is_found_by_the_other_process():
    inside = GreedyFirst(warmup="pinv", t0=30, lambda0=0.5, fallback=ForcesCompiled())
    with pytest.raises(AssertionError, match=r"fallback=ForcesCompiled\(\)\), step .* arm 7"):
        uncompiled_arms([inside], n_arms=3, n_features=4)


def test_what_is_no_policy_is_refused():
    with pytest.raises(ValueError, match="policy must be a policy or a class of policies, got 3"):
        check_policy(3)
    with pytest.raises(ValueError, match="n_arms must be at least 3, got 2"):
        check_policy(Greedy(), n_arms=2)


def test_a_class_that_no_process_finds_is_not_checked_uncompiled():
    class Local(HighestMean):
        pass

    with pytest.warns(UserWarning, match="not checked uncompiled: Local is defined inside a"):
        check_policy(Local())


SCRIPT = """
from dataclasses import dataclass

{definition}

if __name__ == "__main__":
    from greedyfirst.testing import check_policy
    check_policy({policy})
    print("passes")
"""


def run_script(path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(path)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_skeleton_passes_from_a_script(tmp_path):
    skeleton = (ROOT / "docs" / "skeleton_policy.py").read_text()
    call = SCRIPT.partition("{definition}")[2].replace("{policy}", "Skeleton(turns=2)")
    script = tmp_path / "my_policy.py"
    script.write_text(skeleton + call)
    done = run_script(script)
    assert (done.stdout, done.returncode) == ("passes\n", 0), done.stderr


OUT_OF_RANGE = """
from greedyfirst.compiling.kernels import kernel
from greedyfirst.policies.uniform import Uniform

@dataclass(frozen=True, kw_only=True)
class Beyond(Uniform):
    @staticmethod
    @kernel
    def score(policy, state, step, context, eligible):
        for arm in range(eligible.shape[0]):
            state.scores.value[arm] = 0.0
        if state.model.estimate[0, context.shape[0]] > 1e300:  # one past the end of arm 0
            state.scores.value[0] = 1.0
        return -1
"""


def test_an_index_past_the_end_is_found_by_the_process_that_compiles_nothing(tmp_path):
    script = tmp_path / "beyond.py"
    script.write_text(SCRIPT.format(definition=OUT_OF_RANGE, policy="Beyond()"))
    done = run_script(script)
    assert done.returncode == 1
    told = "policy Beyond(): uncompiled, where indices are checked, it fails: IndexError: index 4"
    assert told in done.stderr
