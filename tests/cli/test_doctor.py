"""`greedyfirst doctor`: what it finds, and how it ends."""

import json
import os
import subprocess
import sys
from importlib import metadata

import numpy
import pytest

from greedyfirst.cli import doctor
from greedyfirst.version import __version__


def run(*options, **environment):
    words = [sys.executable, "-m", "greedyfirst", "doctor", *options]
    variables = {**os.environ, **environment}
    return subprocess.run(words, capture_output=True, text=True, env=variables, timeout=120)


def test_a_good_installation_is_well(tmp_path):
    done = run("--json", NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["greedyfirst"] == __version__
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["versions"]["numpy"] == numpy.__version__
    assert found["processors"] == os.cpu_count()
    kernels = {"place": str(tmp_path / "greedyfirst" / "kernels"), "megabytes": 0.0, "entries": 0}
    assert found["cache"] == kernels


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of POSIX")
def test_nowhere_to_keep_compiled_code_is_wrong(tmp_path):
    """Below a file nothing can be made, and where others may write nothing is kept."""
    (tmp_path / "file").write_text("")
    shared = tmp_path / f"greedyfirst-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    done = run(NUMBA_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert "wrong: compiled code cannot be kept" in done.stdout
    assert done.stderr == ""


def without(*gone):
    """As if these distributions were not installed."""

    def version(name):
        if name in gone:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    return version


def test_a_missing_extra_is_told_and_not_wrong(monkeypatch):
    monkeypatch.setattr(metadata, "version", without("litestar", "scikit-learn"))
    found = doctor.examine()
    assert found["missing_extras"] == {"serve": ["litestar"], "data": ["scikit-learn"]}
    assert found["problems"] == []
    shown = "\n".join(doctor._lines(found))
    assert "without litestar: pip install greedyfirst[serve]" in shown
    assert shown.endswith("all is well")


def test_a_missing_dependency_is_wrong(monkeypatch):
    monkeypatch.setattr(metadata, "version", without("pyarrow"))
    found = doctor.examine()
    assert found["problems"] == ["pyarrow is missing: pip install greedyfirst installs it"]


@pytest.mark.parametrize(("value", "compiles"), [("1", False), ("0", True)])
def test_switched_off_compiling_is_told(monkeypatch, value, compiles):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", value)
    assert doctor.examine()["compiles"] is compiles
