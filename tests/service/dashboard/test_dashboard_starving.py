"""Pages about policies whose arms are explored one by one: who starves and what is done."""

import pytest
from dashboard_tools import ARM_BY_ARM, POLICY, Page, client, fill, form_of, starve

BY = {"who": "Ada", "why": "a test"}
CHOICES = ["explore_arm", "explore", "drop", "hold"]


@pytest.fixture
def dose(tmp_path):
    with client(tmp_path / "log.db") as made:
        starve(made)
        yield made


def diversity(made):
    return {arm["name"]: arm for arm in made.get("/v1/policies/dose/diversity").json()["arms"]}


def answer(made, resolution, arm="low"):
    body = {"arm": arm, "resolution": resolution, "change": True, **BY}
    made.post("/v1/policies/dose/resolutions", json=body).raise_for_status()


def bring(made, arm, n):
    context = [{"age": 50 + 3 * (i % 7), "sex": "fm"[i // 7 % 2]} for i in range(n)]
    rows = [{"context": each, "arm": arm, "reward": 1} for each in context]
    made.post("/v1/policies/dose/history", json={"rows": rows, **BY}).raise_for_status()


def words_of(made, path="/policies/dose"):
    return Page(made.get(path)).words


def test_the_alarm_says_what_the_arm_has_and_what_it_needs(dose):
    words, low = words_of(dose), diversity(dose)["low"]
    assert "low starves: too little is known of it about some people to trust" in words
    has = f"{100 * low['min_eigenvalue']:.2f}"
    assert f"there it has {has} % of what is known and needs 30.0 %." in words
    assert "Either it is the worse arm there, and that is no fault, or it has been given" in words
    assert f"About {low['samples_needed']} more samples of it" in words
    assert f"after {low['tripped_at']} rewards. Until someone answers, low is chosen only" in words
    assert "eigenvalue" not in words
    assert "λ₀" not in words


def offered(page):
    return [field["value"] for field in page.all("input") if field.get("name") == "resolution"]


def test_the_form_lists_the_answers_of_the_policy(dose):
    page = Page(dose.get("/policies/dose"))
    assert offered(page) == CHOICES
    fill(dose, POLICY | {"name": "papers"})
    assert offered(Page(dose.get("/policies/papers"))) == CHOICES[1:] * 3  # an alarm for each arm
    meaning = "While it starves, it gets the benefit of the doubt: it is assigned to some"
    assert f"Explore low alone. {meaning}" in page.words


def test_the_arms_table_says_how_each_stands(dose):
    low, high = (diversity(dose)[name] for name in ("low", "high"))
    words, since = words_of(dose), low["tripped_at"]
    assert "Least share of what is known Share needed Samples needed" in words
    assert "An arm that is surely worse starves for good, and is tried ever more rarely" in words
    assert f"low starves since reward {since}; waits for an answer {low['pulls']} " in words
    assert f"high holds its share since reward {high['fed_at']} {high['pulls']} " in words
    answer(dose, "hold")
    assert f"low kept, not tested starves since reward {since} " in words_of(dose)
    answer(dose, "explore_arm")
    assert f"low explored while it starves since reward {since} " in words_of(dose)
    answer(dose, "explore")
    words = words_of(dose)
    assert f"low explored, as all arms are starves since reward {since} " in words
    assert f"high explored, as all arms are {high['pulls']} " in words
    answer(dose, "drop")
    assert "low not in use " in words_of(dose)


def test_an_arm_is_explored_by_the_form_and_the_audit_list_says_so(dose):
    fields = form_of(dose) | {"resolution": "explore_arm", "who": "Dr Who", "why": "some people"}
    sent = dose.post("/policies/dose", data=fields, follow_redirects=False)
    assert sent.status_code == 303
    words = words_of(dose, sent.headers["location"])
    recorded = "The arm is explored while it starves (low)."
    assert f"Recorded: {recorded} By Dr Who." in words
    assert f"{recorded} Dr Who some people" in words
    assert "Alarm 1: low" not in words.partition("Audit list")[0]
    assert "Greedy, and explores low: takes the arm with the highest expected reward" in words
    late = dose.post("/policies/dose", data=fields | {"key": "another"}, follow_redirects=False)
    assert late.status_code == 409
    assert "Alarm 1 was answered by Dr Who on " in Page(late).words


def test_the_front_page_says_who_starves(dose):
    since = diversity(dose)["low"]["tripped_at"]
    waits = f"dose 1 open greedy 60 0 low: since reward {since}, waits for an answer"
    assert waits in words_of(dose, "/")
    answer(dose, "explore_arm")
    explored = "dose none greedy, and explores low 60 0 "
    assert f"{explored}low: since reward {since}, explored while it starves" in words_of(dose, "/")
    bring(dose, "low", 60)
    assert "dose none greedy 60 0 none" in words_of(dose, "/")


def test_an_arm_that_is_fed_is_on_record_and_its_alarm_is_gone(dose):
    bring(dose, "low", 60)
    fed_at, words = diversity(dose)["low"]["fed_at"], words_of(dose)
    assert fed_at > 60
    assert f"low holds its share since reward {fed_at} " in words
    said = f"low holds its share again, after {fed_at} rewards. Its alarm was closed, unanswered."
    assert said in words.partition("Audit list")[2]
    assert "Alarm 1: low" not in words.partition("Audit list")[0]
    assert "Alarm: low starves. In its weakest direction it had" in words
    assert "of what is known and needs 30.0 %; a person is to decide." in words


def test_charts_and_their_tables_are_of_shares(dose):
    page = Page(dose.get("/policies/dose"))
    charts = [a["aria-label"] for _, a in page.elements if a.get("data-chart") == "diversity"]
    assert charts[0].startswith("Least share of what is known of low against the share needed;")
    first = page.words.partition("After rewards low high Share needed ")[2].split(" Rewards and")[0]
    assert first.startswith("5 ")  # sixty points make a dozen rows
    assert first.count("30.0 %") == 12
    points = dose.get("/v1/policies/dose/course").json()["points"]
    assert {value for point in points[:20] for value in point["thresholds"]} == {0.3}


def test_pages_of_a_policy_of_rule_1_speak_of_its_samples(tmp_path):
    with client(tmp_path / "log.db") as made:
        starve(made, ARM_BY_ARM | {"policy": {"options": {"rule": 1}}})
        words = words_of(made)
    assert "of all samples and needs 2.50 %." in words
    assert "Its samples say least about" in words
    assert "Least share of all samples Share needed" in words
    assert "Alarm: low starves. In its weakest direction it had" in words
    assert "of all samples and needs 2.50 %; a person is to decide." in words
    assert "what is known" not in words


def test_a_decision_says_whether_its_arm_was_explored(dose):
    context = {"context": {"age": 50, "sex": "f"}}
    asked = "/v1/policies/dose/decisions"
    plain = dose.post(asked, json=context).json()["decision_id"]
    highest = "Of the arms in use, it had the highest expected reward."
    assert highest in words_of(dose, f"/decisions/{plain}")
    answer(dose, "explore_arm")
    made = [dose.post(asked, json=context).json() for _ in range(20)]
    greedy = next(decision for decision in made if decision["mode"] == "greedy")
    by = f"{greedy['raised_by']['low']:#.4g}"
    said = "it had the highest score: its expected reward. The score was raised for low by " + by
    words = words_of(dose, f"/decisions/{greedy['decision_id']}")
    assert said in words
    assert f"The benefit of the doubt Arm Score raised by low {by} For arms that starve" in words
    assert "It was added to the expected reward;" in words
    alone = dose.post(asked, json=context | {"eligible_arms": ["low"]}).json()
    assert alone["mode"] == "explored"
    words = words_of(dose, f"/decisions/{alone['decision_id']}")
    by = f"{alone['raised_by']['low']:#.4g}"
    assert (
        "It got the benefit of the doubt, since it starves: its score was raised by " + by in words
    )
    assert "Mode: explored." in words
    answer(dose, "explore")
    everyone = dose.post(asked, json=context).json()["decision_id"]
    assert "All arms were being explored: the" in words_of(dose, f"/decisions/{everyone}")
