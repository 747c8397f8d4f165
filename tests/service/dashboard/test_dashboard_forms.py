"""Answering alarms and signing in: who may, what is recorded, and what other sites cannot do."""

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
    }
    shown = Page(dose.get(sent.headers["location"]))
    assert "Recorded: " in shown.words
    assert "Answered by Dr Who." in shown.words
    assert f"Alarm: {fields['arm']}" not in shown.words.partition("Audit list")[0]
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
    assert "is not in use any more" in Page(refused).words


def test_the_message_of_an_answer_cannot_be_made_up(dose):
    assert "Recorded" not in dose.get("/policies/dose?answered=<b>paid</b>").text
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
        assert "Alarm: low" in shown.words
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
