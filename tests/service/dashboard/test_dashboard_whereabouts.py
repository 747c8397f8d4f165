"""What each of several services on a log has of its own, and what people are told of it."""

from __future__ import annotations

import asyncio
import time

from dashboard_tools import Page
from load_balancer import BOSS, CLIENT, Browser, Member, fill, live, look

from greedyfirst.service.http.access import hashed
from greedyfirst.service.log.access_keys import AccessKey, add_key
from greedyfirst.service.log.events import SERVICE, ClockAnswered
from greedyfirst.service.log.postgres_database import PostgresUrl


def test_the_question_about_a_clock_is_answered_by_the_service_that_asks(url: PostgresUrl) -> None:
    jump = [0.0]

    async def life(made: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        jump[0] = 86_400.0
        two = made["two"].service
        while not two.clock_question:
            await asyncio.sleep(0.1)
        assert made["one"].service.clock_question is None
        shown = await browser.get("/policies/other", "one")  # by two
        assert "the process at http://two" in Page(shown).words
        assert "clock has jumped" not in Page(await browser.get("/", "one")).words
        token = Page(shown).field("token")
        fields = {"token": token, "answer": "keep", "who": "Ada", "why": "a test"}
        action = next(
            each["action"] for each in Page(shown).all("form") if "clock" in each["action"]
        )
        gone = await browser.post("/clock?service=nobody", "one", fields)
        assert gone.status_code == 503
        assert "has ended" in gone.text
        other = await browser.post("/clock", "one", fields)
        assert other.status_code == 409
        assert two.clock_question
        assert (await browser.post(action, "one", fields)).status_code == 303
        assert two.clock_question is None
        answered = two.log.audit(SERVICE)[0].event
        assert isinstance(answered, ClockAnswered)
        assert (answered.answer, answered.who) == ("keep", "Ada (key boss)")

    live(url, life, wall={"two": lambda: time.time() + jump[0]})


def test_the_list_is_the_same_everywhere_and_says_what_cannot_be_shown(url: PostgresUrl) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("ward", "one")
        await fill(browser, "two", "also")
        look(made)
        orders = []
        for at in made:
            shown = Page(await browser.get("/", at))
            links = [each["href"] for each in shown.all("a") if "/policies/" in each["href"]]
            orders.append(links)
            listed = await browser.get("/v1/policies", at, headers=BOSS)
            assert [view["name"] for view in listed.json()] == ["also", "dose", "other"]
        assert orders == [["/policies/also", "/policies/dose", "/policies/other"]] * 2
        del browser.between.ways["two"]
        shown = Page(await browser.get("/", "one"))
        assert "The policy also cannot be shown at the moment" in shown.words
        assert "The policy other cannot be shown at the moment" in shown.words
        assert "dose 3 open greedy" in shown.words
        refused = await browser.get("/v1/policies", "one", headers=BOSS)
        assert refused.status_code == 503
        assert "cannot be reached at http://two" in refused.json()["detail"]
        page = await browser.get("/policies/other", "one")
        assert (page.status_code, page.headers["retry-after"]) == (503, "1")
        assert page.text.startswith("the owner of policy other cannot be reached at http://two")

    live(url, life)


def test_the_page_of_operations_says_which_process_it_is_about(url: PostgresUrl) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        add_key(url, AccessKey("ops", "operator", hashed("ops"), policies=("dose",)))
        for member in made.values():
            member.access.refresh()
        await browser.sign_in("boss", "one")
        for at, other, policy in (("one", "two", "other"), ("two", "one", "dose")):
            shown = Page(await browser.get("/operations", at))
            assert f"This page is about the one at http://{at}:" in shown.words
            assert f"{policy}: the process at http://{other}" in shown.words
            assert f"/policies/{policy}/operations" in [each["href"] for each in shown.all("a")]
        browser.cookies.clear()
        await browser.sign_in("ops", "two")
        assert (
            "dose: the process at http://one" in Page(await browser.get("/operations", "two")).words
        )
        shown = Page(await browser.get("/operations", "one"))
        assert "Policies of other processes" not in shown.words

    live(url, life)


def test_who_was_refused_is_told_by_the_client_and_not_by_the_service_between(
    url: PostgresUrl,
) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        wrong = {"Authorization": "Bearer wrong", "X-Forwarded-For": "198.51.100.1"}
        assert (await browser.get("/v1/policies/dose", "two", headers=wrong)).status_code == 401
        await asyncio.sleep(1.2)
        trail = (await browser.get("/v1/audit", "two", headers=BOSS)).json()
        refused = [each["event"] for each in trail if each["event"]["event"] == "refused"]
        assert [each["client"] for each in refused] == [CLIENT]

    live(url, life)
