"""The process that runs one embedded server for as long as anybody needs it.

Everyone who needs the server holds a shared lock on a file; the kernel gives it back however that process ends. The
keeper looks for a moment in which it can have that lock for itself: nobody is left, and it stops the server. It is
started by ``servers.hold_servers`` as ``python -m apps.embedded.keeper NAME FOLDER``, restarts a server that
dies, and takes it along when it dies itself.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from apps.embedded.layout import DataLayout, InstallationInUse, try_lock
from apps.embedded.postgres import Postgres
from apps.embedded.process import get_account, spawn
from apps.embedded.valkey import Valkey

READY = b"ready\n"
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_TICK = 0.05
_LONGEST_PAUSE = 30.0

_log = logging.getLogger(__name__)


class Server(Protocol):
    """What the keeper needs to know about a server."""

    @property
    def name(self) -> str: ...
    @property
    def layout(self) -> DataLayout: ...
    @property
    def stop_signal(self) -> signal.Signals: ...
    def prepare(self) -> None: ...
    def command(self) -> list[str | Path]: ...
    def is_ready(self) -> bool: ...


SERVERS: dict[str, Callable[[DataLayout, bool], Server]] = {"postgres": Postgres, "valkey": Valkey}


def keep(server: Server, *, announce: Callable[[], None]) -> None:
    """Run ``server`` until nobody holds its users' lock, or TERM; call ``announce`` once it answers.

    Raises RuntimeError when it cannot be started the first time. The keeper's lock is inherited by the server: as
    long as a process of either is left, no other keeper touches the folder.
    """
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    layout = server.layout
    own = os.open(layout.keeper_lock(server.name), os.O_RDWR | os.O_CREAT, 0o600)  # closed by the end of the process
    _wait_for_lock(own)
    with (
        layout.users_lock(server.name).open("w") as users,
        (layout.log / f"{server.name}.log").open("ab") as log,
    ):
        process = _start(server, lock=own, log=log)
        announce()
        pause = 1.0
        while not stopping and not try_lock(users):
            time.sleep(_TICK)
            if process.poll() is not None:
                _log.warning("%s ended with %d, starting it again", server.name, process.returncode)
                try:
                    process = _start(server, lock=own, log=log)
                    pause = 1.0
                except (RuntimeError, OSError) as error:  # OSError: no space to prepare its folders, say
                    _log.error(error)
                    time.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
        _stop(process, server.stop_signal)


@contextmanager
def hold_old_server(layout: DataLayout, *, programs: Path) -> Iterator[None]:
    """Run the cluster of an older version with its own programs, for the time of the block.

    Raises RuntimeError when it does not start, `InstallationInUse` when it runs already.
    """
    server = Postgres(layout, programs=programs)
    for folder in (layout.run, layout.log):
        folder.mkdir(parents=True, exist_ok=True)
    with (
        layout.keeper_lock(server.name).open("w") as lock,
        (layout.log / "postgres.old.log").open("ab") as log,
    ):
        if not try_lock(lock):
            raise InstallationInUse(f"The database of {layout.root} is running. Stop everything that uses it.")
        process = _start(server, lock=lock.fileno(), log=log)
        try:
            yield
        finally:
            _stop(process, server.stop_signal, seconds=60.0)  # its checkpoint is the last there will be


def _start(server: Server, *, lock: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start it and wait until it answers."""
    server.prepare()
    state = server.layout.state(server.name)
    process = spawn(
        server.command(),
        death_signal=server.stop_signal,
        account=get_account(state),
        reach=state,
        stdout=log,
        stderr=log,
        pass_fds=[lock],
    )
    deadline = time.monotonic() + _START_SECONDS
    while not server.is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            _stop(process, signal.SIGKILL)
            raise RuntimeError(f"{server.name} did not start; see {log.name}")
        time.sleep(0.01)
    return process


def _stop(process: subprocess.Popen[bytes], stop_signal: signal.Signals, *, seconds: float = _STOP_SECONDS) -> None:
    process.send_signal(stop_signal)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_lock(lock: int) -> None:
    """Wait for an earlier keeper's server to finish: it may still be writing its last checkpoint."""
    deadline = time.monotonic() + _START_SECONDS
    while not try_lock(lock):
        if time.monotonic() > deadline:
            raise RuntimeError("an earlier server of this folder is still running")
        time.sleep(_TICK)


def main() -> None:
    logging.basicConfig(format="%(asctime)s %(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(SERVERS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--throw-away", action="store_true", help="do not care for durability")
    options = parser.parse_args()
    if os.fork() > 0:  # leave whoever started us: it may end before we do, or live on long after
        os._exit(0)
    server = SERVERS[options.name](DataLayout.at(options.folder), not options.throw_away)
    try:
        keep(server, announce=lambda: _announce(sys.stdout.fileno()))
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        sys.exit(str(error))


def _announce(pipe: int) -> None:
    os.write(pipe, READY)
    os.dup2(os.open(os.devnull, os.O_WRONLY), pipe)  # whoever waited now reads the end of the pipe


if __name__ == "__main__":
    main()
