"""The dashboard's pages as a browser gets them: right, readable by all, safe."""

import re
from importlib.resources import files
from itertools import pairwise

import pytest
from dashboard_tools import HTML, POLICY, Page, client, fill, outside_addresses

from greedyfirst.service.dashboard import wording

PAGES = [
    "/",
    "/policies/dose",
    "/decisions/dose:1",
    "/decisions/dose:1/again",
    "/decisions/dose:6",
    "/policies/dose/effects",
    "/policies/dose/subgroups?by=sex",
    "/policies/dose/protocol",
    "/policies/dose/operations",
    "/operations",
    "/docs",
    "/sign-in",
    "/policies/none",
]


@pytest.fixture(scope="module")
def dose(tmp_path_factory):
    with client(tmp_path_factory.mktemp("dashboard") / "log.db") as made:
        fill(made)
        yield made


@pytest.fixture(params=PAGES)
def page(request, dose):
    return Page(dose.get(request.param, headers=HTML))


def test_pages_have_a_title_a_language_and_landmarks(page):
    tags = [tag for tag, _ in page.elements]
    assert page.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all(
        "meta"
    )
    for once in ("title", "h1", "header", "main", "footer"):
        assert tags.count(once) == 1, once


def test_headings_leave_out_no_level(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_field_has_a_label_and_every_id_is_one_elements(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = {attributes["for"] for attributes in page.all("label")}
    fields = [field for field in page.all("input") if field.get("type") != "hidden"]
    assert {field["id"] for field in fields} <= labelled
    for _, attributes in page.elements:
        for reference in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(reference, "").split()) <= set(ids)
    for chart in (a for _, a in page.elements if a.get("role") == "img"):
        assert "table below" in chart["aria-label"]
    assert all("scope" in header for header in page.all("th"))


def test_nothing_is_inline_and_nothing_is_elsewhere(page):
    """As the content security policy demands."""
    for tag, attributes in page.elements:
        assert tag != "style"
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for link in ("href", "src", "action"):
            assert attributes.get(link, "/").startswith(("/", "#"))
            assert not attributes.get(link, "/").startswith("//")
    assert all(script["src"].startswith("/static/") for script in page.all("script"))


def test_pages_and_files_name_no_outside_address(dose):
    for path in PAGES:
        assert outside_addresses(dose.get(path, headers=HTML).text) == [], path
    for file in files("greedyfirst.service.dashboard").joinpath("static").iterdir():
        assert outside_addresses(file.read_text()) == [], file.name


def test_pages_carry_the_strict_policy_and_are_not_kept(dose):
    for path in [*PAGES, "/nothing"]:
        headers = dose.get(path, headers=HTML).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers.get_list("cache-control") == ["no-store"]
        assert headers["content-type"] == "text/html; charset=utf-8"


def test_files_are_kept_for_long_under_an_address_of_their_content(dose):
    page = Page(dose.get("/policies/dose"))
    links = [item["src"] for item in page.all("script")] + [
        item["href"] for item in page.all("link")
    ]
    assert len(links) == 6
    for link in links:
        plain = dose.get(link, headers={"Accept-Encoding": "identity"})
        packed = dose.get(link)
        assert plain.content == packed.content
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers.get_list("cache-control") == ["public, max-age=31536000, immutable"]
        assert packed.headers["x-content-type-options"] == "nosniff"
        kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
        ending = link.partition("?")[0].rpartition(".")[2]
        assert packed.headers["content-type"].partition(";")[0] == kinds[ending]
    assert dose.get("/static/wording.py").status_code == 404
    assert dose.get("/static/..%2frouting.py").status_code == 404


def test_front_page_lists_policies(dose):
    words = Page(dose.get("/")).words
    assert "dose 3 open greedy 6 2" in words


def test_front_page_of_an_empty_log(tmp_path):
    with client(tmp_path / "log.db") as empty:
        assert "There is no policy yet" in Page(empty.get("/")).words


def test_policy_page_shows_what_the_api_says(dose):
    words = Page(dose.get("/policies/dose")).words
    diversity = dose.get("/v1/policies/dose/diversity").json()
    for alarm in diversity["open_alarms"]:
        assert f"Alarm {alarm['number']}: {alarm['arm']}" in words
    for arm in diversity["arms"]:
        assert f"{arm['name']} alarm {arm['pulls']} " in words
    assert "Decisions 6 Learned 4 Pending 2 Missing 0 Too late 0 Held 0 Void 0" in words
    assert "after 2 rewards" in words
    assert "The policy was created." in words
    assert words.count("a person is to decide") == 3


def test_charts_get_their_data_from_the_api(dose):
    charts = next(
        attributes
        for _, attributes in Page(dose.get("/policies/dose")).elements
        if "data-course" in attributes
    )
    assert len(dose.get(charts["data-course"]).json()["points"]) == 4
    assert len(dose.get(charts["data-diversity"]).json()["arms"]) == 3


def test_a_policy_without_rewards_has_no_charts(tmp_path):
    with client(tmp_path / "log.db") as made:
        made.post("/v1/policies", json=POLICY)
        page = Page(made.get("/policies/dose"))
    assert "Charts appear when the first reward has come." in page.words
    assert not [a for _, a in page.elements if "data-chart" in a]


def test_decision_page_tells_all(dose):
    view = dose.get("/v1/decisions/dose:2").json()
    words = Page(dose.get("/decisions/dose:2")).words
    assert f"the policy chose {view['answer']['arm']}" in words
    assert "age 51" in words
    assert "sex m" in words
    assert "The model learned the reward 0.2500 from it." in words
    assert "base level" in words
    assert "sex: m" in words
    assert "Its reward has not come yet." in Page(dose.get("/decisions/dose:6")).words


def test_a_new_arm_is_not_green(tmp_path):
    """The line that it must stay above is 0 at first, and so is what it has."""
    with client(tmp_path / "log.db") as made:
        fill(made)
        body = {"arm": "new", "who": "me", "why": "?"}
        made.post("/v1/policies/dose/arms", json=body).raise_for_status()
        page = made.get("/policies/dose")
    assert "new no samples yet 0 " in Page(page).words
    assert "tag good" not in page.text


def test_terms_are_explained_where_they_are_shown(dose):
    words = Page(dose.get("/policies/dose")).words
    assert "Pulls are the rewards that an arm has learned from" in words
    assert "λ₀ (1,000) what the policy was given" in words
    assert "pooled span, the span of all contexts so far" in words


@pytest.mark.parametrize(("options", "known"), [({}, True), ({"t0": 5}, False)])
def test_an_expected_reward_has_its_interval_or_a_sentence_says_why_not(tmp_path, options, known):
    with client(tmp_path / "log.db") as made:
        made.post("/v1/policies", json=POLICY | {"policy": {"options": options}})
        for number in range(12):
            context = {"age": 50 + 3 * number, "sex": "fm"[number % 2]}
            chosen = made.post("/v1/policies/dose/decisions", json={"context": context}).json()
            url = f"/v1/decisions/{chosen['decision_id']}/reward"
            made.put(url, json={"value": number % 5 / 4}).raise_for_status()
        words = Page(made.get("/decisions/dose:3")).words
        arms = made.get("/v1/decisions/dose:3/intervals").json()["arms"]
    assert "What is expected today, and how surely" in words
    assert ("The intervals hold for all arms, contexts and times together" in words) == known
    assert ("There are no intervals" in words) != known
    for arm in arms:
        low, high = (arm["interval"][end] for end in ("low", "high"))
        assert (low is None) == (high is None)
        ends = "not known yet"
        if known and low is not None:
            ends = f"{wording.number(low)} to {wording.number(high)}"
        assert f"{arm['arm']} {wording.number(arm['expected'])} {ends}" in words


def test_a_decision_is_made_again(dose):
    words = Page(dose.get("/decisions/dose:3/again")).words
    assert "Made again from the log just now: the same arm" in words


def test_a_decision_is_found_by_its_number_or_id(dose):
    for asked in ("3", " 3 ", "dose:3"):
        found = dose.get(
            "/decisions", params={"policy": "dose", "number": asked}, follow_redirects=False
        )
        assert (found.status_code, found.headers["location"]) == (303, "/decisions/dose:3")
    for asked in ("99", "other:1", "", "//evil.example/", "dose:1/../.."):
        found = dose.get("/decisions", params={"policy": "dose", "number": asked})
        assert found.status_code == 404
        assert "There is nothing here" in found.text


def test_older_audit_entries_are_a_link_away(tmp_path):
    with client(tmp_path / "log.db") as made:
        fill(made)
        for number in range(25):
            asked = {"arm": f"new {number}", "who": "me", "why": "more"}
            made.post("/v1/policies/dose/arms", json=asked).raise_for_status()
        newest = Page(made.get("/policies/dose"))
        link = next(a["href"] for a in newest.all("a") if "before=" in a.get("href", ""))
        oldest = Page(made.get(link))
    assert "The policy was created." not in newest.words
    assert "The policy was created." in oldest.words
    shown = [re.findall(r"The arm (new \d+) was added", page.words) for page in (newest, oldest)]
    assert shown[0] + shown[1] == [f"new {number}" for number in range(24, -1, -1)]
    assert len([a for _, a in newest.elements if a.get("data-chart") == "diversity"]) == 12


def test_errors_of_pages_are_pages_and_errors_of_the_api_are_not(dose):
    beyond = f"/policies/dose?before={2**63}"  # more than SQLite can hold
    strange = (
        "/policies/none",
        "/decisions/dose:99",
        "/nothing",
        "/policies/dose?before=x",
        beyond,
    )
    for path in strange:
        answer = dose.get(path, headers=HTML)
        assert answer.status_code in (404, 422)
        assert answer.headers["content-type"].startswith("text/html")
        assert "To the list of policies" in answer.text
    for path in ("/v1/policies/none", "/v1/decisions/dose:99"):
        assert dose.get(path, headers=HTML).json()["status"] == 404
    assert dose.get("/nothing").json()["status"] == 404


def test_a_page_says_when_the_log_fails(dose, monkeypatch):
    journal = dose.app.state.service.running.journal
    monkeypatch.setattr(journal, "failure", "disk full")
    answer = dose.get("/policies/dose")
    assert answer.status_code == 503
    assert "Not at the moment" in answer.text
    assert "disk full" in answer.text


def test_documentation_names_every_operation_and_shape(dose):
    document = dose.get("/openapi.json").json()
    words = Page(dose.get("/docs")).words
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in words
    for name in [*document["components"]["schemas"], "HistoryRow"]:
        assert name in words
    assert "Choose an arm for a context." in words
    assert "``" not in words


EVIL = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'


def test_names_are_never_markup(tmp_path):
    arms = [EVIL, IMAGE, "{{ 7 * 7 }}"]
    features = [
        {"kind": "numeric", "name": IMAGE},
        {"kind": "categorical", "name": EVIL, "levels": ["f", "m", EVIL]},
    ]
    with client(tmp_path / "log.db") as made:
        fill(made, POLICY | {"arms": arms, "features": features})
        answer = {"arm": EVIL, "resolution": "hold", "who": EVIL, "why": IMAGE}
        made.post("/v1/policies/dose/resolutions", json=answer).raise_for_status()
        paths = ["/policies/dose", "/decisions/dose:2", "/decisions/dose:2/again"]
        answers = [made.get(path) for path in paths]
        answers.append(made.get(f"/policies/{EVIL.replace('/', '%2F')}", headers=HTML))
        answers.append(made.get("/decisions", params={"number": EVIL}))
        answers.append(made.get("/sign-in", params={"next": IMAGE}))
    for shown in answers:
        assert EVIL not in shown.text
        assert "<img" not in shown.text
        assert all("src" in script for script in Page(shown).all("script"))
    assert all(EVIL in Page(shown).text for shown in answers[:3])
    assert "{{ 7 * 7 }}" in Page(answers[0]).text
