"""A decision service in a process of its own, on a free port of the loopback."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def service_process(*options, port=None):
    """Start ``greedyfirst serve`` with these options; gives its address once it is ready."""
    port = port or free_port()
    words = [sys.executable, "-m", "greedyfirst", "serve", *map(str, options), "--port", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, "the service has ended"
            try:
                with urllib.request.urlopen(f"{url}/readyz", timeout=5):
                    break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError("the service is not ready")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        ended = process.wait(60)
    assert ended == 0, f"the service ended with {ended}"
