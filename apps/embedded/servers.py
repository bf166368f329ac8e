"""Make sure the embedded servers run while we need them. Any number of processes may do so at once."""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from django.conf import settings

from apps.embedded.keeper import READY, SERVERS
from apps.embedded.layout import DataLayout, try_lock

_PROJECT = Path(__file__).resolve().parents[2]
_GONE_SECONDS = 15.0
_REVIVE_PAUSE_SECONDS = 5.0

# Commands that work on files alone.
_NEED_NONE = frozenset(
    {"check", "collectstatic", "compilemessages", "diffsettings", "help", "makemessages", "spectacular", "version"}
)

# Commands that start servers themselves, after checks of their own.
_OWN = frozenset({"up", "upgrade", "upgrade_database"})

_log = logging.getLogger(__name__)


class ServersUnavailable(Exception):
    """An embedded server could not be started; the message says why."""


def get_missing_servers() -> list[str]:
    """The servers that the environment does not give (``DATABASE_URL``, ``REDIS_URL``; empty counts as not given)."""
    variables = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}
    return [name for name, variable in variables.items() if not os.environ.get(variable)]


@contextmanager
def hold_servers(
    data_dir: Path | str, *, names: Iterable[str] = ("postgres", "valkey"), durable: bool = True
) -> Iterator[None]:
    """Run the servers ``names`` of ``data_dir`` for the time of the block: found running, or started.

    They stop with the last block of any process that holds them; leaving that one waits until they have. A process
    that is killed counts as having left. Raises ServersUnavailable when one cannot be started.
    ``durable=False`` is for throw-away data.
    """
    layout, names = DataLayout.at(data_dir), list(names)
    for folder in (layout.run, layout.log) if names else ():
        folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(_hold(name, layout=layout, durable=durable))
        yield


@contextmanager
def command_servers(argv: Sequence[str]) -> Iterator[None]:
    """Hold the embedded servers while the command ``argv`` runs, unless it needs none or real ones are configured.

    Ends the process with a message when one cannot be started.
    """
    command = argv[1] if len(argv) > 1 else "help"
    if command.startswith("-") or command in _NEED_NONE | _OWN or not {"-h", "--help"}.isdisjoint(argv):
        yield
        return
    try:
        with hold_servers(settings.DATA_DIR, names=get_missing_servers()):
            yield
    except ServersUnavailable as error:
        sys.exit(str(error))


@contextmanager
def _hold(name: str, *, layout: DataLayout, durable: bool) -> Iterator[None]:
    last = False
    try:
        with layout.users_lock(name).open("w") as users:
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a keeper is about to end
            _start_unless_ready(name, layout=layout, durable=durable)
            try:
                yield
            finally:
                last = try_lock(users)  # nobody but us held it
    finally:
        if last:
            _wait_until_gone(layout.keeper_lock(name))


@contextmanager
def revive_servers(data_dir: Path | str, *, names: Iterable[str], durable: bool = True) -> Iterator[None]:
    """Bring back, for the time of the block, the servers of `hold_servers` whose keeper was killed.

    A keeper restarts its server; this is for what takes both along, such as the kernel when memory runs out.
    """
    layout, stopping = DataLayout.at(data_dir), threading.Event()
    for name in names:
        revive = partial(_revive, name, layout=layout, durable=durable, stopping=stopping)
        threading.Thread(target=revive, name=f"revive-{name}", daemon=True).start()
    try:
        yield
    finally:
        stopping.set()


def _revive(name: str, *, layout: DataLayout, durable: bool, stopping: threading.Event) -> None:
    while not stopping.is_set():
        with layout.keeper_lock(name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # waits until neither the keeper nor its server is left
        if stopping.is_set():
            return
        try:
            _start_unless_ready(name, layout=layout, durable=durable)
            _log.warning("The keeper of %s was gone; there is another", name)
        except (ServersUnavailable, OSError) as error:  # OSError: no space for the keeper's log, say
            _log.error("%s", error)
            stopping.wait(_REVIVE_PAUSE_SECONDS)


def _start_unless_ready(name: str, *, layout: DataLayout, durable: bool) -> None:
    with layout.start_lock(name).open("w") as start:
        fcntl.flock(start, fcntl.LOCK_EX)
        if not SERVERS[name](layout, durable).is_ready():
            _start_keeper(name, layout=layout, durable=durable)


def _start_keeper(name: str, *, layout: DataLayout, durable: bool) -> None:
    """Start it and wait until its server answers, or has failed to."""
    log_path = layout.log / f"{name}.keeper.log"
    command = [sys.executable, "-m", "apps.embedded.keeper", name, str(layout.root)]
    with log_path.open("wb") as log:
        outcome = subprocess.run(
            [*command, *(() if durable else ("--throw-away",))],
            cwd=_PROJECT,
            start_new_session=True,  # Ctrl-C is for us, not for it
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            check=False,
        )
    if outcome.stdout != READY:
        raise ServersUnavailable(f"The embedded {name} could not be started: {log_path.read_text().strip()}")


def _wait_until_gone(keeper_lock: Path) -> None:
    """Wait for the keeper and its server to end. Not for ever: somebody may have come back for them."""
    deadline = time.monotonic() + _GONE_SECONDS
    with keeper_lock.open("w") as lock:
        while not try_lock(lock) and time.monotonic() < deadline:
            time.sleep(0.01)
