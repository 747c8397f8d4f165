"""Every public name has a docstring with an example, and every example says what it does."""

import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "python"
#: Those that a page of the reference is about, and the two whose names other pages show.
MODULES = sorted(
    {
        name
        for page in PAGES.glob("*.md")
        for name in re.findall(r"(?:automodule|currentmodule):: (\S+)", page.read_text())
    }
    | {"greedyfirst.agent", "greedyfirst.simulation"}
)


def public_names():
    """Classes and functions, each once, by the first module that has it."""
    named = {}
    for module in MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            thing = getattr(found, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                named.setdefault(thing, f"{module}.{name}")
    return named


NAMES = public_names()


def example_of(thing):
    """The examples of a docstring, as a test."""
    text = inspect.getdoc(thing) or ""
    names = {"__name__": "example"}
    return doctest.DocTestParser().get_doctest(text, names, thing.__name__, None, 0)


def test_there_are_pages_for_what_the_readme_shows():
    assert {"greedyfirst", "greedyfirst.problems", "greedyfirst.client"} <= set(MODULES)
    assert len(NAMES) > 100


@pytest.mark.parametrize("thing", NAMES, ids=NAMES.get)
def test_a_public_name_has_an_example_that_is_right(thing):
    example = example_of(thing)
    assert any(each.want for each in example.examples), "no example that shows a result"
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_every_policy_is_on_the_page_of_policies():
    policies = importlib.import_module("greedyfirst.policies").POLICIES
    shown = set(re.findall(r"autoclass:: (\w+)", (PAGES / "policies.md").read_text()))
    ours = {name for name in policies if ":" not in name}
    assert ours <= shown


def test_a_wrong_example_is_noticed():
    def wrong():
        """>>> 1 + 1
        3
        """

    runner = doctest.DocTestRunner(verbose=False)
    runner.run(example_of(wrong), out=lambda _: None)
    assert runner.failures == 1
    assert "example" not in sys.modules
