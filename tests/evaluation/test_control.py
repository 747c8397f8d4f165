"""A control share: who is in it, and what the comparison says, against plain versions."""

import numpy as np
import pytest

from greedyfirst.evaluation import Comparison, in_control
from greedyfirst.evaluation.confidence_sequence import asymptotic_interval, bounded_interval
from greedyfirst.evaluation.control import GROUPS, LEAST_INFORMATIVE


def mixed(z):
    """SplitMix64's mixing function on whole numbers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def test_a_group_is_a_function_of_seed_and_step():
    golden = 0x9E3779B97F4A7C15
    for seed, step in ((0, 1), (7, 2), (2**62 + 11, 10**6)):
        stream = mixed(mixed(((seed ^ GROUPS) + golden) % 2**64) ^ (step * golden % 2**64))
        drawn = (mixed((stream + golden) % 2**64) >> 11) / 2**53
        assert in_control(seed, step, drawn + 1e-9)
        assert not in_control(seed, step, drawn)


def test_the_share_is_what_was_asked_for():
    """37 500 ± 4 standard deviations of 168; the seeds are fixed."""
    drawn = sum(in_control(seed, step, 0.25) for seed in range(3) for step in range(1, 50_001))
    assert abs(drawn - 37_500) < 4 * 168


def played(n, seed=1, share=0.3, **limits):
    rng = np.random.default_rng(seed)
    trial = Comparison(share=share, **limits)
    groups = np.where(rng.random(n) < share, "control", "policy")
    rewards = rng.random(n) + 0.2 * (groups == "policy")
    for group, reward in zip(groups, rewards, strict=True):
        trial.add(group, reward)
    return trial, groups, rewards


@pytest.mark.parametrize("limits", [{}, {"low": -1.0, "high": 2.0}])
def test_scores_are_those_of_plain_numpy(limits):
    trial, groups, rewards = played(300, **limits)
    start, scores = 0.5 if limits else rewards[0], []
    for i in range(0 if limits else 1, 300):
        means = [
            np.mean([start, *rewards[:i][groups[:i] == group]]) for group in ("policy", "control")
        ]
        own = 0.3 * means[0] + 0.7 * means[1]
        weight = 1 / 0.7 if groups[i] == "policy" else -1 / 0.3
        scores.append((rewards[i] - own) * weight)
    assert trial.scores.count == len(scores)
    assert trial.scores.total == pytest.approx(np.sum(scores), rel=1e-12)
    assert trial.scores.squares == pytest.approx(np.sum(np.square(scores)), rel=1e-12)
    found = trial.advantage()
    if limits:
        expected = bounded_interval(trial.scores, bound=3.0 / 0.3)
        assert (found.low, trial.method) == (max(expected.low, -3.0), "bounded")
    else:
        assert (found, trial.method) == (asymptotic_interval(trial.scores), "asymptotic")


def test_the_mean_score_is_the_advantage_whatever_came_before():
    """Over both draws of the next decision, exactly: no bias, whatever the baseline is."""
    for seed in range(5):
        drawn = []
        for group, reward in (("policy", 3.0), ("control", -1.5)):
            trial, *_ = played(50, seed=seed)
            before = trial.scores.total
            trial.add(group, reward)
            drawn.append(trial.scores.total - before)
        assert 0.7 * drawn[0] + 0.3 * drawn[1] == pytest.approx(4.5, rel=1e-12)


def test_informative_rewards_are_coins_rare_events_and_a_third_of_normal_ones():
    trial, groups, rewards = played(400)
    own = rewards[groups == "control"]
    around = own - own.mean()
    expected = (around**2).sum() ** 2 / (around**4).sum()
    assert trial.control.informative == pytest.approx(expected, rel=1e-9)
    clicks = Comparison(share=0.5)
    for i in range(10_000):
        clicks.add("policy", 1000.0 + (i % 500 == 0))
        clicks.add("control", 7.0)
    assert clicks.policy.informative == pytest.approx(20, rel=0.02)
    assert clicks.control.informative == 0.0


def test_rare_rewards_of_one_group_count_for_the_other():
    """As many rewards as 20 of them take, where large rewards are rarest."""
    trial, *_ = played(400, share=0.25)
    assert trial.advantage() is not None
    for _ in range(3):
        trial.add("policy", 100.0)
    few = trial.control.count * trial.policy.informative / trial.policy.count
    assert few < 2 < LEAST_INFORMATIVE < trial.control.informative
    assert trial.control.informative_beside(trial.policy) == pytest.approx(few)
    assert trial.policy.informative_beside(trial.control) == trial.policy.informative
    assert trial.advantage() is None
    assert f"the control group {few:.0f}." in trial.sentence()


def test_an_asymptotic_interval_names_the_rarest_event_in_it():
    trial, groups, _ = played(400)
    rarest = min((groups == "control").sum(), (groups == "policy").sum()) // 3
    assert (
        f"Events rarer than 1 in {rarest} rewards of a group may not be in it" in trial.sentence()
    )
    bounded, *_ = played(400, low=-1.0, high=2.0)
    assert "rarer" not in bounded.sentence()


@pytest.mark.parametrize("size", [1000, -1000, 30])
def test_jackpots_that_the_smaller_group_lacks_do_not_make_a_policy_better(size):
    """Both groups are alike. At 5 %, more than 7 of 60 would be wrong in 1 % of runs."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        trial, said = Comparison(share=0.1), set()
        control = rng.random(3000) < 0.1
        rewards = size * (rng.random(3000) < 0.005 * (1 + seed % 2)) + rng.normal(size=3000)
        for step, (drawn, reward) in enumerate(zip(control, rewards.tolist(), strict=True)):
            trial.add("control" if drawn else "policy", reward)
            if step % 50 == 49:
                said.add(trial.verdict())
        wrong += bool(said & {"better", "worse"})
    assert wrong <= 7


def test_verdicts_and_their_sentences():
    coins = {"low": 0.0, "high": 1.0}
    nothing = Comparison(share=0.5, **coins)
    assert nothing.verdict() == "not yet known"
    assert nothing.sentence().endswith("current practice: there are no rewards to compare.")
    for better, verdict in (("policy", "better"), ("control", "worse")):
        trial = Comparison(share=0.5, **coins)
        for i in range(400):
            trial.add("policy" if i % 2 else "control", float((i % 2 == 1) == (better == "policy")))
        assert trial.verdict() == verdict
        assert trial.sentence().startswith(f"The policy is {verdict} than current practice: by ")
        assert "over the 400 decisions compared so far" in trial.sentence()
    few, *_ = played(20)
    assert few.advantage() is None
    assert f"needs {LEAST_INFORMATIVE:.0f} informative rewards" in few.sentence()
    alike, *_ = played(40, share=0.5, low=-1.0, high=2.0)
    assert alike.sentence().startswith("It is not yet known whether the policy is better or worse")


def test_a_reward_outside_its_range_makes_the_interval_asymptotic():
    trial, *_ = played(600, low=-1.0, high=2.0)
    trial.add("policy", 2.5)
    assert trial.method == "asymptotic"
    assert trial.advantage() == asymptotic_interval(trial.scores)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"share": 0.0}, "share must be"), ({"share": 0.1, "low": 1.0, "high": 1.0}, "low must be")],
)
def test_what_makes_no_sense_is_refused(options, said):
    with pytest.raises(ValueError, match=said):
        Comparison(**options)
    with pytest.raises(ValueError, match="reward must be"):
        Comparison(share=0.1).add("policy", float("nan"))
