"""Carry out docs/runbook.md from nothing: every block of commands, in order, in one shell.

    python deploy/runbook.py [--keep]

Nothing outside a temporary folder is changed and nothing but the loopback is listened on. A new
virtual environment, a certificate that signs itself, Debian's nginx and the service itself are
real. A few shell functions stand in for what needs root or a whole machine: users, packages, and
systemd, whose unit's ``ExecStart`` is what is run. It ends at the first command that fails, with 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNBOOK = ROOT / "docs" / "runbook.md"
#: Longer than any single step: installing takes most of it.
SECONDS = 1200
#: nginx's own settings, as Debian's file has them, in a folder of ours.
NGINX = """
pid {folder}/nginx.pid;
error_log {folder}/nginx-errors.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/sites/*.conf;
}}
"""
#: Stand-ins for what needs root or a whole machine.
MACHINE = r"""
set -euo pipefail
apt-get() { for program in nginx openssl curl; do command -v $program > /dev/null; done; }
useradd() { :; }
runuser() { shift 3; "$@"; }
install() { for word in "$@"; do case $word in /*) mkdir -p -m 0700 "$word" ;; esac; done; }
journalctl() { tail -n 50 "$FOLDER/service.log"; }
nginx() { command nginx -c "$FOLDER/nginx.conf" -e "$FOLDER/nginx-errors.log" "$@"; }
stop_service() {
    [ -f "$FOLDER/service.pid" ] || return 0
    pid=$(cat "$FOLDER/service.pid"); rm "$FOLDER/service.pid"
    kill "$pid"; for _ in $(seq 600); do kill -0 "$pid" 2> /dev/null || return 0; sleep 0.1; done
    echo "the service did not end" >&2; return 1
}
start_service() {
    command=$(sed -n 's/^ExecStart=//p' "$UNITS/greedyfirst.service")
    export SERVICE_NAME=$(sed -n 's/^Environment=SERVICE_NAME=//p' "$UNITS/greedyfirst.service")
    bash -c "exec $command" >> "$FOLDER/service.log" 2>&1 &
    echo $! > "$FOLDER/service.pid"
}
systemctl() {
    case "$*" in
        daemon-reload) ;;
        "enable --now greedyfirst" | "start greedyfirst") start_service ;;
        "stop greedyfirst") stop_service ;;
        "status greedyfirst") kill -0 "$(cat "$FOLDER/service.pid")" ;;
        "reload nginx") nginx -s reload 2> /dev/null || nginx; sleep 1 ;;
        *) echo "systemctl $*: not known here" >&2; return 1 ;;
    esac
}
end_all() {
    status=$?
    trap - EXIT
    stop_service || true
    [ ! -f "$FOLDER/nginx.pid" ] || nginx -s quit || true
    exit $status
}
trap end_all EXIT
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(folder: Path) -> str:
    """The runbook's settings, in the folder and on free ports."""
    https, port = free_port(), free_port()
    named = {
        "FOLDER": folder,
        "SOURCE": folder / "source",
        "APP": folder / "app",
        "DATA": folder / "data",
        "TLS": folder / "tls",
        "UNITS": folder / "units",
        "SITES": folder / "sites",
        "BACKUPS": folder / "backups",
        "DB": folder / "data" / "trial.db",
        "NAME": "decisions.example.org",
        "HTTPS": https,
        "PORT": port,
        "URL": f"https://decisions.example.org:{https}",
        "LOGNAME": "runbook",
    }
    for name in ("UNITS", "SITES", "APP"):
        Path(str(named[name])).mkdir()
    return "".join(f"export {name}={value}\n" for name, value in named.items())


def source(folder: Path) -> None:
    """The repository as somebody gets it who clones it."""
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    for name in files:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "data/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def blocks() -> list[tuple[str, str]]:
    """The heading above each block of commands, and the commands; settings aside."""
    found, heading = [], ""
    pattern = re.compile(r"^## ([^\n]*)$|^```sh( settings)?\n(.*?)^```$", re.M | re.S)
    for match in pattern.finditer(RUNBOOK.read_text()):
        if match[1]:
            heading = match[1]
        elif not match[2]:
            found.append((heading, match[3]))
    return found


def script(folder: Path) -> str:
    """All of it as one shell script that says where it is."""
    steps = [settings(folder), MACHINE]
    for number, (heading, commands) in enumerate(blocks(), start=1):
        steps.append(f"echo '== {number}. {heading}'\n{commands}")
    return "\n".join([*steps, "echo '== done'\n"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the folder there")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="runbook-"))
    try:
        source(folder / "source")
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
        (folder / "runbook.sh").write_text(script(folder))
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        done = subprocess.run(
            ["bash", folder / "runbook.sh"], cwd=folder, env=environment, timeout=SECONDS
        )
        if done.returncode and (folder / "service.log").exists():
            print((folder / "service.log").read_text()[-3000:], file=sys.stderr)
        return done.returncode
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
