"""Run several programs as one: their lines prefixed, the fallen restarted, and all stopped together."""

from __future__ import annotations

import errno
import itertools
import os
import selectors
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import IO, TextIO

from apps.embedded.process import fork

_TICK = 0.1
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
_SETTLED_SECONDS = 60.0
_LONGEST_LINE = 65536
_COLOURS = (36, 33, 35, 32, 34)


@dataclass(frozen=True)
class Program:
    """What to run. ``stop_signals`` are sent in turn, each given ``stop_seconds`` to work; then it is killed.

    ``death_signal`` is what the kernel sends, once, when the supervisor itself was killed. ``shares_memory``: it is
    ``python -m MODULE …`` and runs in a copy of the supervisor's process, with all that was loaded there.
    """

    name: str
    command: Sequence[str]
    stop_signals: Sequence[signal.Signals] = (signal.SIGTERM,)
    stop_seconds: float = 7.0
    nice: int = 0
    pass_fds: Sequence[int] = ()
    death_signal: signal.Signals = signal.SIGTERM
    shares_memory: bool = False


@dataclass
class _Child:
    """A program and its present process, if it has one."""

    program: Program
    prefix: str
    process: ForkProcess | None = None
    output: IO[bytes] | None = None
    unfinished_line: bytes = b""
    started_at: float = 0.0
    start_at: float = 0.0
    pause: float = 0.0
    signals: list[signal.Signals] = field(default_factory=list)
    next_signal_at: float = 0.0


class Supervisor:
    """Runs ``programs`` in ``cwd`` with ``env`` until INT, TERM or HUP; a second one of these kills at once.

    Everything happens in the calling thread: it is the parent whose death takes the programs along.
    """

    def __init__(self, programs: Sequence[Program], *, cwd: Path, env: Mapping[str, str], output: TextIO) -> None:
        width = max(len(program.name) for program in programs)
        colours = itertools.cycle(_COLOURS) if output.isatty() and "NO_COLOR" not in os.environ else None
        self._children = [
            _Child(program, prefix=_format_prefix(program.name, width, next(colours) if colours else None))
            for program in programs
        ]
        self._cwd = cwd
        self._env = dict(env)
        self._output = output
        self._selector = selectors.DefaultSelector()
        self._requests_to_stop = 0

    def run(self) -> None:
        """Start all, and return when all have stopped after a signal. Signal handlers are restored then."""
        handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._request_stop) for number in handled}
        try:
            while not self._requests_to_stop:
                self._start_due()
                self._pump()
            for child in self._children:
                child.signals = [*child.program.stop_signals, signal.SIGKILL]
            while any(child.process for child in self._children):
                self._signal_due()
                self._pump()
        finally:
            for child in self._children:
                if child.process:
                    _kill_group(child.process)
            self._selector.close()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._requests_to_stop += 1

    def _start_due(self) -> None:
        for child in self._children:
            if child.process or time.monotonic() < child.start_at:
                continue
            child.started_at = time.monotonic()
            program = child.program
            child.process, child.output = fork(
                program.command,
                name=program.name,
                shares_memory=program.shares_memory,
                death_signal=program.death_signal,
                nice=program.nice,
                cwd=self._cwd,
                env=self._env,
                pass_fds=program.pass_fds,
            )
            os.set_blocking(child.output.fileno(), False)
            self._selector.register(child.output, selectors.EVENT_READ, child)

    def _signal_due(self) -> None:
        """Send every child that still runs its next stop signal, if the last one had its time."""
        for child in self._children:
            if self._requests_to_stop > 1:
                child.signals, child.next_signal_at = [signal.SIGKILL], 0.0
            if child.process and child.signals and time.monotonic() >= child.next_signal_at:
                number = child.signals.pop(0)
                child.next_signal_at = time.monotonic() + child.program.stop_seconds
                if number == signal.SIGKILL:
                    _kill_group(child.process)
                else:
                    assert child.process.pid is not None
                    os.kill(child.process.pid, number)

    def _pump(self) -> None:
        """Pass on what the children wrote in the next moment, and see who has ended."""
        for key, _ in self._selector.select(_TICK):
            self._read(key.data)
        for child in self._children:
            if child.process and child.process.exitcode is not None:
                self._bury(child, child.process)

    def _read(self, child: _Child) -> None:
        assert child.output is not None
        chunk = os.read(child.output.fileno(), _LONGEST_LINE)
        if not chunk:
            self._selector.unregister(child.output)
        *lines, child.unfinished_line = (child.unfinished_line + chunk).split(b"\n")
        if len(child.unfinished_line) >= _LONGEST_LINE:
            lines.append(child.unfinished_line)
            child.unfinished_line = b""
        for line in lines:
            self._write(child, line.decode(errors="replace").rstrip())

    def _bury(self, child: _Child, process: ForkProcess) -> None:
        """The process has ended: take its last words, end what it left behind, and say when it is started again."""
        assert child.output is not None
        with suppress(BlockingIOError):  # one of its own children, about to be killed, still has the pipe
            while child.output in self._selector.get_map():
                self._read(child)
        if child.output in self._selector.get_map():
            self._selector.unregister(child.output)
        if child.unfinished_line:
            self._write(child, child.unfinished_line.decode(errors="replace"))
            child.unfinished_line = b""
        _kill_group(process)
        child.output.close()
        child.process = None
        if not self._requests_to_stop:
            now = time.monotonic()
            settled = now - child.started_at > _SETTLED_SECONDS
            child.pause = _FIRST_PAUSE if settled or not child.pause else min(child.pause * 2, _LONGEST_PAUSE)
            child.start_at = now + child.pause
            self._write(child, f"ended with {process.exitcode}; starting it again in {child.pause:g} s")

    def _write(self, child: _Child, line: str) -> None:
        try:
            self._output.write(f"{child.prefix}{line}\n")
            self._output.flush()
        except BrokenPipeError:  # nobody reads us any more
            self._output = Path(os.devnull).open("w")  # noqa: SIM115 - until the end of the process
            self._requests_to_stop += 1
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            # The disk of our log is full: lines are lost until there is space again, and nothing else.


def _format_prefix(name: str, width: int, colour: int | None) -> str:
    padded = f"{name:<{width}} | "
    return padded if colour is None else f"\x1b[{colour}m{padded}\x1b[0m"


def _kill_group(process: ForkProcess) -> None:
    """Kill the process and everything it started: it leads a session, and so a group, of its own."""
    assert process.pid is not None
    # Nobody left in the group: no such process, or, on macOS, no permission to signal a zombie.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have got to leading a session yet
    process.join()
