"""The product's processes and its queue of work, watched while it runs."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from apps.embedded.layout import DataLayout
from benchmarks.running import Product

_TICK_SECONDS = 0.5
_HOLD_SECONDS = 120.0
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessFigures:
    """What the processes of one program of `up` took: the largest one in MB, and seconds of processor together, these
    since `Watch.start_counting`.
    """

    program: str
    processes: int
    peak_mb: int
    cpu_seconds: float


@dataclass(slots=True)
class _Process:
    program: str
    peak_kb: int = 0
    cpu_seconds: float = 0.0
    cpu_seconds_before: float = 0.0


@dataclass(slots=True)
class Watch:
    """Samples of the queue and of the processes, taken by a thread of its own until the block of `watch` ends.

    `due` is the number of rows of the work table now; `busy_samples` and `busy_with_work` count the samples taken
    while turns were measured as busy, and those of them in which work was due: was the system busy when it had to be?
    """

    product: Product
    due: int = 0
    measuring_busy: bool = False
    busy_samples: int = 0
    busy_with_work: int = 0
    processes: dict[int, _Process] = field(default_factory=dict)

    def start_counting(self) -> None:
        """Leave the processor time up to here out of the figures."""
        self.sample()
        for process in self.processes.values():
            process.cpu_seconds_before = process.cpu_seconds

    def sample(self) -> None:
        """Look at the queue and at every process once."""
        self.due = count_due()
        if self.measuring_busy:
            self.busy_samples += 1
            self.busy_with_work += self.due > 0
        programs = {**find_programs(self.product.pid), _find_postmaster(self.product.folder): "postgres"}
        for pid, parent, group in _list_processes():
            if name := programs.get(group) or programs.get(parent):
                seen = self.processes.setdefault(pid, _Process(name))
                seen.peak_kb = max(seen.peak_kb, _read_peak_kb(pid))
                seen.cpu_seconds = max(seen.cpu_seconds, _read_cpu_seconds(pid))

    def get_processes(self) -> list[ProcessFigures]:
        """Return the figures of each program, those that ended meanwhile included."""
        names = sorted({process.program for process in self.processes.values()})
        groups = {name: [seen for seen in self.processes.values() if seen.program == name] for name in names}
        return [
            ProcessFigures(
                program=name,
                processes=len(group),
                peak_mb=round(max(seen.peak_kb for seen in group) / 1024),
                cpu_seconds=round(sum(seen.cpu_seconds - seen.cpu_seconds_before for seen in group), 1),
            )
            for name, group in groups.items()
        ]


@contextmanager
def watch(product: Product) -> Iterator[Watch]:
    """Watch the product from here on."""
    watched, stopping = Watch(product=product), threading.Event()

    def run() -> None:
        from django.db import connection

        try:
            while not stopping.wait(_TICK_SECONDS):
                watched.sample()
        finally:
            connection.close()

    thread = threading.Thread(target=run, name="watch", daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        stopping.set()
        thread.join()


def count_due() -> int:
    """Return how much work is still to be done; what failed for good is not."""
    from apps.conversations.models import Work

    return Work.objects.filter(state=Work.State.DUE).count()


@contextmanager
def hold_workers(product: Product) -> Iterator[None]:
    """Stop every worker process where it is, with no transaction open, for the time of the block."""
    groups = [pid for pid, program in find_programs(product.pid).items() if program.startswith("worker")]
    deadline = time.monotonic() + _HOLD_SECONDS
    try:
        _signal_groups(groups, signal.SIGSTOP)
        while _has_open_transaction():
            if time.monotonic() > deadline:
                raise RuntimeError("the workers could not be held outside of a transaction")
            # One that was stopped in the middle would keep its locks, and the turns would wait for them. The time to
            # get on is drawn, so that no two tries find the workers at the same point of their rounds.
            _signal_groups(groups, signal.SIGCONT)
            time.sleep(random.uniform(0.02, 0.5))
            _signal_groups(groups, signal.SIGSTOP)
        yield
    finally:
        _signal_groups(groups, signal.SIGCONT)


def _has_open_transaction() -> bool:
    """Whether somebody else is in a transaction, once statements under way have had a moment to end."""
    from django.db import connection

    statement = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                   AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL"""
    with connection.cursor() as cursor:
        for _ in range(10):
            cursor.execute(statement)
            if cursor.fetchone()[0] == 0:
                return False
            time.sleep(0.01)
    return True


def find_programs(product_pid: int) -> dict[int, str]:
    """Return the programs that `up` runs now: process group (its leader's ID) to name."""
    programs = {}
    for pid in Path(f"/proc/{product_pid}/task/{product_pid}/children").read_text().split():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if " uvicorn " in command:
            programs[int(pid)] = "web"
        elif " beat " in command:
            programs[int(pid)] = "beat"
        elif " worker " in command:
            queues = re.search(r" (?:-Q|--queues)[ =](\S+)", command)
            programs[int(pid)] = f"worker ({queues[1]})" if queues else "worker"
    return programs


def _find_postmaster(folder: Path) -> int:
    return int((DataLayout.at(folder).state("postgres") / "postmaster.pid").read_text().split()[0])


def _list_processes() -> Iterator[tuple[int, int, int]]:
    """Yield each process, its parent, and its group."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                _state, parent, group, *_ = _read_stat(int(entry.name))
            except OSError:
                continue
            yield int(entry.name), int(parent), int(group)


def _read_stat(pid: int) -> list[str]:
    """The fields of proc(5)'s stat from the third one, the state, on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _read_cpu_seconds(pid: int) -> float:
    try:
        fields = _read_stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def _read_peak_kb(pid: int) -> int:
    """The largest resident size the process ever had."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _signal_groups(groups: list[int], number: signal.Signals) -> None:
    for group in groups:
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            continue
