"""What imports little: the client, and the package itself."""

import subprocess
import sys
import textwrap

import pytest

BLOCKED = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "llvmlite", "pandas", "scipy", "matplotlib"}:
            raise ImportError(f"{name} is not needed here")

sys.meta_path.insert(0, Refused())
"""


def run(code):
    words = [sys.executable, "-c", BLOCKED + textwrap.dedent(code)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    "code",
    [
        "import greedyfirst\nprint(greedyfirst.__version__)",
        "from greedyfirst.client import Client\nClient('http://127.0.0.1:9').close()\nprint('here')",
        "import greedyfirst, sys\nprint(dir(greedyfirst))\nassert 'numpy' not in sys.modules",
    ],
    ids=["package", "client", "names"],
)
def test_neither_numba_nor_pandas_is_needed(code):
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_block_blocks():
    done = run("from greedyfirst import Agent")
    assert done.returncode != 0
    assert "is not needed here" in done.stderr
