"""The policies' tests on the oldest and newest numba that are allowed, and without private parts.

    python benchmarks/numba_range.py [--only oldest|newest|plain]

Each numba has a virtual environment of its own in a temporary folder, with everything else as
``constraints.txt`` pins it. Ends with 1 if a test fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ["tests/test_every_policy.py", "tests/compiling", "tests/models/test_least_squares.py"]


def bounds() -> tuple[str, str]:
    """The oldest numba that is allowed, and the first that is not."""
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(r'"numba>=([\d.]+),<([\d.]+)"', text)
    assert found, "pyproject.toml must bound numba from both sides"
    return found[1], found[2]


def requirement(which: str) -> str:
    """What pip is asked for."""
    oldest, beyond = bounds()
    return f"numba=={oldest}.*" if which == "oldest" else f"numba<{beyond}"


def environment(folder: Path, which: str) -> Path:
    """The Python of a new virtual environment with this numba."""
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    free = ("numba", "llvmlite", "numpy")  # what numba's own requirements decide
    pinned = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.partition("==")[0].lower() not in free
    ]
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pinned))
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints)]
    subprocess.run([*install, f"{ROOT}[dev]", requirement(which)], check=True)
    return python


def tested(python: Path, cache: Path, **extra: str) -> int:
    """The exit code of the tests."""
    version = "import numba, numpy; print('numba', numba.__version__, 'numpy', numpy.__version__)"
    subprocess.run([str(python), "-c", version], check=True)
    settings = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT / "src"), **extra}
    command = [str(python), "-m", "pytest", "-n", "2", *TESTS]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}).returncode


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=("oldest", "newest", "plain"), action="append")
    chosen = parser.parse_args().only or ["oldest", "newest", "plain"]
    failed = []
    for which in chosen:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            if which == "plain":
                code = tested(Path(sys.executable), home, GREEDYFIRST_PLAIN_NUMBA="1")
            else:
                code = tested(environment(home / "venv", which), home / "cache")
        print(f"{which}: {'passed' if code == 0 else 'FAILED'}", flush=True)
        failed += [which] if code else []
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
