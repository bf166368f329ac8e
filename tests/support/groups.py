"""Run the groups of the suite beside each other: ``python -m tests.support.groups [--long] [--group NAME]``.

Each group is a pytest run of its own, as the browser's driver and the model server leave an event loop or threads that
disturb other tests. Beside the unit tests run the others, one after the other. The groups of other people's programs,
of clean machines and of the container image run by name only (`make test-clients`, `make test-install`, `make
test-image`). Lines are printed as they come, with the group's name before them; the end of what a group that failed
printed is repeated, and the names of tests that failed or ran again, last of all. The exit status is 1 if any group
failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

from apps.core.management.commands.compilemessages import compile_catalogs

# Where each group writes which requirements its tests prove.
RESULTS = Path(".test-output/spec")

# The folders of the groups whose tests stand apart from the others, and have the group's name as a marker.
FOLDERS = {
    "e2e": "tests/e2e",
    "llm": "tests/llm",
    "clients": "tests/clients",
    "install": "tests/install",
    "image": "tests/image",
}

# The groups that run by default; "clients" installs other people's programs, "install" and "image" whole machines.
GROUPS = ("e2e", "llm", "unit")

# Groups that begin when another has ended: its tests keep a processor busy, and unit tests take longest anyway.
AFTER = {"llm": "e2e"}

# How much of the end of a group that failed is printed again; pytest's list of failures stands last in it.
REPEATED_LINES = 150

# A line of pytest's lists of failures and of tests that ran again, up to the reason, which may be pages long.
LISTED_TEST = re.compile(r"(FAILED|ERROR|RERUN) \S+::.*?(?= - |$)")


def list_commands(group: str, *, long: bool, workers: str) -> list[list[str]]:
    """The commands of a group, each run if the one before it succeeded."""
    python = [sys.executable, "-u", "-m"]
    marks = [group] if group in FOLDERS else [f"not {name}" for name in FOLDERS]
    folder = RESULTS if group in GROUPS else RESULTS / "named"  # `make spec` knows of the runs that it makes itself
    results = folder / f"{'long-' if long else ''}{group}.json"
    chosen = " and ".join([*marks, "long" if long else "not long"])
    test = [*python, "pytest", "-q", "-m", chosen, f"--spec-results={results}"]
    if long:
        test.append("--durations=25")  # against their time limits, which are for machines of half the speed
    # Reading the files of all tests takes fifteen seconds.
    test += [FOLDERS[group]] if group in FOLDERS else [f"--ignore={folder}" for folder in FOLDERS.values()]
    if group == "unit":
        # A file stays in one process, so what is made once for a module is made once. Files stay in the
        # run's random order: xdist would leave those of few but long tests to the end, for one process alone.
        test += ["-n", workers, "--dist", "loadfile", "--no-loadscope-reorder"]
    # Both are made while the unit tests are still being collected.
    before = ("servers", "browser") if group == "e2e" else ()
    return [*([*python, f"tests.support.{name}"] for name in before), test]


class Group:
    """A group under way, in a thread of its own; it begins when the one that it comes after has ended."""

    def __init__(self, name: str, commands: list[list[str]], *, after: Group | None = None) -> None:
        self.name = name
        self.status = 1
        self.seconds = 0.0
        self.last_lines: deque[str] = deque(maxlen=REPEATED_LINES)
        self.listed: list[str] = []
        self._commands = commands
        self._after = after
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()

    def _run(self) -> None:
        if self._after is not None:
            self._after.wait()
        started = time.monotonic()
        for command in self._commands:
            self.status = self._run_command(command)
            if self.status != 0:
                break
        self.seconds = time.monotonic() - started

    def _run_command(self, command: list[str]) -> int:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:  # type: ignore[call-overload]
            for line in process.stdout:
                self.last_lines.append(line)
                if found := LISTED_TEST.match(line):
                    self.listed.append(found[0])
                print(f"{self.name:>4} | {line}", end="", flush=True)
        return process.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--group", choices=(*GROUPS, *FOLDERS), help="run this one alone")
    parser.add_argument("--long", action="store_true", help="run the tests marked long, and only those")
    parser.add_argument("--workers", default="auto", help="processes of the unit tests (default: one for each core)")
    options = parser.parse_args()
    compile_catalogs(["locale"])
    names = [options.group] if options.group else list(GROUPS)
    started: dict[str, Group] = {}
    for name in names:
        commands = list_commands(name, long=options.long, workers=options.workers)
        started[name] = Group(name, commands, after=started.get(AFTER.get(name, "")))
    groups = list(started.values())
    for group in groups:
        group.wait()
    for group in groups:
        if group.status and len(groups) > 1:
            print(
                "".join(f"{group.name:>4} | {line}" for line in ("its last lines again:\n", *group.last_lines)), end=""
            )
    for group in groups:
        print(f"{group.name:>4} | {'FAILED' if group.status else 'passed'} in {group.seconds:.0f} s")
        print("".join(f"{group.name:>4} | {test}\n" for test in group.listed), end="")
    sys.exit(1 if any(group.status for group in groups) else 0)


if __name__ == "__main__":
    main()
