"""CITATION.cff and the README's BibTeX entry: they parse, agree, and are of this version."""

import re
from pathlib import Path

import pytest
import yaml

from greedyfirst.version import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_the_file_has_what_the_format_requires(citation):
    """Version 1.2.0 of the Citation File Format: these four, and these of a reference."""
    assert citation["cff-version"] == "1.2.0"
    assert all(citation[key] for key in ("message", "title", "authors"))
    for reference in (citation["preferred-citation"], *citation["references"]):
        assert all(reference[key] for key in ("authors", "title", "type"))
    for person in citation["preferred-citation"]["authors"]:
        assert set(person) == {"family-names", "given-names"}


def test_it_is_of_this_version_and_license(citation):
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"


def test_the_bibtex_entry_says_the_same(citation):
    (entry,) = re.findall(r"^```bibtex\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    kind, _, body = entry.partition("{")
    fields = dict(re.findall(r"^  (\w+)\s*= \{(.*)\},?$", body, re.M))
    paper = citation["preferred-citation"]
    assert kind == "@article"
    assert fields == {
        "title": paper["title"],
        "author": " and ".join(
            f"{person['family-names']}, {person['given-names']}" for person in paper["authors"]
        ),
        "journal": paper["journal"],
        "volume": str(paper["volume"]),
        "number": str(paper["issue"]),
        "pages": f"{paper['start']}--{paper['end']}",
        "year": str(paper["year"]),
        "doi": paper["doi"],
    }
