"""Lets tests in every folder import the list of policies and the drivers kept beside this file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
