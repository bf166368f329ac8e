"""Hosts of an installation: each with an unprivileged account, a folder and processes of its own, all on loopback.

Hosts with networks of their own are those of `tests.support.namespaces`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apps.embedded.process import Account, spawn
from tests.support.processes import wait_until
from tests.support.servers import make_data_folder, remove_data_folder

PROJECT = Path(__file__).resolve().parents[2]
_CLONE_NEWNET = 0x40000000
_FIRST_UID = 61_000
_TAIL_CHARS = 4_000


class Host:
    """One machine, or what stands for it. Processes that it starts end with it, and with us."""

    def __init__(self, name: str, address: str, *, folder: Path, account: Account | None, namespace: str = "") -> None:
        self.name = name
        self.address = address
        self.folder = folder
        self.account = account
        self.namespace = namespace
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        # The kernel ends what a thread started with that thread, and a namespace is a thread's: so this one stays.
        self._thread = ThreadPoolExecutor(max_workers=1, initializer=self._enter)

    def start(self, name: str, command: Sequence[str | Path], *, environment: Mapping[str, str]) -> None:
        """Start a process under a name of its own, as this host's account; its output goes to a log."""
        with (self.folder / f"{name}.log").open("ab") as output:
            self.processes[name] = self._thread.submit(self._spawn, command, environment, output).result()

    def run(
        self, command: Sequence[str | Path], *, environment: Mapping[str, str], timeout: float = 180
    ) -> tuple[int, str]:
        """Run a program to its end, as this host's account; return its status and what it printed."""
        process = self._thread.submit(self._spawn, command, environment, subprocess.PIPE).result()
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output.decode(errors="replace")

    def _enter(self) -> None:
        if not self.namespace:
            return
        with Path(f"/run/netns/{self.namespace}").open("rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {self.namespace}")

    def _spawn(self, command: Sequence[str | Path], environment: Mapping[str, str], output: Any) -> Any:
        return spawn(
            command,
            death_signal=signal.SIGKILL,
            account=self.account,
            reach=PROJECT / "apps",
            cwd=PROJECT,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def kill(self, name: str) -> None:
        """Kill a process with all that it started, and wait until it is gone."""
        process = self.processes.pop(name)
        family = list_family(process.pid)
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))

    def read_log(self, name: str) -> str:
        """The end of what a process printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-_TAIL_CHARS:]

    def close(self) -> None:
        """End all that still runs."""
        for name in list(self.processes):
            self.kill(name)
        self._thread.shutdown()


def list_family(pid: int) -> list[int]:
    """A process and all that descend from it, parents first."""
    family = [pid]
    for member in family:
        try:
            children = [Path(f"/proc/{member}/task/{task}/children").read_text() for task in _list_tasks(member)]
        except OSError:  # it has just ended
            continue
        family += [int(child) for text in children for child in text.split()]
    return family


def _list_tasks(pid: int) -> list[str]:
    return [entry.name for entry in Path(f"/proc/{pid}/task").iterdir()]


class Network:
    """Makes hosts. All have the address of loopback unless told otherwise, so their ports have to differ."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hosts: list[Host] = []

    def make_host(self, name: str, *, user: str = "", address: str = "127.0.0.1", namespace: str = "") -> Host:
        """Add a host, whose processes run as `user`, or as an account of its own that has no name."""
        number = len(self.hosts) + 2
        folder = self.folder / name
        folder.mkdir()
        account = None
        if os.geteuid() == 0:
            account = Account(uid=_FIRST_UID + number, gid=_FIRST_UID + number)
            if user:
                found = pwd.getpwnam(user)
                account = Account(uid=found.pw_uid, gid=found.pw_gid)
            os.chown(folder, account.uid, account.gid)
        host = Host(name, address, folder=folder, account=account, namespace=namespace)
        self.hosts.append(host)
        return host

    def close(self) -> None:
        """End all hosts."""
        for host in self.hosts:
            host.close()


@contextmanager
def make_network() -> Iterator[Network]:
    """A network in a temporary folder, gone with all its hosts after the block."""
    folder = make_data_folder()
    network = Network(folder)
    try:
        yield network
    finally:
        network.close()
        remove_data_folder(folder)
