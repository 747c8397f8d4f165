"""How long the service needs until it is ready again: after an upgrade, a rollback, a kill.

python benchmarks/restart.py [--quick]

A log of 10⁶ decisions is served by processes that say that they are another release. Times are
those of the whole process, from its start until `/readyz` answers 200: by the clock, and of the
processor, which other work on the machine does not lengthen. Beside each is its ratio to a start
that has to make the state from all entries, as before snapshots had a layout number.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from greedyfirst.service.log.sqlite_log import SqliteLog
from load import POLICY
from service import FEATURES, PORTS, write_history

TARGET = 10.0
AS_RELEASE = """
import sys
from greedyfirst import version
version.__version__ = sys.argv.pop(1)
from greedyfirst.cli import main
main()
"""


@contextmanager
def ready(path: Path, release: str) -> Iterator[tuple[float, float]]:
    """A service of this release, and the seconds until it was ready; SIGTERM at the end."""
    port = next(PORTS)
    words = [sys.executable, "-c", AS_RELEASE, release, "serve", "--db", path, "--port", port]
    began = time.perf_counter()
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL)
    try:
        while True:
            if process.poll() is not None:
                sys.exit("the service has ended")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield time.perf_counter() - began, processor_time(process.pid)
    finally:
        process.terminate()
        process.wait(120)


def processor_time(pid: int) -> float:
    """What a process has used so far, in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds(path: Path, release: str) -> tuple[float, float]:
    with ready(path, release) as took:
        return took


def killed_while_reading(path: Path, release: str, after: float) -> None:
    """A start that is killed before it is ready."""
    words = [sys.executable, "-c", AS_RELEASE, release, "serve", "--db", path]
    process = subprocess.Popen(
        [*map(str, words), "--port", str(next(PORTS))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait(120)


def without_snapshots(path: Path) -> None:
    log = SqliteLog(path)
    log._writer.execute("DELETE FROM snapshots")
    log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10⁵ decisions instead of 10⁶")
    decisions = 10**5 if parser.parse_args().quick else 10**6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.db")
        write_history(path, FEATURES, decisions)
        seconds(path, "0.1.0")  # whatever has to be compiled
        lines = {
            "same release": seconds(path, "0.1.0"),
            "upgrade": seconds(path, "0.2.0"),
            "rollback": seconds(path, "0.1.0"),
        }
        without_snapshots(path)
        lines["all entries read again"] = whole = seconds(path, "0.2.0")
        without_snapshots(path)
        killed_while_reading(path, "0.2.0", 0.6 * whole[0])
        lines["the same, after a kill at 60 %"] = seconds(path, "0.2.0")
    print(f"policy {POLICY}, {decisions} decisions, {FEATURES} features")
    for name, (took, used) in lines.items():
        target = f"(target < {TARGET:g} s)" if name in ("upgrade", "rollback") else ""
        ratio = used / whole[1]
        print(f"{name:32} {took:7.2f} s, processor {used:7.2f} s, ratio {ratio:.3f} {target}")


if __name__ == "__main__":
    main()
