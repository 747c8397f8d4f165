"""The append-only log: its events, the thread that writes it, the SQLite file that it is in."""
