"""Policies of one's own in the service: probabilities that they state are in the log, exactly."""

from served import CONTEXT, create, decide, reward, running, view

from greedyfirst.policies.uniform import Uniform


class OneToThree(Uniform):
    """Plain Python. The high dose with probability 3/4, less 1/64 for each reward of it."""

    @staticmethod
    def init(policy, n_arms, n_features, memory):
        state = Uniform.init(policy, n_arms, n_features, memory)
        state.scores.stated = True
        return state

    @staticmethod
    def score(policy, state, step, context, eligible):
        high = 0.75 - state.model.pulls[1] / 64
        state.scores.value[:] = [1 - high, high] if eligible.all() else eligible
        return -1

    @staticmethod
    def update(policy, state, step, context, arm, reward):
        state.model.pulls[arm] += 1


class Thirds(OneToThree):
    @staticmethod
    def score(policy, state, step, context, eligible):
        state.scores.value[:] = 0.25
        return -1


def own(kind):
    return {"policy": kind.registered_name(), "options": {}}


def test_stated_probabilities_are_propensities_of_the_log_and_recompute(start, path, clock):
    with start() as client:
        create(client, policy=own(OneToThree))
        highs, made = 0, []
        for _ in range(30):
            answer = decide(client)
            high = 0.75 - highs / 64
            assert answer["propensities"] == {"low": 1 - high, "high": high}
            assert answer["propensity"] == answer["propensities"][answer["arm"]]
            highs += answer["arm"] == "high"
            reward(client, answer["decision_id"], 1.0)
            made.append(answer)
        alone = decide(client, eligible_arms=["low"])
        assert (alone["arm"], alone["propensities"]) == ("low", {"low": 1.0})
    assert {answer["arm"] for answer in made} == {"low", "high"}
    with running(path, clock) as client:
        for answer in made:
            again = client.get(f"/v1/decisions/{answer['decision_id']}/replay").json()
            assert again["same"]


def test_probabilities_that_are_none_refuse_the_decision_and_change_nothing(start):
    with start() as client:
        create(client, policy=own(Thirds))
        answer = client.post("/v1/policies/dose/decisions", json={"context": CONTEXT})
        assert answer.status_code == 422
        told = "policy Thirds(), step 1: the probabilities of the eligible arms 0, 1 sum to 0.5"
        assert told in answer.text
        assert view(client)["decisions"] == 0
