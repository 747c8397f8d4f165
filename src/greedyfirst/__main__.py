"""``python -m greedyfirst``."""

from greedyfirst.cli import main

main()
