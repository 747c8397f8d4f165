"""Scripts in a process of their own, in which nothing is compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def uncompiled(script: Path, *arguments: str) -> Any:
    """What a script prints as JSON, run without compilation."""
    run = subprocess.run(
        [sys.executable, str(script), *arguments],
        env=dict(os.environ, NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
