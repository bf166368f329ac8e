"""Start a process that never outlives its parent, and a server that never runs as root."""

from __future__ import annotations

import ctypes
import os
import pwd
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import IO

# From linux/prctl.h, linux/securebits.h and linux/capability.h.
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_SECUREBITS = 28
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE = 1
_CAP_DAC_READ_SEARCH = 2

_AUTOGROUP_ATTEMPTS = 10
_AUTOGROUP_PAUSE = 0.11

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """The unprivileged system account a server runs as when we are root."""

    uid: int
    gid: int


def get_account(folder: Path) -> Account | None:
    """Who is to run the server that owns ``folder``: None (ourselves) unless we are root.

    PostgreSQL refuses to run as root. A folder that already belongs to somebody keeps its owner; a new one goes to
    ``nobody``, the one unprivileged account found everywhere.
    """
    if os.geteuid() != 0:
        return None
    if folder.exists() and (owner := folder.stat()).st_uid != 0:
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    nobody = pwd.getpwnam("nobody")
    return Account(uid=nobody.pw_uid, gid=nobody.pw_gid)


def make_private_folder(folder: Path, *, account: Account | None) -> None:
    """Make ``folder`` (mode 0700) for ``account``; raise PermissionError when somebody else made it first."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    wanted = account.uid if account else os.geteuid()
    if found.st_uid not in (wanted, os.geteuid()) or folder.is_symlink():
        raise PermissionError(f"{folder} belongs to another user (uid {found.st_uid}).")
    folder.chmod(0o700)
    if account and found.st_uid != account.uid:
        os.chown(folder, account.uid, account.gid)


def die_with_parent(parent: int, *, death_signal: signal.Signals) -> None:
    """Have the kernel send this process ``death_signal`` when the thread of ``parent`` that made it dies."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)


def spawn(
    command: Sequence[str | Path],
    *,
    death_signal: signal.Signals,
    account: Account | None = None,
    reach: Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: int | IO[bytes] | None = subprocess.DEVNULL,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own; the kernel sends it ``death_signal`` when the calling thread dies.

    ``account`` is who it runs as, ``reach`` a path this account has to get at besides the program itself. Call it from
    a thread that lives as long as the process is wanted.
    """
    parent = os.getpid()

    def prepare() -> None:
        if account:
            _become(account, reach=[Path(command[0]), *([reach] if reach else [])])
        die_with_parent(parent, death_signal=death_signal)  # after the change of user, which would clear it

    return subprocess.Popen(
        [os.fspath(part) for part in command],
        preexec_fn=prepare,
        start_new_session=True,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
    )


def fork(
    command: Sequence[str],
    *,
    name: str,
    shares_memory: bool,
    death_signal: signal.Signals,
    nice: int,
    cwd: Path,
    env: Mapping[str, str],
    pass_fds: Sequence[int],
) -> tuple[ForkProcess, IO[bytes]]:
    """Start ``command`` as `spawn` does; return the process, and what it writes to stdout and stderr.

    ``nice``: how much it steps back for others. ``shares_memory``: the command is ``python -m MODULE …``, and instead
    of executing it, a copy of this process runs the module: what was loaded here is not loaded again, and takes memory
    once (copy on write). Such a process is called ``name`` in lists of processes.
    """
    parent = os.getpid()
    reading, writing = os.pipe()

    def run() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.close(reading)
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (writing, 1), (writing, 2)):
            os.dup2(source, target)
        os.chdir(cwd)
        _step_back(nice)
        die_with_parent(parent, death_signal=death_signal)
        if not shares_memory:
            for descriptor in pass_fds:
                os.set_inheritable(descriptor, True)
            os.execve(command[0], list(command), env)  # noqa: S606
        if sys.platform == "linux":
            _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
        os.environ.update(env)
        sys.stdout = sys.stderr  # the same pipe, and written line by line
        _interpreter, _m, module, *arguments = command
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    process = ForkProcess(target=run, name=name)
    process.start()
    os.close(writing)
    return process, open(reading, "rb", buffering=0)


def _step_back(nice: int) -> None:
    """Leave the processor to others: as a process, and as the session this process leads.

    Where Linux shares the processor out between sessions first (sched(7), autogroup), the nice value of a process
    counts inside its session only, in which there is nobody but its own children.
    """
    os.nice(nice)
    for _ in range(_AUTOGROUP_ATTEMPTS if nice else 0):
        try:
            Path("/proc/self/autogroup").write_text(str(nice))
        except BlockingIOError:  # for all of the system only one such change a tenth of a second, unless root asks
            time.sleep(_AUTOGROUP_PAUSE)
        except OSError:  # no such thing here
            return
        else:
            return


def _become(account: Account, *, reach: Sequence[Path]) -> None:
    """Turn this (root) process into ``account``, which must be able to get at every path of ``reach``.

    A clone below a folder that only root may enter (``/root``) is out of reach for everybody else. Rather than open
    that folder or copy the programs out of it, the process keeps one capability in that case, and no other: to read
    and search past file permissions, or, where a container withholds that one, to override them.
    Raises PermissionError when not even that helps.
    """
    linux = sys.platform == "linux"
    if linux:
        # Capabilities are ours to set from here on; access(2), which PostgreSQL asks, would disregard them without.
        _libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if not linux:
        return
    helpful = _get_permitted() & (1 << _CAP_DAC_READ_SEARCH | 1 << _CAP_DAC_OVERRIDE)
    for capabilities in (0, 1 << _CAP_DAC_READ_SEARCH, 1 << _CAP_DAC_OVERRIDE):
        if capabilities & ~helpful:
            continue
        _set_capabilities(effective=capabilities, permitted=helpful)
        if all(os.access(path, os.X_OK) for path in reach):
            break
    else:
        raise PermissionError(f"uid {account.uid} cannot reach {', '.join(map(str, reach))}")
    _set_capabilities(effective=capabilities, permitted=capabilities)
    for number in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        if capabilities == 1 << number and _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, number, 0, 0) != 0:
            raise PermissionError("the kernel does not let a capability pass to a program")


def _get_permitted() -> int:
    """The capabilities (the lower 32, as bits) that this process may use."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    return sets[1] if _libc.capget(header, sets) == 0 else 0


def _set_capabilities(*, effective: int, permitted: int) -> None:
    """Have exactly these capabilities; the effective ones may pass to a program."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Effective, permitted, inheritable; then the same for those from 32 on.
    sets = (ctypes.c_uint32 * 6)(effective, permitted, effective, 0, 0, 0)
    if _libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "cannot give up capabilities")
