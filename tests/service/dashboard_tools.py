"""What the dashboard's tests share: an application with an open alarm, forms, and a browser."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from html.parser import HTMLParser

from litestar.testing import TestClient

from greedyfirst.service.http.access import Access, hashed
from greedyfirst.service.http.application import make_application
from greedyfirst.service.log.access_keys import AccessKey
from greedyfirst.service.log.sqlite_log import SqliteLog
from greedyfirst.service.service import DecisionService

HTML = {"Accept": "text/html"}
KEYS = {"anna": "admin", "dora": "decider", "rita": "reader"}
#: λ₀ is so large that every arm falls short of the line at the second reward.
POLICY = {
    "name": "dose",
    "arms": ["low", "high", "none"],
    "features": [
        {"kind": "numeric", "name": "age", "mean": 60, "scale": 10},
        {"kind": "categorical", "name": "sex", "levels": ["f", "m"]},
    ],
    "policy": {"options": {"t0": 1, "lambda0": 1000.0}},
    "seed": 1,
}


#: Greedy-First as it comes: its arms are explored one by one.
ARM_BY_ARM = POLICY | {"arms": ["low", "high"], "policy": {"options": {}}}


@contextmanager
def client(path, *, keys=False):
    """A client of the application on the log ``path``; with keys, each is "key of NAME"."""
    held = (
        [AccessKey(name, role, hashed(f"key of {name}")) for name, role in KEYS.items()]
        if keys
        else []
    )
    service = DecisionService(lambda: SqliteLog(path))
    with TestClient(make_application(service, access=Access(lambda: held), hosts=None)) as made:
        yield made


def fill(made, specification=POLICY, headers=None):
    """Create the policy and take a few decisions: its arms have open alarms then."""
    assert made.post("/v1/policies", json=specification, headers=headers).status_code == 201
    decisions = f"/v1/policies/{specification['name']}/decisions"
    for number in range(6):
        values = {"numeric": 50 + number, "categorical": "fm"[number % 2]}
        context = {item["name"]: values[item["kind"]] for item in specification["features"]}
        decision = made.post(decisions, json={"context": context}, headers=headers).json()
        if number < 4:
            reward = f"/v1/decisions/{decision['decision_id']}/reward"
            made.put(reward, json={"value": number / 4}, headers=headers).raise_for_status()


def starve(made, specification=ARM_BY_ARM):
    """Create the policy arm by arm; "low" pays less to everyone and has an open alarm then."""
    assert made.post("/v1/policies", json=specification).status_code == 201
    for number in range(60):
        context = {"age": 50 + 3 * (number % 7), "sex": "fm"[number // 7 % 2]}
        decision = made.post("/v1/policies/dose/decisions", json={"context": context}).json()
        value = (decision["arm"] == "high") * 3 + (number * 7 % 11) / 10
        reward = f"/v1/decisions/{decision['decision_id']}/reward"
        made.put(reward, json={"value": value}).raise_for_status()


class Page(HTMLParser):
    """The elements of a page: (tag, attributes), and its text."""

    def __init__(self, response):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(response.text)
        self.words = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("td", "th", "dt", "dd"):
            self.text += " "

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def field(self, name):
        """The value of the first field of this name."""
        return next(item["value"] for item in self.all("input") if item.get("name") == name)


def form_of(made, path="/policies/dose"):
    """The hidden fields of the first alarm's form."""
    shown = Page(made.get(path))
    first = next(i for i, (tag, a) in enumerate(shown.elements) if a.get("class") == "answer")
    hidden = [
        a for tag, a in shown.elements[first:] if tag == "input" and a.get("type") == "hidden"
    ]
    return {item["name"]: item["value"] for item in hidden[:4]}


def sign_in(made, key, target="/"):
    token = Page(made.get("/sign-in")).field("token")
    return made.post(
        "/sign-in", data={"token": token, "key": key, "next": target}, follow_redirects=False
    )


# -------------------------------------------------------------------- a service and a browser


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextmanager
def served(*arguments, seconds=240):
    """``greedyfirst serve`` with these arguments on a free port; its address once it is ready."""
    port = free_port()
    command = [sys.executable, "-m", "greedyfirst", "serve", "--port", str(port), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, address, time.monotonic() + seconds)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(process, address, deadline):
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the service ended: {process.stdout.read().decode()}")
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("the service was not ready in time")


def chromium():
    """Where Chromium and its driver are, or None."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    return None if browser is None or driver is None else (browser, driver)


#: Notes every violation of the content security policy from the first moment of a page.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
    (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@contextmanager
def opened_browser(width, *, height=900):
    """Chromium without a window, with a page ``width`` pixels wide."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    if chromium() is None:
        raise RuntimeError("Chromium and chromedriver are not installed")
    browser, driver = chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.add_argument("--headless=new")
    options.add_argument("--disable-dev-shm-usage")
    options.add_argument("--hide-scrollbars")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    try:
        set_size(made, width, height)
        made.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield made
    finally:
        made.quit()


def set_size(browser, width, height):
    """As a device of this size has it: a window cannot be as narrow as a phone."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait_for(browser, script, seconds=60):
    """Wait until a script returns something true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = browser.execute_script(f"return {script}")
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"never true: {script}")


#: All charts are drawn when each has its lines.
DRAWN = (
    "[...document.querySelectorAll('[data-chart]')]"
    ".every(chart => chart.querySelector('.scatterlayer .js-line'))"
)


def outside_addresses(text):
    """Addresses of other hosts, names of XML's vocabularies aside."""
    found = re.findall(r"""(?:https?:)?//[^\s"'<>)]+\.[^\s"'<>)]+""", text)
    return [address for address in found if "www.w3.org/2000/svg" not in address]
