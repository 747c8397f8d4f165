"""The demo: a log as a real trial would leave it, with one alarm to answer."""

import socket
import subprocess
import sys

import pytest

from greedyfirst import GreedyFirst
from greedyfirst.cli import main
from greedyfirst.service.demo import DAY, DAYS, EFFECTS, PATIENTS_A_DAY, simulate_trial
from greedyfirst.service.http import views
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.state import restoring
from greedyfirst.service.state.effects import effects
from greedyfirst.service.state.protocol import protocol
from greedyfirst.service.state.subgroups import question, subgroups

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo") / "demo.db"
    simulate_trial(made, now=NOW)
    return made


@pytest.fixture
def log(path):
    opened = SqliteLog(path)
    yield opened
    opened.close()


def test_one_arm_has_an_open_alarm_that_the_test_raised(log):
    deployment, _ = restoring.restore(log, "dosing")
    view = views.policy_view(deployment)
    assert [alarm.arm for alarm in view.open_alarms] == ["high dose"]
    alarmed = [entry.event for entry in log.audit("dosing") if entry.kind == "alarmed"]
    own = [alarm for alarm in alarmed if alarm.arm == "high dose"]
    assert own == list(view.open_alarms)
    for alarm in alarmed:
        assert alarm.measure == "share of what is known"
        assert alarm.min_eigenvalue < alarm.threshold == pytest.approx(0.6 / 3)
    assert deployment.agent.policy == GreedyFirst(initial_pulls=8, on_alarm="hold")
    starving = {each.arm: each for each in view.starving}
    assert starving["high dose"].doing == "waiting for an answer"
    assert starving["high dose"].since == own[0].rewards
    low, medium, high = deployment.agent.diversity().arms
    assert high.min_eigenvalue < min(low.min_eigenvalue, medium.min_eigenvalue, high.threshold / 20)
    assert high.pulls < 100 < min(low.pulls, medium.pulls)


def test_a_person_has_the_usual_doses_explored_and_decisions_say_by_how_much(log):
    deployment, _ = restoring.restore(log, "dosing")
    doing = {arm.name: arm.doing for arm in views.diversity_view(deployment).arms}
    usual = ["low dose", "medium dose"]
    assert [doing[arm] for arm in usual] == ["explored"] * 2
    answers = [entry.event for entry in log.audit("dosing") if entry.kind == "resolved"]
    assert sorted(each.arm for each in answers) == usual
    assert {each.resolution for each in answers} == {"explore_arm"}
    last = [entry.event.answer for entry in log.read("dosing") if entry.kind == "decided"][-500:]
    raised = [answer.raised_by for answer in last if answer.raised_by]
    assert {arm for by in raised for arm in by} <= set(usual)
    assert len(raised) > 20
    assert all(amount > 0 for by in raised for amount in by.values())
    assert "explored" in {answer.mode for answer in last}


def test_rewards_are_pending_late_and_missing(log):
    view = views.policy_view(restoring.restore(log, "dosing")[0])
    assert view.decisions == DAYS * PATIENTS_A_DAY
    assert min(view.pending, view.late, view.missing) > 10
    unlearned = view.missing + view.too_late
    assert view.joined + view.pending + unlearned == view.decisions
    assert view.defaulted == view.imported == 0


def test_its_pages_have_something_to_show(log):
    """A correction and a change of features; effects that are known, each in its interval."""
    laid_down = protocol(log, "dosing")
    kinds = [change.event["event"] for change in laid_down.changes]
    assert kinds[0] == "alarmed"
    assert set(kinds) == {"reward_corrected", "alarmed", "resolved", "fed", "schema_changed"}
    deployment, last = restoring.restore(log, "dosing")
    found = effects(deployment, None)(deployment.agent)
    truth = [effect for arm in deployment.agent.arm_names for effect in EFFECTS[arm]]
    pairs = zip(found.effects, truth, strict=True)
    given = [(each.effect, true) for each, true in pairs if each.effect.low is not None]
    assert len(given) == 14  # of two doses: the third has too few rewards, and that is said
    assert all(effect.low < true < effect.high for effect, true in given)
    assert "No interval yet for high dose" in found.basis.sentence
    told_apart = [each for each in found.effects if each.difference and each.difference.sign]
    assert len(told_apart) >= 3
    groups = subgroups(log, question(deployment, "gene variant", last))
    acted = [entry.event for entry in log.audit("dosing") if entry.kind == "alarmed"]
    changes = kinds.count("resolved") + kinds.count("schema_changed")
    changes += sum(alarm.answered != "hold" for alarm in acted)
    assert [period.number for period in groups.periods] == list(range(1, changes + 2))
    assert len(groups.groups) == 3 * (1 + len(groups.periods))


def test_times_are_in_order_and_end_now(log):
    times = [entry.at for entry in log.read("dosing")]
    assert times == sorted(times)
    assert times[0] >= NOW - DAYS * DAY
    assert NOW - DAY < times[-1] <= NOW


def test_the_log_is_whole_and_its_decisions_can_be_made_again(log):
    assert log.check() == log.last()[0]
    assert restoring.recompute_last(log, "dosing", 300) == (300, 0, 0)


def test_a_log_with_policies_is_refused_with_a_sentence(path):
    with pytest.raises(ValueError, match=r"demo\.db has policies already; the demo needs a new"):
        simulate_trial(path)
    command = [sys.executable, "-m", "greedyfirst", "serve", "--demo", "--db", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "has policies already" in done.stderr
    assert "Traceback" not in done.stderr
    log = SqliteLog(path)
    assert len(log.policies()) == 1
    log.close()


def test_a_port_in_use_is_noticed_before_the_simulation(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["greedyfirst", "serve", "--demo", "--port", port])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"127.0.0.1:{port} cannot be used" in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
