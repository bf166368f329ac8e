"""Look at processes and wait for them, for the tests of what starts and stops them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def find_processes(marker: str | Path) -> dict[int, str]:
    """Command lines, by process ID, of all living processes with ``marker`` in their arguments or environment."""
    wanted = os.fsencode(marker)
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
            dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:  # ended meanwhile, or not ours
            continue
        if not dead and (wanted in command or wanted in environment):
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def measure_memory(marker: str | Path) -> int:
    """Bytes of memory that the processes of `find_processes` and their descendants take; what is shared counts once."""
    total, left, seen = 0, list(find_processes(marker)), set[int]()
    while left:
        pid = left.pop()
        if pid in seen:
            continue
        seen.add(pid)
        with suppress(OSError):  # ended meanwhile
            sizes = Path(f"/proc/{pid}/smaps_rollup").read_text().split()
            total += int(sizes[sizes.index("Pss:") + 1]) * 1024
            for thread in Path(f"/proc/{pid}/task").iterdir():
                left += map(int, (thread / "children").read_text().split())
    return total


def wait_until(condition: Callable[[], object], *, seconds: float = 200.0) -> None:
    """Return as soon as ``condition()`` is true; fail when it is not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{condition} is still not true after {seconds} s"
        time.sleep(0.01)
