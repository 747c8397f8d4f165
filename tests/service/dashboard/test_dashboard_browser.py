"""A newcomer's first minutes in a real browser: the demo, its alarm, an answer, what it changes."""

import base64
import json
import os
import re
import urllib.request

import pytest
from dashboard_tools import DRAWN, KEYS, POLICY, chromium, opened_browser, served, wait_for

from greedyfirst.service.http.access import hashed
from greedyfirst.service.log.access_keys import AccessKey, add_key
from greedyfirst.service.log.sqlite_log import SqliteLog

if chromium() is None and os.environ.get("CI") != "true":
    pytest.skip("Chromium and chromedriver are not installed", allow_module_level=True)

PATHS = [
    "/",
    "/policies/dosing",
    "/policies/dosing/effects",
    "/policies/dosing/subgroups?by=gene%20variant",
    "/policies/dosing/protocol",
    "/policies/dosing/operations",
    "/operations",
    "/decisions/dosing:1500",
    "/decisions/dosing:1500/again",
    "/docs",
    "/sign-in",
]


@pytest.fixture(scope="module")
def demo():
    with served("--demo") as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with opened_browser(1280) as made:
        yield made


@pytest.fixture(scope="module")
def phone():
    with opened_browser(390, height=844) as made:
        yield made


def opened(browser, address):
    browser.get(address)
    if "/policies/" in address:
        wait_for(browser, DRAWN)


@pytest.mark.parametrize("path", PATHS)
def test_pages_break_no_rule_and_raise_no_error(demo, browser, path):
    opened(browser, demo + path)
    assert browser.execute_script("return window.violations") == []
    said = browser.get_log("browser")
    assert [entry for entry in said if entry["level"] in ("SEVERE", "WARNING")] == []


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_shows_all_without_scrolling_sideways(demo, phone, path):
    opened(phone, demo + path)
    assert phone.execute_script("return document.documentElement.scrollWidth") == 390
    beyond = phone.execute_script(
        "return [...document.querySelectorAll('main *')].filter(element => "
        "!element.closest('.scroll') && element.getBoundingClientRect().right > 391)"
        ".map(element => element.tagName + '.' + element.getAttribute('class'))"
    )
    assert beyond == []


#: Of every table in a place that scrolls: whether it is wider, and what is said before it.
CUES = (
    "return [...document.querySelectorAll('.scroll')].filter(place => place.clientWidth)"
    ".map(place => [place.scrollWidth > place.clientWidth + 1,"
    " getComputedStyle(place, '::before').content])"
)


def test_a_table_that_is_wider_than_the_page_says_so(demo, phone, browser):
    opened(phone, f"{demo}/policies/dosing")
    phone.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    wait_for(phone, "document.querySelector('.overflows')")
    assert any(wider for wider, _ in phone.execute_script(CUES))
    opened(browser, f"{demo}/policies/dosing")
    for wider, said in [*phone.execute_script(CUES), *browser.execute_script(CUES)]:
        assert ("Scroll sideways" in said) == wider


def test_charts_show_the_course(demo, browser):
    opened(browser, f"{demo}/policies/dosing")
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('[data-chart]')].map(chart => "
        "[chart.dataset.chart, chart.data.length, Math.min(...chart.data.map(line => "
        "line.x.length)), (chart.layout.annotations || []).map(note => note.text)])"
    )
    kinds = [chart[0] for chart in drawn]
    assert kinds == ["diversity"] * 3 + ["mean", "sum", "pulls"]
    assert [chart[1] for chart in drawn] == [2, 2, 2, 1, 1, 3]
    assert all(chart[2] >= 20 for chart in drawn)
    assert [chart[3] for chart in drawn] == [["alarm"]] * 3 + [[], [], []]


def test_everything_can_be_reached_with_the_keyboard(demo, browser):
    """Tab goes to the skip link, the pages, the alarm's fields; each has a visible focus."""
    from selenium.webdriver.common.keys import Keys

    opened(browser, f"{demo}/policies/dosing")
    seen = []
    for _ in range(18):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(
            browser.execute_script(
                "const e = document.activeElement; const style = getComputedStyle(e);"
                "return [e.name || e.className || e.textContent, style.outlineStyle]"
            )
        )
    names = [name for name, _ in seen]
    assert names[0] == "skip"
    assert {"brand", "resolution", "who", "why"} <= set(names)
    assert all(outline != "none" for _, outline in seen)


def test_the_protocol_prints_on_two_pages(demo, browser):
    opened(browser, f"{demo}/policies/dosing/protocol")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed))
    assert 1 <= len(pages) <= 2


def ask(method, address, body, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    asked = urllib.request.Request(address, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def decide(address, number):
    context = {
        "age": 40 + number % 40,
        "weight": 60 + number,
        "kidney function": 90,
        "gene variant": "common",
        "other drugs": "no",
    }
    return ask("POST", f"{address}/v1/policies/dosing/decisions", {"context": context})


def test_a_person_has_the_arm_of_the_alarm_explored(demo, browser):
    from selenium.webdriver.common.by import By

    assert "high dose" not in decide(demo, 0)["explored_arms"]
    opened(browser, f"{demo}/policies/dosing")
    alarm = browser.find_element(By.CSS_SELECTOR, ".alarm")
    assert "Alarm 2: high dose" in alarm.text
    assert "high dose starves: too little is known of it about some people" in alarm.text
    choices = [choice.text for choice in alarm.find_elements(By.CSS_SELECTOR, ".choice strong")]
    assert choices == [
        *("Explore high dose alone.", "Explore all arms."),
        *("Drop high dose.", "Hold on."),
    ]
    alarm.find_element(By.CSS_SELECTOR, "input[value=explore_arm]").click()
    alarm.find_element(By.NAME, "who").send_keys("Dr Ada")
    alarm.find_element(By.NAME, "why").send_keys("it <b>may</b> help some")
    alarm.find_element(By.TAG_NAME, "button").click()
    wait_for(browser, "document.querySelector('.notice.good')")
    wait_for(browser, DRAWN)
    assert browser.find_elements(By.CSS_SELECTOR, ".alarm") == []
    said = browser.find_element(By.CSS_SELECTOR, ".notice.good").text
    assert "The arm is explored while it starves (high dose)." in said
    rows = browser.find_elements(By.CSS_SELECTOR, "[aria-labelledby=arms] tbody tr")
    assert "explored while it starves" in rows[2].text
    newest = browser.find_element(By.CSS_SELECTOR, "[aria-labelledby=audit] tbody tr").text
    assert "Dr Ada" in newest
    assert "it <b>may</b> help some" in newest
    assert decide(demo, 0)["explored_arms"] == ["high dose"]
    assert browser.execute_script("return window.violations") == []


def test_a_decision_is_found_from_the_policys_page(demo, browser):
    from selenium.webdriver.common.by import By

    opened(browser, f"{demo}/policies/dosing")
    browser.find_element(By.NAME, "number").send_keys("1200\n")
    wait_for(browser, "location.pathname === '/decisions/dosing:1200'")
    browser.find_element(By.LINK_TEXT, "Make it again").click()
    said = wait_for(browser, "document.querySelector('.notice')?.textContent")
    assert "the same arm" in said


EVIL = "<img src=x onerror=window.violations.push(1)><b>x</b>"


def test_a_key_opens_the_pages_and_names_in_charts_are_not_markup(tmp_path, browser):
    from selenium.webdriver.common.by import By

    path = tmp_path / "log.db"
    SqliteLog(path).close()
    for name, role in KEYS.items():
        add_key(path, AccessKey(name, role, hashed(f"gf_{name}")))
    with served("--db", str(path)) as address:
        policy = POLICY | {"arms": [EVIL, "other", "none"]}
        ask("POST", f"{address}/v1/policies", policy, "gf_anna")
        for number in range(4):
            context = {"age": 50 + number, "sex": "fm"[number % 2]}
            decisions = f"{address}/v1/policies/dose/decisions"
            decision = ask("POST", decisions, {"context": context}, "gf_anna")["decision_id"]
            ask("PUT", f"{address}/v1/decisions/{decision}/reward", {"value": 1}, "gf_anna")
        browser.get(f"{address}/policies/dose")
        wait_for(browser, "location.pathname === '/sign-in'")
        browser.find_element(By.NAME, "key").send_keys("gf_rita\n")
        wait_for(browser, "location.pathname === '/policies/dose'")
        drawn = "document.querySelectorAll('[data-chart=pulls] .legendtext').length === 3"
        wait_for(browser, drawn)
        first = browser.find_element(By.CSS_SELECTOR, "[data-chart=pulls] .legendtext")
        assert first.text == EVIL
        assert browser.find_elements(By.CSS_SELECTOR, "main img, main b, form.answer") == []
        assert browser.execute_script("return [window.violations, document.cookie]") == [[], ""]
        browser.find_element(By.CSS_SELECTOR, ".out button").click()
        wait_for(browser, "location.pathname === '/sign-in'")
        browser.get(f"{address}/")
        assert browser.current_url == f"{address}/sign-in?next=/"
