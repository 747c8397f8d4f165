"""Answering alarms and signing in: who may, what is recorded, and what other sites cannot do."""

import re
from urllib.parse import unquote

import pytest
from dashboard_tools import HTML, Page, client, fill, form_of, sign_in

ANNA = {"Authorization": "Bearer key of anna"}


@pytest.fixture
def dose(tmp_path):
    with client(tmp_path / "log.db") as made:
        fill(made)
        yield made


@pytest.fixture
def locked(tmp_path):
    with client(tmp_path / "log.db", keys=True) as made:
        fill(made, headers=ANNA)
        yield made


def answer(made, fields, **options):
    """Send the form; dropping is confirmed."""
    fields = {"confirmed": "yes"} | fields
    return made.post("/policies/dose", data=fields, follow_redirects=False, **options)


def audit(made, **options):
    return [entry["event"] for entry in made.get("/v1/policies/dose/audit", **options).json()]


@pytest.mark.parametrize("resolution", ["explore", "drop", "hold"])
def test_an_answer_is_recorded_and_shown(dose, resolution):
    fields = form_of(dose) | {"resolution": resolution, "who": " Dr Who ", "why": "seen enough"}
    sent = answer(dose, fields)
    assert sent.status_code == 303
    newest = audit(dose)[0]
    assert newest == {
        "event": "resolved",
        "arm": fields["arm"],
        "resolution": resolution,
        "who": "Dr Who",
        "why": "seen enough",
        "alarm": int(fields["alarm"]),
        "change": False,
        "before": None,
    }
    shown = Page(dose.get(sent.headers["location"]))
    assert "Recorded: " in shown.words
    assert "By Dr Who." in shown.words
    assert f"Alarm {fields['alarm']}: {fields['arm']}" not in shown.words.partition("Audit list")[0]
    assert "Dr Who seen enough" in shown.words
    status = {"explore": "explored", "drop": "not in use", "hold": "kept, not tested"}[resolution]
    assert f"{fields['arm']} {status}" in shown.words


def test_a_form_sent_twice_counts_once(dose):
    fields = form_of(dose) | {"resolution": "drop", "who": "me", "why": "twice"}
    assert [answer(dose, fields).status_code for _ in range(2)] == [303, 303]
    assert [event["event"] for event in audit(dose)].count("resolved") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"who": "  "}, "Say who you are."),
        ({"why": ""}, "Say why"),
        ({"resolution": "ignore"}, "Choose one of the answers."),
        ({"who": "x" * 201}, "200 characters"),
        ({"why": "x" * 2001}, "2000 characters"),
    ],
)
def test_an_incomplete_answer_is_asked_for_again(dose, change, said):
    fields = form_of(dose) | {"resolution": "drop", "who": "me", "why": "because"} | change
    refused = answer(dose, fields)
    assert refused.status_code == 422
    page = Page(refused)
    assert said in page.words
    for kept in {"who", "why"} - set(change):
        assert fields[kept] in [item.get("value") for item in page.all("input")]
    assert [event["event"] for event in audit(dose)].count("resolved") == 0


def test_an_answer_that_comes_too_late_says_so(dose):
    late = form_of(dose) | {"resolution": "drop", "who": "second", "why": "slow"}
    first = form_of(dose) | {"resolution": "drop", "who": "first", "why": "fast"}
    assert answer(dose, first).status_code == 303
    refused = answer(dose, late)
    assert refused.status_code == 409
    words = Page(refused).words
    assert f"Alarm {late['alarm']} was answered by first on " in words
    assert ": drop" in words


ANSWERS = ["explore", "drop", "hold"]


@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("first", ANSWERS)
def test_two_people_with_the_same_form_open(dose, first, second):
    forms = [form_of(dose) | {"who": name, "why": "?"} for name in ("Ann", "Bob")]
    assert answer(dose, forms[0] | {"resolution": first}).status_code == 303
    refused = answer(dose, forms[1] | {"resolution": second})
    assert refused.status_code == 409
    said = rf"Alarm {forms[0]['alarm']} was answered by Ann on [-0-9]+ [0-9:]+ UTC: {first}"
    assert re.search(said, Page(refused).words)
    assert [event["event"] for event in audit(dose)].count("resolved") == 1


def test_dropping_is_asked_about_once_more(dose):
    fields = form_of(dose) | {"resolution": "drop", "who": "Ann", "why": "<b>weak</b>"}
    asked = dose.post("/policies/dose", data=fields, follow_redirects=False)
    assert asked.status_code == 200
    page = Page(asked)
    assert f"Drop {fields['arm']}?" in page.words
    assert f"nobody gets {fields['arm']} from the policy dose" in page.words
    assert [event["event"] for event in audit(dose)].count("resolved") == 0
    names = ("token", "key", "arm", "alarm", "resolution", "who", "why", "confirmed")
    again = {name: page.field(name) for name in names}
    assert {name: again[name] for name in fields} == fields
    assert answer(dose, again).status_code == 303
    assert audit(dose)[0]["resolution"] == "drop"
    unknown = dose.post("/policies/dose", data=fields | {"arm": "nobody"})
    assert unknown.status_code == 404


def back_form(made):
    """The fields of the first form that takes something back, and where it is sent."""
    shown = Page(made.get("/policies/dose"))
    first = next(i for i, (tag, a) in enumerate(shown.elements) if a.get("class") == "back")
    fields = {}
    for tag, item in shown.elements[first + 1 :]:
        if tag == "form":
            break
        if tag == "input" and item.get("type") == "hidden":
            fields[item["name"]] = item["value"]
    return shown.elements[first][1]["action"], fields


def test_a_dropped_arm_can_be_put_back_on_the_page(dose):
    fields = form_of(dose) | {"resolution": "drop", "who": "Ann", "why": "weak"}
    assert answer(dose, fields).status_code == 303
    place, back = back_form(dose)
    assert place == "/policies/dose/reinstatements"
    assert dose.post(place, data=back | {"who": "Bob", "why": ""}).status_code == 422
    sent = dose.post(place, data=back | {"who": "Bob", "why": "a mistake"}, follow_redirects=False)
    assert sent.status_code == 303
    assert "may be chosen again. By Bob." in Page(dose.get(sent.headers["location"])).words
    assert audit(dose)[0] == {
        "event": "arm_reinstated",
        "arm": fields["arm"],
        "who": "Bob",
        "why": "a mistake",
    }
    arms = dose.get("/v1/policies/dose").json()["arms"]
    assert all(arm["in_use"] for arm in arms)


def test_after_exploring_the_page_has_a_way_back(dose):
    fields = form_of(dose) | {"resolution": "explore", "who": "Ann", "why": "learn"}
    assert answer(dose, fields).status_code == 303
    assert dose.get("/v1/policies/dose").json()["mode"] == "fallback"
    assert "return to greedy" in Page(dose.get("/policies/dose")).words
    place, back = back_form(dose)
    sent = dose.post(place, data=back | {"who": "Bob", "why": "enough"}, follow_redirects=False)
    assert sent.status_code == 303
    assert dose.get("/v1/policies/dose").json()["mode"] == "greedy"
    newest = audit(dose)[0]
    assert (newest["resolution"], newest["change"], newest["before"]) == ("hold", True, "explore")


def test_the_message_of_an_answer_cannot_be_made_up(dose):
    assert "Recorded" not in dose.get("/policies/dose?done=<b>paid</b>").text
    assert answer(dose, {"token": "x"}).status_code == 403
    asked = form_of(dose) | {"arm": "nobody", "resolution": "drop", "who": "me", "why": "?"}
    assert answer(dose, asked).status_code == 404


def test_forms_of_other_sites_are_refused(dose):
    fields = form_of(dose) | {"resolution": "drop", "who": "evil", "why": "csrf"}
    for token in (None, "", "0" * 64, fields["token"][:-1], "é"):
        sent = {name: value for name, value in fields.items() if name != "token"}
        refused = answer(dose, sent if token is None else sent | {"token": token})
        assert refused.status_code == 403
        assert "out of date" in refused.text
        assert refused.headers["content-type"].startswith("text/html")
    for origin in ("https://evil.example", "null"):
        assert answer(dose, fields, headers={"Origin": origin}).status_code == 403
    assert [event["event"] for event in audit(dose)].count("resolved") == 0
    own = {"Origin": "http://testserver.local"}
    assert answer(dose, fields, headers=own).status_code == 303


def test_bodies_that_are_no_forms_are_refused(dose):
    for content, kind in ((b"{}", "application/json"), (b"\xff\xfe", "multipart/form-data")):
        refused = dose.post(
            "/policies/dose", content=content, headers={"Content-Type": kind, **HTML}
        )
        assert 400 <= refused.status_code < 500


PAGES = ["/", "/policies/dose", "/decisions/dose:1", "/decisions/dose:1/again", "/docs"]


def test_without_a_key_pages_lead_to_the_sign_in_page_and_the_api_refuses(locked):
    for path in PAGES:
        sent = locked.get(path, follow_redirects=False)
        assert sent.status_code == 303
        assert unquote(sent.headers["location"]) == f"/sign-in?next={path}"
    assert locked.get("/sign-in").status_code == 200
    refused = locked.get("/v1/policies", headers=HTML)
    assert (refused.status_code, refused.json()["status"]) == (401, 401)
    assert locked.get("/metrics", follow_redirects=False).status_code == 401
    assert answer(locked, {"arm": "low"}).headers["location"] == "/sign-in?next=/"


def test_signing_in_and_out(locked):
    wrong = sign_in(locked, "key of nobody")
    assert wrong.status_code == 401
    assert "This key is not known." in Page(wrong).words
    assert "set-cookie" not in wrong.headers
    done = sign_in(locked, " key of rita ", "/policies/dose?before=9")
    assert (done.status_code, done.headers["location"]) == (303, "/policies/dose?before=9")
    cookie = done.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
    assert "secure" not in cookie
    for path in PAGES:
        shown = locked.get(path, follow_redirects=False)
        assert shown.status_code == 200
        assert "rita (reader)" in Page(shown).words
    token = Page(locked.get("/")).field("token")
    assert locked.post("/sign-out", data={"token": "x"}).status_code == 403
    locked.post("/sign-out", data={"token": token})
    assert locked.get("/", follow_redirects=False).status_code == 303


def test_the_cookie_is_for_https_only_where_that_is_spoken(locked):
    locked.headers["X-Forwarded-Proto"] = "https"
    assert "secure" in sign_in(locked, "key of rita").headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "http://[",
        "a\nb",
        "",
    ],
)
def test_signing_in_leads_to_pages_of_this_service_only(locked, target):
    assert sign_in(locked, "key of rita", target).headers["location"] == "/"


def test_only_an_admin_answers_and_the_answer_is_signed_with_the_key(locked):
    for name in ("rita", "dora"):
        sign_in(locked, f"key of {name}")
        shown = Page(locked.get("/policies/dose"))
        assert "Alarm 1: low" in shown.words
        assert "sign in with an admin" in shown.words
        assert not [form for form in shown.all("form") if form.get("class") == "answer"]
        fields = {"token": shown.field("token"), "arm": "low", "resolution": "drop"}
        refused = answer(locked, fields | {"who": name, "why": "want to"}, headers=HTML)
        assert refused.status_code == 403
        assert "This is not allowed" in refused.text
    readers_token = fields["token"]
    sign_in(locked, "key of anna")
    fields = form_of(locked) | {"resolution": "drop", "who": "Anna", "why": "agreed"}
    assert answer(locked, fields | {"token": readers_token}).status_code == 403
    assert answer(locked, fields).status_code == 303
    assert audit(locked)[0]["who"] == "Anna (key anna)"
