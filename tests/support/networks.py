"""Hosts of an installation: each with an address, an unprivileged account and processes of its own.

With network namespaces (Linux, as root) each host has a network of its own, joined to the others by a bridge, and
can be lost as by a power cut: nothing that it had open is closed. Without, all hosts have the address of loopback, and
losing one kills its processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import sys
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

    def __init__(self, name: str, address: str, *, folder: Path, account: Account | None, namespace: str) -> None:
        self.name = name
        self.address = address
        self.folder = folder
        self.account = account
        self.namespace = namespace
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        # A namespace is a thread's, and the kernel ends what a thread started with that thread: so this one stays.
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

    def stop(self, name: str, *, number: signal.Signals = signal.SIGTERM) -> None:
        """Tell a process to stop, and wait until it has."""
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait(timeout=200)

    def lose(self) -> None:
        """The power goes: its network first, so that nobody is told, then all that ran."""
        if self.namespace:
            _ip("-netns", self.namespace, "link", "set", "eth0", "down")
        for name in list(self.processes):
            self.kill(name)

    def come_back(self) -> None:
        """Have the network back; nothing runs yet."""
        if self.namespace:
            _ip("-netns", self.namespace, "link", "set", "eth0", "up")

    def read_log(self, name: str) -> str:
        """The end of what a process printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-_TAIL_CHARS:]

    def close(self) -> None:
        """End all that still runs."""
        for name in list(self.processes):
            self.kill(name)
        self._thread.shutdown()

    def _enter(self) -> None:
        if not self.namespace:
            return
        with Path(f"/run/netns/{self.namespace}").open("rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {self.namespace}")


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
    """Makes hosts. `namespaces` tells whether each has a network of its own."""

    def __init__(self, folder: Path, *, namespaces: bool) -> None:
        self.folder = folder
        self.namespaces = namespaces
        self.hosts: list[Host] = []
        self.names: list[str] = []
        self.bridge = f"jy{os.getpid()}"
        self._prefix = f"10.{64 + os.getpid() % 64}.{os.getpid() // 64 % 256}" if namespaces else "127.0.0"
        if namespaces:
            _ip("link", "add", self.bridge, "type", "bridge")
            _ip("address", "add", f"{self.outside}/24", "dev", self.bridge)
            _ip("link", "set", self.bridge, "up")

    @property
    def outside(self) -> str:
        """The address at which hosts reach us."""
        return f"{self._prefix}.1"

    def make_host(self, name: str, *, user: str = "") -> Host:
        """Add a host, whose processes run as `user`, or as an account of its own that has no name.

        Without namespaces all hosts have the address of loopback, so their ports have to differ.
        """
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
        namespace = self._make_namespace(number) if self.namespaces else ""
        address = f"{self._prefix}.{number if self.namespaces else 1}"
        host = Host(name, address, folder=folder, account=account, namespace=namespace)
        self.hosts.append(host)
        return host

    def _make_namespace(self, number: int) -> str:
        name, here = f"{self.bridge}-{number}", f"{self.bridge}v{number}"
        _ip("netns", "add", name)
        self.names.append(name)
        _ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", here, "master", self.bridge, "up")
        _ip("-netns", name, "address", "add", f"{self._prefix}.{number}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-netns", name, "link", "set", device, "up")
        return name

    def close(self) -> None:
        """End all hosts and take the network away."""
        for host in self.hosts:
            host.close()
        for name in self.names:
            # What a connection has still to send keeps a namespace for a while, with its cable: so that goes first.
            cable = name.replace(f"{self.bridge}-", f"{self.bridge}v")
            subprocess.run(["ip", "link", "delete", cable], check=False)
            subprocess.run(["ip", "netns", "delete", name], check=False)
        if self.namespaces:
            subprocess.run(["ip", "link", "delete", self.bridge], check=False)


def can_make_namespaces() -> bool:
    """Whether this process may make network namespaces."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    name = f"jy{os.getpid()}-try"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return made.returncode == 0


@contextmanager
def make_network(*, namespaces: bool) -> Iterator[Network]:
    """A network in a temporary folder, gone with all its hosts after the block."""
    folder = make_data_folder()
    network = Network(folder, namespaces=namespaces)
    try:
        yield network
    finally:
        network.close()
        remove_data_folder(folder)


def _ip(*arguments: Any) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
