"""Behind a load balancer: a session is known to every service, and a form may go to any."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import psycopg
import pytest
from dashboard_tools import Page
from load_balancer import BOSS, NAME, Browser, Member, live, members

from greedyfirst.service.http.access import COOKIE
from greedyfirst.service.log.access_keys import remove_key
from greedyfirst.service.log.postgres_database import PostgresUrl

#: Every page of the dashboard that a person may look at; "dose" is one's policy, "other" two's.
PAGES = [
    "/",
    "/operations",
    "/access",
    "/docs",
    *(
        path.format(policy)
        for policy in ("dose", "other")
        for path in (
            "/policies/{}",
            "/policies/{}/effects",
            "/policies/{}/subgroups",
            "/policies/{}/protocol",
            "/policies/{}/operations",
            "/decisions?number=1&policy={}",
            "/decisions/{}:1",
            "/decisions/{}:2/again",
        )
    ),
]


async def newest(browser: Browser, policy: str) -> Any:
    """The newest entry of a policy's audit list."""
    shown = await browser.get(f"/v1/policies/{policy}/audit", "one", headers=BOSS)
    return shown.json()[0]["event"]


def alarm_of(page: Page) -> dict[str, str]:
    """The fields of the first alarm's form."""
    return {name: page.field(name) for name in ("token", "key", "arm", "alarm")}


# -------------------------------------------------------------------- sessions


def test_a_person_signs_in_once_and_sees_every_page_at_every_service(url: PostgresUrl) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        for path in PAGES:
            refused = await browser.get(path, "two")
            assert refused.status_code == 303
            assert refused.headers["location"].startswith("/sign-in?next=")
        signed_in = await browser.sign_in("boss", "one", page_of="two")
        assert signed_in.status_code == 303
        cookie = signed_in.headers["set-cookie"].partition("; ")
        assert cookie[0].startswith(f"{COOKIE}=")
        assert cookie[2] == "HttpOnly; Path=/; SameSite=strict"
        for at in ("one", "two"):
            for path in PAGES:
                shown = await browser.get(path, at)
                looked_up = path.startswith("/decisions?")
                assert shown.status_code == (303 if looked_up else 200), (at, path, shown.text)
                assert "sign-in" not in shown.headers.get("location", "")
                assert looked_up or "boss (admin)" in Page(shown).words

    live(url, life)


@pytest.mark.parametrize("page_of", ["/", "/policies/other"])
def test_signing_out_at_one_signs_out_at_all(url: PostgresUrl, page_of: str) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        form = Page(await browser.get(page_of, "one"))
        token = browser.cookies[COOKIE]
        out = await browser.post("/sign-out", "one", {"token": form.field("token")})
        assert out.status_code == 303
        assert "Max-Age=0" in out.headers["set-cookie"]
        browser.cookies.set(COOKIE, token, NAME)
        for at in ("one", "two"):
            for path in ("/policies/dose", "/policies/other"):
                assert (await browser.get(path, at)).status_code == 303

    live(url, life)


def test_a_session_ends_everywhere_with_its_key(url: PostgresUrl) -> None:
    async def life(made: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        remove_key(url, "boss")
        end = time.monotonic() + 5
        for at in made:
            while (await browser.get("/docs", at)).status_code == 200:
                assert time.monotonic() < end
                await asyncio.sleep(0.05)

    live(url, life)


def test_a_session_outlives_the_services(url: PostgresUrl) -> None:
    kept = httpx.Cookies()

    async def before(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("ward", "one")
        kept.update(browser.cookies)

    live(url, before)

    async def after() -> None:
        async with members(url, "one") as (_, browser):
            browser.cookies.update(kept)
            shown = await browser.get("/", "one")
            assert shown.status_code == 200
            assert "ward (reader)" in Page(shown).words

    asyncio.run(after())


def test_while_the_database_does_not_know_nobody_is_asked_to_sign_in_again(
    url: PostgresUrl,
) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        form = Page(await browser.get("/", "one"))
        change(url, "ALTER TABLE sessions RENAME TO hidden")
        signing_out = browser.post("/sign-out", "one", {"token": form.field("token")})
        signing_in = browser.sign_in("boss", "two")
        for asking in (*(browser.get(path, "one") for path in PAGES), signing_out, signing_in):
            shown = await asking
            assert shown.status_code == 503
            assert "you need not sign in again: try again" in Page(shown).words
        programs = await browser.get("/v1/policies", "one", headers={"Accept": "*/*"})
        assert (programs.status_code, programs.headers["retry-after"]) == (503, "1")
        by_key = await browser.get("/v1/policies", "one", headers=BOSS)
        assert [view["name"] for view in by_key.json()] == ["dose", "other"]
        for path in ("/sign-in", "/healthz", "/readyz"):
            assert (await browser.get(path, "one")).status_code == 200
        change(url, "ALTER TABLE hidden RENAME TO sessions")
        assert (await browser.get("/", "two")).status_code == 200

    live(url, life)


def change(url: PostgresUrl, statement: str) -> None:
    with psycopg.connect(url.conninfo) as connection:
        connection.execute("SET search_path = greedyfirst")
        connection.execute(statement)


# -------------------------------------------------------------------- forms


def test_an_alarm_is_answered_at_a_service_that_does_not_own_the_policy(url: PostgresUrl) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "two")
        form = alarm_of(Page(await browser.get("/policies/dose", "two")))
        fields = form | {"resolution": "hold", "who": "Dr Who", "why": "seen enough"}
        sent = await browser.post("/policies/dose", "two", fields)
        assert sent.status_code == 303
        assert sent.headers["location"] == f"/policies/dose?done={form['key']}"
        event = await newest(browser, "dose")
        assert (event["event"], event["who"]) == ("resolved", "Dr Who (key boss)")
        for at in ("one", "two"):
            shown = Page(await browser.get(sent.headers["location"], at))
            assert "By Dr Who (key boss)." in shown.words
        again = await browser.post("/policies/dose", "one", fields)  # the same form counts once
        assert again.status_code == 303
        assert await newest(browser, "dose") == event

    live(url, life)


def test_forms_of_other_sites_and_people_are_refused_at_every_service(url: PostgresUrl) -> None:
    async def life(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        before = await newest(browser, "dose")
        form = alarm_of(Page(await browser.get("/policies/dose", "one")))
        fields = form | {"resolution": "hold", "who": "evil", "why": "csrf"}
        for at in ("one", "two"):
            for origin in ("http://evil.example", "null", f"http://{NAME}:81", "http://one"):
                refused = await browser.post("/policies/dose", at, fields, origin)
                assert refused.status_code == 403
                assert "other sites" in refused.text
            for token in ("", "0" * 64):
                refused = await browser.post("/policies/dose", at, fields | {"token": token})
                assert refused.status_code == 403
                assert "out of date" in refused.text
        browser.cookies.clear()
        await browser.sign_in("ward", "two")
        for at in ("one", "two"):
            assert (await browser.post("/policies/dose", at, fields)).status_code == 403
        assert await newest(browser, "dose") == before

    live(url, life)


def test_a_service_takes_what_is_handed_on_whatever_the_other_one_is_called(
    url: PostgresUrl,
) -> None:
    """Host and origin were compared before that, with names that the owner need not have."""

    async def life(_: dict[str, Member], browser: Browser) -> None:
        await browser.sign_in("boss", "one")
        cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
        place = "http://one/policies/other"
        form = alarm_of(Page(await browser.send("GET", place, headers=cookie)))
        fields = form | {"resolution": "hold", "who": "Ada", "why": "a test"}
        for origin, status in (("http://two", 403), ("http://one", 303)):
            headers = cookie | {"Origin": origin}
            sent = await browser.send("POST", place, data=fields, headers=headers)
            assert sent.status_code == status
        assert (await newest(browser, "other"))["who"] == "Ada (key boss)"

    live(url, life)
