"""Dask's scheduler and workers, started by their command-line programs, on this machine alone."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager

LOCAL = ["--host", "127.0.0.1", "--no-dashboard"]


@contextmanager
def program(*words, **environment):
    """A process of Dask's command line, and what it says; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def line_with(process, pattern):
    """The first match in what a process says; reads no further."""
    said = []
    for line in process.stderr:
        said.append(line)
        found = re.search(pattern, line)
        if found:
            return found.group(1)
    raise AssertionError("".join(said))


@contextmanager
def scheduler_program():
    """A scheduler's process and its address."""
    with program("scheduler", *LOCAL, "--port", "0") as process:
        yield process, line_with(process, r"Scheduler at:\s+(tcp://\S+)")


@contextmanager
def worker_program(address, **environment):
    """A worker's process, when it has registered."""
    options = ["--nthreads", "1", "--no-nanny", *LOCAL, "--memory-limit", "0"]
    with program("worker", address, *options, **environment) as process:
        line_with(process, r"(Registered to)")
        yield process
