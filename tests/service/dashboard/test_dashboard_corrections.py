"""Correcting rewards, held rewards, pausing and closing, on the dashboard's pages."""

import re

import pytest
from dashboard_tools import HTML, POLICY, Page, client, fill, sign_in

HELD = POLICY | {"reward_range": {"low": 0, "high": 1, "outside": "hold"}}
ANNA = {"Authorization": "Bearer key of anna"}


@pytest.fixture
def dose(tmp_path):
    with client(tmp_path / "log.db") as made:
        fill(made, HELD)
        yield made


def form(made, path, action):
    """The hidden fields of the first form on a page that is sent to ``action``."""
    shown = Page(made.get(path))
    first = next(
        i for i, (tag, a) in enumerate(shown.elements) if tag == "form" and a["action"] == action
    )
    fields = {}
    for tag, item in shown.elements[first + 1 :]:
        if tag == "form":
            break
        if tag == "input" and item.get("type") == "hidden":
            fields[item["name"]] = item["value"]
    return fields | {"who": "Ann", "why": "a slip"}


def send(made, action, fields):
    return made.post(action, data=fields, follow_redirects=False)


def test_a_reward_is_corrected_on_its_decisions_page(dose):
    place = "/decisions/dose:2/correction"
    fields = form(dose, "/decisions/dose:2", place)
    assert fields["came"] == "0.25"
    for change, said in (
        ({}, "Choose what the reward was."),
        ({"verdict": "correct", "value": "0,7"}, "Enter the right value as a number"),
        ({"verdict": "correct", "value": "1e99"}, "at most 1e+12"),
        ({"verdict": "correct", "value": "nan"}, "at most 1e+12"),
        ({"verdict": "void", "why": ""}, "Say why"),
        ({"verdict": "correct", "value": "0.25"}, "The reward of decision dose:2 is 0.25 already"),
    ):
        refused = send(dose, place, fields | change)
        assert refused.status_code in (409, 422)
        assert said in Page(refused).words
    corrected = fields | {"verdict": "correct", "value": "0.75"}
    for _ in range(2):  # counts once
        assert send(dose, place, corrected).status_code == 303
    words = Page(dose.get("/decisions/dose:2")).words
    assert "The model learned the reward 0.7500 from it." in words
    assert "0.2500 0.7500 yes" in words
    assert "corrected by Ann: a slip (it was 0.2500)" in words
    assert dose.get("/v1/decisions/dose:2").json()["learned"] == 0.75
    audit = Page(dose.get("/policies/dose")).words
    assert audit.count("The reward of decision 2 was corrected from 0.2500 to 0.7500.") == 1
    assert dose.get("/decisions/dose:2").text.count("<del>") == 1


@pytest.mark.parametrize("verdict", ["confirm", "correct", "void"])
def test_a_held_reward_is_seen_to_on_the_policys_page(dose, verdict):
    dose.put("/v1/decisions/dose:5/reward", json={"value": 680}).raise_for_status()
    words = Page(dose.get("/policies/dose")).words
    assert "1 held reward" in words
    assert "dose 3 open 1 held reward greedy" in Page(dose.get("/")).words
    assert "outside: reward" in words
    assert "Held 1" in words
    assert "not yet, it is held" in Page(dose.get("/decisions/dose:5")).words
    place = "/decisions/dose:5/correction"
    fields = form(dose, "/policies/dose", place) | {"verdict": verdict, "value": "0.68"}
    assert send(dose, place, fields).status_code == 303
    learned = {"confirm": 680.0, "correct": 0.68, "void": None}[verdict]
    assert dose.get("/v1/decisions/dose:5").json()["learned"] == learned
    words = Page(dose.get("/policies/dose")).words
    assert "held reward" not in words
    done = {"confirm": "was confirmed", "correct": "corrected from 680.0 to 0.6800", "void": "void"}
    assert done[verdict] in words.partition("Audit list")[2]


@pytest.mark.parametrize("page", ["/policies/dose", "/decisions/dose:5"])
def test_two_people_with_the_same_correction_form_open(dose, page):
    dose.put("/v1/decisions/dose:5/reward", json={"value": 680}).raise_for_status()
    place = "/decisions/dose:5/correction"
    ann, bob = form(dose, page, place), form(dose, page, place) | {"who": "Bob"}
    ann |= {"verdict": "correct", "value": "0.68"}
    for _ in range(2):  # sent twice counts once
        assert send(dose, place, ann).status_code == 303
    late = send(dose, place, bob | {"verdict": "confirm"})
    assert late.status_code == 409
    assert "The reward was corrected meanwhile by Ann: a slip; look at it" in Page(late).words
    assert dose.get("/v1/decisions/dose:5").json()["learned"] == 0.68
    again = form(dose, "/decisions/dose:5", place) | {"verdict": "void"}  # on purpose
    assert send(dose, place, again).status_code == 303
    assert dose.get("/v1/decisions/dose:5").json()["learned"] is None


def test_the_tiles_add_up(dose):
    dose.put("/v1/decisions/dose:5/reward", json={"value": 680}).raise_for_status()
    body = {"value": None, "who": "Ann", "why": "?"}
    dose.post("/v1/decisions/dose:1/correction", json=body).raise_for_status()
    words = Page(dose.get("/policies/dose")).words
    kinds = ["Decisions", "Learned", "Pending", "Missing", "Too late", "Held", "Void"]
    found = re.search(" ".join(rf"{kind} (\d+)" for kind in kinds), words)
    decisions, *parts = (int(number) for number in found.groups())
    assert decisions == sum(parts) == 6
    assert parts == [3, 1, 0, 0, 1, 1]


def test_a_policy_is_paused_runs_again_and_is_closed(dose):
    place = "/policies/dose/state"
    fields = form(dose, "/policies/dose", place)
    assert send(dose, place, fields).status_code == 422
    assert send(dose, place, fields | {"state": "paused", "who": ""}).status_code == 422
    assert send(dose, place, fields | {"state": "paused"}).status_code == 303
    words = Page(dose.get("/policies/dose")).words
    assert "Paused: it makes no decisions. By Ann on 20" in words
    assert "dose paused" in Page(dose.get("/")).words
    again = send(dose, place, form(dose, "/policies/dose", place) | {"state": "paused"})
    assert again.status_code == 409
    assert "was paused by Ann" in Page(again).words
    running = form(dose, "/policies/dose", place) | {"state": "running"}
    assert send(dose, place, running).status_code == 303
    closing = form(dose, "/policies/dose", place) | {"state": "closed"}
    asked = send(dose, place, closing)
    assert asked.status_code == 200
    assert "This cannot be undone." in Page(asked).words
    assert dose.get("/v1/policies/dose").json()["standing"]["state"] == "running"
    assert send(dose, place, closing | {"confirmed": "yes"}).status_code == 303
    page = Page(dose.get("/policies/dose"))
    assert "Closed: it makes no decisions." in page.words
    assert not [item for item in page.all("form") if item["action"] == place]


def test_features_are_erased_once_that_is_confirmed(dose):
    place = "/decisions/dose:2/erasure"
    fields = form(dose, "/decisions/dose:2", place)
    assert send(dose, place, fields | {"why": ""}).status_code == 422
    asked = send(dose, place, fields)
    assert asked.status_code == 200
    assert "This cannot be undone." in Page(asked).words
    assert dose.get("/v1/decisions/dose:2").json()["context"] != {}
    assert send(dose, place, fields | {"confirmed": "yes"}).status_code == 303
    page = Page(dose.get("/decisions/dose:2"))
    assert "The person’s features were erased by Ann on 20" in page.words
    assert "What was expected" not in page.words
    assert {item["action"] for item in page.all("form")} == set()
    said = "The features of decision 2 were erased; its reward is void."
    assert said in Page(dose.get("/policies/dose")).words
    assert send(dose, place, fields | {"confirmed": "yes"}).status_code == 409
    refused = dose.get("/decisions/dose:2/again", headers=HTML)
    assert refused.status_code == 409
    assert "cannot be made again: its features were erased" in Page(refused).words


def test_only_an_admin_sees_and_sends_these_forms(tmp_path):
    with client(tmp_path / "log.db", keys=True) as made:
        fill(made, HELD, headers=ANNA)
        strange = {"value": 680}
        made.put("/v1/decisions/dose:5/reward", json=strange, headers=ANNA).raise_for_status()
        sign_in(made, "key of rita")
        for path in ("/policies/dose", "/decisions/dose:2"):
            shown = Page(made.get(path))
            actions = {item["action"] for item in shown.all("form")}
            assert actions <= {"/sign-out", "/decisions"}
        fields = {"token": shown.field("token"), "who": "Rita", "why": "?", "verdict": "void"}
        for place in (
            "/decisions/dose:2/correction",
            "/decisions/dose:2/erasure",
            "/policies/dose/state",
            "/policies/dose/reinstatements",
        ):
            assert made.post(place, data=fields, headers=HTML).status_code == 403
