"""Lets tests in every folder import what they share, from ``support``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
