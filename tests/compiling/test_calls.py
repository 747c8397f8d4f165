"""What a person is told while kernels are compiled: once, after a while, and only a person."""

import io
import sys
import time

import pytest

from greedyfirst.compiling import calls


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Compiling counts as long after a hundredth of a second, and nothing was told yet."""
    monkeypatch.setattr(calls, "TOLD_AFTER", 0.01)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    calls._has_told.clear()
    yield
    calls._has_told.clear()


def compiling(shown, monkeypatch, *, times=1, is_told=True):
    """What ``shown``, as the standard error, has after compiling that takes long."""
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", shown)
        for _ in range(times):
            with calls._told():
                deadline = time.monotonic() + (10 if is_told else 0.1)
                while time.monotonic() < deadline and not shown.getvalue():
                    time.sleep(0.01)
    return shown.getvalue()


def test_long_compiling_is_told_with_its_time_and_place(monkeypatch):
    said = compiling(Terminal(), monkeypatch)
    assert "compiling for this machine, about half a minute" in said
    assert "kernels" in said


def test_it_is_told_once(monkeypatch):
    assert compiling(Terminal(), monkeypatch, times=3).count("compiling") == 1
    assert compiling(Terminal(), monkeypatch, is_told=False) == ""


def test_short_compiling_is_not_told(monkeypatch):
    monkeypatch.setattr(calls, "TOLD_AFTER", 60.0)
    assert compiling(Terminal(), monkeypatch, is_told=False) == ""


def test_nobody_is_told_where_nobody_looks(monkeypatch):
    pipe = io.StringIO()
    assert compiling(pipe, monkeypatch, is_told=False) == ""


def test_a_notebook_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert "compiling" in compiling(io.StringIO(), monkeypatch)
