"""The client against a real service, and against one that drops, refuses and dawdles."""

import http.client
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import numpy as np
import pandas as pd
import pytest

from greedyfirst.client import (
    Client,
    ConflictError,
    Decision,
    InvalidError,
    NotFoundError,
    ServiceError,
    UnavailableError,
)
from support.service_process import free_port, service_process

NUMBER = count()
FEATURES = [
    {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
    {"kind": "categorical", "name": "sex", "levels": ["f", "m"]},
]
PATIENT = {"age": 71.5, "sex": "f"}
BY = {"who": "Dr. Smith", "why": "protocol 7"}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with service_process("--db", tmp_path_factory.mktemp("client") / "log.db") as address:
        yield address


@pytest.fixture
def client(url):
    with Client(url) as opened:
        yield opened


@pytest.fixture
def policy(client):
    name = f"dose-{next(NUMBER)}"
    client.create_policy({"name": name, "arms": ["low", "high"], "features": FEATURES, "seed": 1})
    return name


class Trouble(BaseHTTPRequestHandler):
    """Passes requests on to the service; does to the first answers what ``faults`` say."""

    protocol_version = "HTTP/1.1"
    service = ""
    faults: list = []  # noqa: RUF012 (each test makes its own class)
    keys: list = []  # noqa: RUF012

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.keys.append(self.headers.get("Idempotency-Key"))
        fault = self.faults.pop(0) if self.faults else "none"
        if fault in ("503", "429"):
            self.answer(int(fault), b'{"status": 503, "detail": "later"}')
            return
        link = http.client.HTTPConnection(self.service, timeout=30)
        headers = {key: value for key, value in self.headers.items() if key != "Host"}
        link.request(self.command, self.path, body, headers)
        response = link.getresponse()
        status, content = response.status, response.read()
        link.close()
        if fault == "slow":
            time.sleep(1.0)
        if fault in ("drop", "slow"):
            self.close_connection = True
        elif fault == "half":
            self.answer(status, content[: len(content) // 2], length=len(content))
            self.close_connection = True
        elif fault == "garbage":
            self.answer(418, b"<html>teapot</html>")
        elif fault == "page":
            self.answer(200, b"<html>please log in</html>")
        elif fault == "other":
            self.answer(200, b"null")
        else:
            self.answer(status, content)

    do_GET = do_POST = do_PUT = handle_any  # noqa: N815

    def answer(self, status, content, length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def troubled(url, *faults):
    handler = type("Handler", (Trouble,), {"faults": list(faults), "keys": []})
    handler.service = url.removeprefix("http://")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_decision_and_its_reward(client, policy):
    decision = client.decide(policy, PATIENT)
    assert decision.policy == policy
    assert decision.decision_id == f"{policy}:1"
    assert decision.arm in ("low", "high")
    assert decision.mode == "greedy"
    assert list(decision.contributions) == ["intercept", "age", "sex=m"]
    assert client.reward(decision, 1.5) == "counted"
    assert client.reward(decision.decision_id, 1.5) == "duplicate"
    seen = client.decision(decision)
    assert (seen["status"], seen["learned"], seen["context"]) == ("rewarded", 1.5, PATIENT)
    assert client.replay(decision)["same"]
    assert client.policy(policy)["joined"] == 1


def test_rows_arms_and_rewards_of_pandas(client, policy):
    row = pd.DataFrame({"sex": ["m"], "age": [50]}).iloc[0]
    decision = client.decide(policy, row, eligible_arms=pd.Index(["high"]))
    assert decision.arm == "high"
    assert client.decide(policy, PATIENT, eligible_arms=np.array(["low"])).arm == "low"
    assert client.reward(decision, np.True_) == "counted"
    assert client.decision(decision)["learned"] == 1.0


def test_eligible_arms_and_numpy_numbers(client, policy):
    context = {"age": np.float64(50.5), "sex": "m"}
    assert client.decide(policy, context, eligible_arms=["high"]).arm == "high"
    assert (
        client.decide(policy, {"age": np.int64(50), "sex": "m"}, eligible_arms=("low",)).arm
        == "low"
    )


def test_a_person_asks_for_an_arm_that_starves(client, policy):
    ages = [40 + number % 40 for number in range(200)]
    rows = [
        {"context": {"age": age, "sex": "fm"[age % 3 % 2]}, "arm": "low", "reward": age % 7}
        for age in ages
    ]
    client.import_history(policy, rows, **BY)
    (alarm,) = client.diversity(policy)["open_alarms"]
    assert (alarm["arm"], alarm["measure"]) == ("high", "share of what is known")
    waiting = client.decide(policy, PATIENT)
    assert (waiting.explored_arms, waiting.raised_by) == ((), {})
    arms = client.resolve(policy, "high", "explore_arm", **BY)["arms"]
    assert [(arm["name"], arm["doing"]) for arm in arms] == [("low", None), ("high", "explored")]
    assert client.policy(policy)["open_alarms"] == []
    decision = client.decide(policy, PATIENT, eligible_arms=["high"])
    assert (decision.mode, decision.explored_arms) == ("explored", ("high",))
    assert [*decision.raised_by] == ["high"]
    assert decision.raised_by["high"] > 0
    with pytest.raises(ConflictError, match=r"alarm 1 was answered by .*: explore_arm"):
        client.resolve(policy, "high", "hold", **BY)
    assert alarm["number"] == 1
    client.resolve(policy, "high", "hold", alarm=1, change=True, **BY)
    assert client.audit(policy)[0]["event"]["before"] == "explore_arm"


def test_a_reward_is_corrected_and_features_are_erased(client, policy):
    decision = client.decide(policy, PATIENT)
    assert decision.held == ()
    client.reward(decision, 680)
    told = client.correct(decision, 0.68, **BY)
    assert (told["learned"], told["rewards"][0]["value"]) == (0.68, 680.0)
    assert client.correct(decision.decision_id, None, **BY)["status"] == "voided"
    with pytest.raises(ConflictError, match="is void already"):
        client.correct(decision, None, **BY)
    for wrong_value in ("x", float("nan")):
        with pytest.raises(ValueError, match="value must be"):
            client.correct(decision, wrong_value, **BY)
    assert client.erase(decision, **BY)["context"] == {}
    with pytest.raises(ConflictError, match="erased already"):
        client.erase(decision, **BY)


def test_a_policy_is_paused_and_runs_again(client, policy):
    assert client.set_state(policy, "paused", **BY)["standing"]["state"] == "paused"
    with pytest.raises(ConflictError, match="was paused by"):
        client.decide(policy, PATIENT)
    client.set_state(policy, "running", **BY)
    assert client.decide(policy, PATIENT).arm


def test_an_arm_is_put_back(client, policy):
    client.retire_arm(policy, "high", **BY)
    arms = client.reinstate_arm(policy, "high", **BY)["arms"]
    assert [arm["in_use"] for arm in arms] == [True, True]
    for wrong_alarm in (0, "1", 1.5):
        with pytest.raises(ValueError, match="alarm must be a whole number"):
            client.resolve(policy, "high", "hold", alarm=wrong_alarm, **BY)


def test_an_answer_of_release_0_1_is_a_decision():
    answer = {
        "decision_id": "p:1",
        "policy": "p",
        "arm": "low",
        "mode": "greedy",
        "step": 1,
        "at": 0.0,
        "model_version": 0,
        "schema_version": 1,
        "expected_rewards": {"low": 0.0},
        "contributions": {"x": 0.0},
    }
    assert Decision.of(answer).explored_arms == ()
    assert Decision.of(answer).raised_by == {}
    assert Decision.of(answer | {"explored_arms": ["low"], "more": 1}).explored_arms == ("low",)


def test_people(client, policy, tmp_path):
    rows = [
        {"context": {"age": 40 + number % 40, "sex": "fm"[number % 2]}, "arm": "low", "reward": 0.5}
        for number in range(2500)
    ]
    assert client.import_history(policy, rows, **BY)["imported"] == 2500
    assert [arm["name"] for arm in client.add_arm(policy, "mid", **BY)["arms"]][2] == "mid"
    assert not client.retire_arm(policy, "low", **BY)["arms"][0]["in_use"]
    assert client.resolve(policy, "high", "explore", **BY)["mode"] == "fallback"
    assert client.diversity(policy)["rewards"] == 2500
    done = [entry["event"]["event"] for entry in client.audit(policy)]
    people = [event for event in done if event != "alarmed"]
    assert people == ["resolved", "arm_retired", "arm_added", *["imported"] * 3, "created"]
    newest = client.audit(policy, limit=1)[0]
    assert client.audit(policy, before=newest["number"], limit=1)[0]["number"] < newest["number"]
    features = [*FEATURES, {"kind": "numeric", "name": "weight"}]
    assert client.change_schema(policy, features, fill={"weight": 0}, **BY) == 2
    client.decide(policy, PATIENT | {"weight": 80.0})
    client.export(policy, tmp_path / "decisions.parquet")
    assert list(pd.read_parquet(tmp_path / "decisions.parquet")["decision_id"]) == [f"{policy}:1"]
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.parquet"]


def test_refusals_have_classes_of_their_own(client, policy):
    with pytest.raises(NotFoundError, match="no policy") as caught:
        client.policy("nothing")
    assert caught.value.status == 404
    with pytest.raises(NotFoundError):
        client.reward(f"{policy}:99", 1.0)
    with pytest.raises(InvalidError, match="feature 'sex' is missing from context") as caught:
        client.decide(policy, {"age": 50})
    assert caught.value.status == 422
    assert caught.value.sentence.startswith("feature 'sex'")
    decision = client.decide(policy, PATIENT)
    client.reward(decision, 1.0)
    with pytest.raises(ConflictError, match=r"already has the reward 1\.0") as caught:
        client.reward(decision, 2.0)
    assert caught.value.status == 409
    with pytest.raises(ConflictError, match="another policy"):
        client.create_policy({"name": policy, "arms": ["a"], "features": FEATURES})
    good = {"context": PATIENT, "arm": "low", "reward": 1.0}
    with pytest.raises(InvalidError, match=r"from row 1000 on: rows\[2\]"):
        client.import_history(policy, [*[good] * 1002, good | {"arm": "none"}], **BY)
    assert client.policy(policy)["imported"] == 1000


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda c: c.decide("", PATIENT), "policy"),
        (lambda c: c.decide("p", [1.0]), "context"),
        (lambda c: c.decide("p", {"age": float("nan")}), "context"),
        (lambda c: c.decide("p", {"age": object()}), "context"),
        (lambda c: c.decide("p", PATIENT, eligible_arms="low"), "eligible_arms"),
        (lambda c: c.reward(3, 1.0), "decision"),
        (lambda c: c.reward("p:1", float("inf")), "value"),
        (lambda c: c.reward("p:1", 1.0, part=2), "part"),
        (lambda c: c.create_policy("p"), "specification"),
        (lambda c: c.import_history("p", [1], **BY), r"rows\[0\]"),
        (lambda c: c.import_history("p", 1, **BY), "rows"),
        (lambda c: c.import_history("p", [{"reward": object()}], **BY), "rows"),
        (lambda c: c.change_schema("p", [FEATURES[0], 1], **BY), r"features\[1\]"),
        (lambda c: c.change_schema("p", FEATURES[0], **BY), "features"),
        (lambda c: c.change_schema("p", FEATURES, fill=1, **BY), "fill"),
        (lambda c: c.audit("p", limit=0), "limit"),
        (lambda c: c.audit("p", before=0), "before"),
        (lambda _: Client("ftp://somewhere"), "url"),
        (lambda _: Client("http://host:port"), "url"),
        (lambda _: Client(7), "url"),
        (lambda _: Client(key="two\nlines"), "key"),
        (lambda _: Client(timeout=0), "timeout"),
        (lambda _: Client(retries=-1), "retries"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_sent(call, named):
    with Client("http://127.0.0.1:1") as unconnected, pytest.raises(ValueError, match=named):
        call(unconnected)


@pytest.mark.parametrize(
    "faults",
    [("drop",), ("half", "drop"), ("503", "503"), ("429",), ("slow",), ("drop", "503", "slow")],
)
def test_a_call_that_is_tried_again_counts_once(client, policy, url, faults):
    with troubled(url, *faults) as (address, handler), Client(address, timeout=0.8) as shaky:
        decision = shaky.decide(policy, PATIENT)
        assert len(handler.keys) == len(faults) + 1
        assert len(set(handler.keys)) == 1
        handler.faults += faults
        assert shaky.reward(decision, 1.0) in ("counted", "duplicate")
        handler.faults += faults
        shaky.add_arm(policy, "mid", **BY)
    stands = client.policy(policy)
    assert (stands["decisions"], stands["joined"], len(stands["arms"])) == (1, 1, 3)
    assert client.decision(decision)["status"] == "rewarded"


def test_every_call_has_a_key_of_its_own(policy, url):
    with troubled(url) as (address, handler), Client(address) as fresh:
        fresh.decide(policy, PATIENT)
        fresh.decide(policy, PATIENT)
    assert len(set(handler.keys)) == 2


def test_giving_up(policy, url):
    with troubled(url, *["503"] * 2) as (address, handler), Client(address, retries=1) as shaky:
        with pytest.raises(UnavailableError, match="later") as caught:
            shaky.decide(policy, PATIENT)
        assert caught.value.status == 503
        handler.faults[:] = ["drop"] * 3  # the first one, on a kept connection, costs no try
        with pytest.raises(UnavailableError, match="no answer") as caught:
            shaky.policy(policy)
        assert caught.value.status is None
        handler.faults[:] = ["garbage"]
        with pytest.raises(ServiceError, match="teapot") as caught:
            shaky.policy(policy)
        assert caught.value.status == 418


@pytest.mark.parametrize("fault", ["page", "other"])
@pytest.mark.parametrize(
    "call",
    [
        lambda c, _: c.decide("dose", PATIENT),
        lambda c, _: c.reward("dose:1", 1.0),
        lambda c, _: c.policy("dose"),
        lambda c, _: c.audit("dose"),
        lambda c, _: c.change_schema("dose", FEATURES, **BY),
        lambda c, folder: c.export("dose", folder / "decisions.parquet"),
    ],
)
def test_what_something_else_answers_is_no_answer(url, tmp_path, call, fault):
    with (
        troubled(url, fault) as (address, _),
        Client(address) as lost,
        pytest.raises(ServiceError, match="not a decision service's") as caught,
    ):
        call(lost, tmp_path)
    assert caught.value.status == 200
    assert not list(tmp_path.iterdir())


def test_a_change_of_schema_is_sent_once(policy, url):
    features = [*FEATURES, {"kind": "numeric", "name": "weight"}]
    with troubled(url) as (address, handler), Client(address) as shaky:
        shaky.policy(policy)  # leaves a connection to keep
        handler.faults[:] = ["drop"]
        with pytest.raises(UnavailableError, match="no answer"):
            shaky.change_schema(policy, features, fill={"weight": 0}, **BY)
        assert len(handler.keys) == 2
        assert shaky.policy(policy)["schema_version"] == 2


def test_wide_rows_are_sent_in_bodies_that_are_taken(client):
    names = [f"a feature with a long name, number {number}" for number in range(40)]
    client.create_policy(
        {
            "name": "wide",
            "arms": ["low", "high"],
            "features": [{"kind": "numeric", "name": name} for name in names],
            "policy": {"policy": "Greedy", "options": {}},
        }
    )
    row = {"context": dict.fromkeys(names, 1 / 3), "arm": "low", "reward": 1.0}
    assert client.import_history("wide", [row] * 700, **BY)["imported"] == 700
    with pytest.raises(InvalidError, match="at most 1000000 bytes"):
        client.decide("wide", {"text": "x" * 1_000_000})


def test_nobody_listens():
    with (
        Client("http://127.0.0.1:1", retries=0) as lonely,
        pytest.raises(UnavailableError, match="no answer"),
    ):
        lonely.policy("dose")


def test_threads_share_a_client(client, policy):
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: client.decide(policy, PATIENT).step, range(64)))
    assert sorted(made) == list(range(1, 65))


def test_a_restart_is_not_noticed(tmp_path):
    """Kept connections are dead then, and the service is away for a while."""
    port = free_port()
    with Client(f"http://127.0.0.1:{port}", retries=8) as patient_client:
        with service_process("--db", tmp_path / "log.db", port=port):
            patient_client.create_policy({"name": "dose", "arms": ["a", "b"], "features": FEATURES})
            patient_client.decide("dose", PATIENT)
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(patient_client.decide, "dose", PATIENT)
            with service_process("--db", tmp_path / "log.db", port=port):
                assert waiting.result().step == 2


def test_what_was_learned_the_protocol_subgroups_and_operations(client, policy):
    made = client.decide(policy, PATIENT)
    client.reward(made, 1.0)
    assert client.effects(policy, against="high")["against"] == "high"
    assert client.effects(policy)["against"] == "low"
    assert client.intervals(made)["chosen"] == made.arm
    assert client.protocol(policy)["document"]["policy"] == policy
    levels = [
        (each["level"], each["decisions"]) for each in client.subgroups(policy, "sex")["groups"]
    ]
    assert levels == [("f", 1), ("m", 0), ("f", 1)]
    assert policy in [each["name"] for each in client.operations()["policies"]]
    with pytest.raises(InvalidError, match="by must be a category"):
        client.subgroups(policy, "age & more")
