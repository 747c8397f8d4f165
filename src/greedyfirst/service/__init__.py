"""The decision service: HTTP in, an arm out, everything on disk and counted once."""
