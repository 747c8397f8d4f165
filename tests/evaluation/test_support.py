"""What a log cannot tell is not estimated, and is told."""

import numpy as np
import pandas as pd
import pytest

from greedyfirst.evaluation import LoggedData, always, evaluate, shares_of
from support.logged import K, contexts, make_log, target_probabilities

DIRECT = ["direct method"]


def greedy_log(n=400):
    """A log that always takes the second arm where a feature is positive, else the first."""
    return make_log(1, n, probabilities=lambda rows: np.eye(K)[(rows[:, 1] > 0).astype(int)])


def test_a_greedy_log_is_told_to_be_one():
    log = greedy_log()
    found = evaluate(log, target_probabilities)
    assert [*found.estimates] == DIRECT
    said = " ".join(found.sentences())
    assert "Every decision of this log was certain (propensity 1)" in said
    assert "The log never takes arms that the target would: c" in said
    share = 1 - target_probabilities(log.contexts)[np.arange(len(log)), log.arms].mean()
    assert f"{share:.0%} of the target's decisions" in said


def test_what_a_greedy_log_did_can_be_evaluated():
    log = greedy_log()
    found = evaluate(log, lambda rows: np.eye(K)[(rows[:, 1] > 0).astype(int)])
    assert found.estimates["doubly robust"].value == pytest.approx(log.rewards.mean(), abs=0.05)
    assert found.estimates["self-normalised"].value == pytest.approx(log.rewards.mean())


def test_a_region_without_support_is_found_by_the_weights():
    """The third arm is taken elsewhere, but never where the target would take it."""

    def habits(rows):
        chances = np.full((len(rows), K), 1 / K)
        chances[rows[:, 1] > 0] = [0.5, 0.5, 0.0]
        return chances

    def wants(rows):
        return np.eye(K)[np.where(rows[:, 1] > 0, 2, 0)]

    found = evaluate(make_log(6, 800, probabilities=habits), wants)
    assert [*found.estimates] == DIRECT
    assert found.support.never_taken == {}
    assert found.support.unsupported == pytest.approx(0.5, abs=0.15)


def test_wrong_propensities_are_told():
    log = make_log(1, 800)
    broken = LoggedData(
        contexts=log.contexts,
        arms=log.arms,
        rewards=log.rewards,
        propensities=log.propensities / 2,
        arm_names=log.arm_names,
    )
    found = evaluate(broken, target_probabilities)
    assert [*found.estimates] == DIRECT
    assert "the propensities of this log are wrong" in " ".join(found.sentences())


def test_a_log_without_propensities_gets_the_direct_method_and_a_caveat():
    log = make_log(1, 400)
    bare = LoggedData(
        contexts=log.contexts, arms=log.arms, rewards=log.rewards, arm_names=log.arm_names
    )
    found = evaluate(bare, target_probabilities)
    assert found.support is None
    assert [*found.estimates] == DIRECT
    assert found.sentences()[1].startswith("The log has no propensities")


def test_rare_rewards_decide_nothing():
    """Of 30 arms one is asked for; no click was seen with it, which says little."""
    rng = np.random.default_rng(0)
    n, arms = 3000, 30
    taken = rng.integers(arms, size=n)
    clicks = ((rng.random(n) < 0.01) & (taken != 0)).astype(float)
    log = LoggedData(
        contexts=contexts(rng, n),
        arms=taken,
        rewards=clicks,
        propensities=np.full(n, 1 / arms),
        arm_names=[str(arm) for arm in range(arms)],
    )
    found = evaluate(log, always(log, "0"))
    assert found.support.too_few
    assert found.sentences()[0].startswith("The log has too few rewards that stand out to tell")
    assert "intervals mean nothing" in found.sentences()[1]


def test_shares_of_another_log_by_a_column():
    frame = pd.DataFrame({"arm": ["a", "b", "a", "b"], "r": [0, 1, 0, 1], "at": [1, 1, 2, 2]})
    other = pd.DataFrame({"arm": ["a", "a", "b", "b"], "r": [0, 0, 0, 0], "at": [1, 2, 2, 2]})
    log = LoggedData.from_table(frame, arm="arm", reward="r")
    assert shares_of(frame, other, log, arm="arm").tolist() == [[0.5, 0.5]] * 4
    by_place = shares_of(frame, other, log, arm="arm", by=["at"])
    assert by_place.tolist() == [[1, 0], [1, 0], [1 / 3, 2 / 3], [1 / 3, 2 / 3]]
    with pytest.raises(ValueError, match=r"^the other log has no row with at = 2$"):
        shares_of(frame, other[other["at"] == 1], log, arm="arm", by=["at"])
    with pytest.raises(ValueError, match=r"^arm 'z' of the other log is not among those"):
        shares_of(frame, other.assign(arm="z"), log, arm="arm")


def test_few_ordinary_rewards_are_called_rows():
    """Only of rare rewards is it said that few stand out."""
    found = evaluate(make_log(0, 20), target_probabilities)
    assert found.sentences()[0].startswith("The log has too few rows to tell")
    assert "stand out" not in " ".join(found.sentences())
