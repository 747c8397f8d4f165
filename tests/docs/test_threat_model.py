"""Each "cannot" of SECURITY.md names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "SECURITY.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| cannot |")
]


def test_every_cannot_names_tests_that_there_are():
    assert len(ROWS) > 20
    for row in ROWS:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", row.split(" | ")[-1])
        assert named, row
        for path, test in named:
            text = (ROOT / "tests" / "service" / path).read_text()
            assert f"def {test}(" in text, (path, test)
