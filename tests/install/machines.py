"""Clean Debian machines made of Debian's own packages, and people on them who have no privileges.

A machine is a folder that mmdebstrap fills, entered by chroot with mounts of its own. It has Python, make, git and
pipx, but no compiler, no npm and no uv. Its network is ours, and so is what leads to the package registries from here:
authorities that are trusted, mirrors and proxies that the environment names.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.processes import wait_until

PROJECT = Path(__file__).resolve().parents[2]
MACHINES = PROJECT / ".test-output" / "install"

# What somebody has installed who reads the README: for the clone git and make, for the wheel pip (in venv) or pipx.
PACKAGES = ("ca-certificates", "git", "make", "pipx", "python3", "python3-venv")

# Seconds for a line from nothing, on a machine that is busy with other things.
LINE_SECONDS = 1500

# The environment's names that lead to registries.
_REGISTRIES = re.compile(r"(PIP|UV|NPM_CONFIG)_.*|.*_PROXY|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS", re.IGNORECASE)
_AUTHORITIES = Path("etc/ssl/certs/ca-certificates.crt")

_ENTER = """
mount -t proc proc "$1/proc" && mount -t tmpfs -o mode=1777 shm "$1/dev/shm" || exit
chroot=$2 root=$1 account=$3; shift 3
exec "$chroot" --userspec="$account" --groups= "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$@"
"""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_CTRL_C = b"\x03"

# Another run may be on at the same time.
_uids = itertools.count(100_000 + 100 * os.getpid())


def find_hindrance() -> str | None:
    """Say why no machine can be made here, or return None."""
    if os.geteuid() != 0:
        return "only root can make and enter machines"
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap is not installed (apt-get install mmdebstrap)"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        return "mounts of one's own are not permitted here"
    return None


@dataclass(frozen=True)
class Machine:
    """The root folder of an installed Debian."""

    suite: str
    root: Path

    @classmethod
    def make(cls, suite: str) -> Machine:
        """Install `suite`, unless an earlier run has; it is kept until the list of packages changes."""
        digest = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
        machine = cls(suite, MACHINES / f"{suite}-{digest}")
        if not machine.root.exists():
            MACHINES.mkdir(parents=True, exist_ok=True)
            unfinished = machine.root.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
            # The clock of a machine for tests may be wrong; signatures are verified all the same.
            command += [f'--aptopt=Acquire::Check-{what} "false"' for what in ("Date", "Valid-Until")]
            done = subprocess.run([*command, suite, unfinished], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{suite} cannot be installed:\n{done.stderr}")
            unfinished.rename(machine.root)
        for name in ("etc/hosts", "etc/resolv.conf", _AUTHORITIES):
            if Path("/", name).exists():
                shutil.copy(Path("/", name), machine.root / name)
        return machine

    @cached_property
    def python(self) -> str:
        """The version of its Python, "3.11.2"."""
        done = subprocess.run(
            [_find("chroot"), self.root, "python3", "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    @contextmanager
    def person(self, home: str) -> Iterator[Person]:
        """Somebody new with an empty home, like "/home/mei", who with all processes and files is gone afterwards."""
        person = Person(self, next(_uids), home)
        accounts = self.root / "etc/passwd"
        before = accounts.read_text()
        accounts.write_text(f"{before}person{person.uid}:x:{person.uid}:{person.uid}::{home}:/bin/bash\n")
        try:
            person.path().mkdir(parents=True)
            os.chown(person.path(), person.uid, person.uid)
            yield person
        finally:
            for process in person.list_processes():
                with suppress(ProcessLookupError):
                    os.kill(process, 9)
            wait_until(lambda: not person.list_processes())
            shutil.rmtree(person.path())
            accounts.write_text(before)

    @property
    def administrator(self) -> Person:
        """Whoever installs for all."""
        return Person(self, 0, "/root")


@dataclass(frozen=True)
class Person:
    """An account of a machine, and what it can do there."""

    machine: Machine
    uid: int
    home: str

    def path(self, *inside: str) -> Path:
        """A path of the home as it is seen from outside."""
        return self.machine.root.joinpath(self.home.lstrip("/"), *inside)

    def clone(self, folder: str) -> None:
        """Give the home a copy of the files that git tracks here, as they are now."""
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True)
        for name in filter(None, tracked.stdout.split("\0")):
            target = self.path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if (PROJECT / name).exists():
                shutil.copy(PROJECT / name, target)
        self._own(self.path(folder))

    def receive(self, file: Path, folder: str) -> None:
        """Copy `file` into the home."""
        self.path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, self.path(folder))
        self._own(self.path(folder))

    def run(self, line: str, *, folder: str = ".", **variables: str | None) -> str:
        """Run a line of the shell to its end, which has to go well; return what it prints."""
        with self.start(line, folder=folder, **variables) as terminal:
            status = terminal.wait()
            assert status == 0, f"{line}: {status}\n{terminal.text}"
            return terminal.text

    @contextmanager
    def start(self, line: str, *, folder: str = ".", **variables: str | None) -> Iterator[Terminal]:
        """Start a line of the shell in a terminal of its own; killed in the end if it still runs."""
        leader, follower = os.openpty()
        environment = {name: value for name, value in self._environment(variables).items() if value is not None}
        command = [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", str(self.machine.root)),
            *(_find("chroot"), f"{self.uid}:{self.uid}", os.path.join(self.home, folder), "bash", "-c", line),
        ]
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(follower)
        with process:
            terminal = Terminal(process, leader)
            try:
                yield terminal
            finally:
                process.kill()
                process.wait()
                terminal.close()

    def list_processes(self) -> list[int]:
        """Process IDs of what runs under this account."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                with suppress(OSError):  # ended meanwhile
                    status = (folder / "status").read_text()
                    if re.search(rf"^Uid:\t{self.uid}\t", status, re.M) and "\nState:\tZ" not in status:
                        found.append(int(folder.name))
        return found

    def _environment(self, variables: Mapping[str, str | None]) -> dict[str, str | None]:
        carried = {name: value for name, value in os.environ.items() if _REGISTRIES.fullmatch(name)}
        # What is ours alone: folders of this disk.
        carried = {name: value for name, value in carried.items() if name not in ("PIP_FIND_LINKS", "PIP_CONSTRAINT")}
        authorities = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS"), f"/{_AUTHORITIES}")
        local = f"{self.home}/.local/bin"
        return {
            **carried,
            **authorities,
            "PATH": f"{local}:/usr/local/bin:/usr/bin:/bin",
            "HOME": self.home,
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **variables,
        }

    def _own(self, folder: Path) -> None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)


class Terminal:
    """What runs in a terminal, what it has shown so far, and the keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], leader: int) -> None:
        self.started_at = time.monotonic()
        self._process = process
        self._leader = leader
        self._shown = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def text(self) -> str:
        """Everything shown so far, without colours and movements of the cursor."""
        return _CONTROL.sub("", self._shown.decode(errors="replace"))

    def wait_for(self, words: str) -> float:
        """Wait until `words` are shown; return the seconds since the start."""
        wait_until(lambda: words in self.text or self._process.poll() is not None, seconds=LINE_SECONDS)
        assert words in self.text, self.text
        return time.monotonic() - self.started_at

    def press_ctrl_c(self) -> None:
        os.write(self._leader, _CTRL_C)

    def wait(self) -> int:
        """Wait for the end; return the exit status."""
        status = self._process.wait(timeout=LINE_SECONDS)
        self._reader.join(timeout=5)
        return status

    def close(self) -> None:
        # Whoever still has the terminal open keeps it so; they are found as processes that were left.
        self._reader.join(timeout=5)
        os.close(self._leader)

    def _read(self) -> None:
        with suppress(OSError):  # nobody has the terminal open any more
            while shown := os.read(self._leader, 65536):
                self._shown += shown


def _find(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found, program
    return found
