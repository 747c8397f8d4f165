"""Control-C for processes that tests start."""

import signal


def hear_interrupts():
    """Let a process end by SIGINT: shells make what they start in the background deaf to it.

    For ``preexec_fn``: what the process starts inherits it.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
