"""A PostgreSQL server of its own in a temporary folder, and fresh databases in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

import psycopg

PASSWORD = "a secret of the tests"
_USERS = ("postgres", "nobody")


def program(name: str) -> str | None:
    """A program of PostgreSQL's server; Debian does not have them on the path."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(places[0]) if places else shutil.which(name)


def missing() -> str | None:
    """Why no server can be started here, None if one can."""
    if program("initdb") is None or program("postgres") is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    return None


class PostgresServer:
    """A server that listens on the loopback and on a socket in its folder.

    ``folder`` is made and removed with it if it is not given. PostgreSQL does not run as root: then
    another user runs it.
    """

    def __init__(self, folder: Path | None = None, *settings: str) -> None:
        self._made = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="greedyfirst-pg-"))
        self._settings = settings
        self._as: list[str] = []
        if os.geteuid() == 0:
            user = next(name for name in _USERS if _known(name))
            owner = pwd.getpwnam(user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self._as = ["setpriv", f"--reuid={user}", f"--regid={owner.pw_gid}", "--clear-groups"]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._numbers = count(1)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        subprocess.run(
            [
                *self._as,
                *(str(program("initdb")), "--no-sync", "--encoding=UTF8", "--locale=C"),
                *("--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256"),
                *(f"--pwfile={secret}", f"--pgdata={self.folder / 'data'}"),
            ],
            check=True,
            capture_output=True,
            cwd="/",
        )
        self.start()

    def start(self) -> None:
        """Start it, again after a crash; it answers when this returns."""
        said = (self.folder / "log").open("ab")
        options = [
            *("max_connections=60", "unix_socket_permissions=0777"),
            "recovery_init_sync_method=syncfs",
            *self._settings,
        ]
        self.process = subprocess.Popen(
            [
                *self._as,
                *(str(program("postgres")), "-D", str(self.folder / "data")),
                *("-k", str(self.folder), "-p", str(self.port), "-h", "127.0.0.1"),
                *(word for option in options for word in ("-c", option)),
            ],
            stdout=said,
            stderr=said,
            cwd="/",
        )
        said.close()
        end = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def url(self, database: str) -> str:
        """The URL of a database, by the socket."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, password: str = PASSWORD, user: str = "postgres") -> str:
        """The URL of a database, by the loopback and with a password."""
        word = password.replace(" ", "%20")
        return f"postgresql://{user}:{word}@127.0.0.1:{self.port}/{database}"

    def emptied(self) -> str:
        """The URL of a database without a log; always the same one, since new ones take time."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS greedyfirst CASCADE")
        return self.url("postgres")

    def new_database(self, options: str = "") -> str:
        """The name of a fresh database."""
        name = f"fresh{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {options}")
        return name

    def end(self, how: int = signal.SIGQUIT) -> None:
        """End it at once; SIGQUIT and SIGKILL are crashes, SIGINT is in good order."""
        self.process.send_signal(how)
        self.process.wait(30)

    def remove(self) -> None:
        """End it and remove the folder if it was made for it."""
        if self.process.poll() is None:
            self.end()
        if self._made:
            shutil.rmtree(self.folder, ignore_errors=True)


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
