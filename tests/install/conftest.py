"""Which machines there are, what is installed on them for all, and the table of what was tried."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.machines import MACHINES, Machine, find_hindrance

HERE = Path(__file__).parent

# Debian 12, 13 and the next one: Python 3.11.2, 3.13 and 3.14.
SUITES = ("bookworm", "trixie", "forky")

_TABLE = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    hindrance = find_hindrance()
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.install)
            item.add_marker(pytest.mark.timeout(3600))  # two cores that others use, too, and an empty cache
            if hindrance:
                item.add_marker(pytest.mark.skip(reason=hindrance))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_TABLE, []):
        terminalreporter.write_line(line)


@pytest.fixture
def note_time(request: pytest.FixtureRequest, machine: Machine) -> Iterator[list[float]]:
    """Takes the seconds that a start from nothing took, for the table at the end."""
    seconds: list[float] = []
    yield seconds
    if seconds:
        table = request.config.stash.setdefault(_TABLE, ["Seconds from nothing to a running server:"])
        table.append(f"  {machine.suite} (Python {machine.python}), {request.node.callspec.id}: {seconds[0]:.0f}")


@pytest.fixture(scope="session", params=SUITES)
def machine(request: pytest.FixtureRequest) -> Machine:
    """A clean machine of each kind."""
    return Machine.make(request.param)


@pytest.fixture(scope="session")
def wheel(machine: Machine) -> Path:
    """The wheel, built on the machine from a clone as docs/operations.md says."""
    with machine.person("/home/builder") as builder:
        builder.clone("jiyi")
        builder.run("python3 -m venv tools && tools/bin/pip wheel --no-deps --wheel-dir dist .", folder="jiyi")
        (built,) = builder.path("jiyi", "dist").iterdir()
        folder = MACHINES / f"wheel-{machine.suite}"
        folder.mkdir(exist_ok=True)
        return Path(built.replace(folder / built.name))


@pytest.fixture(scope="session")
def installed(machine: Machine, wheel: Path) -> str:
    """The folder of the programs that an administrator has installed for all, where nobody else may write."""
    administrator = machine.administrator
    shutil.rmtree(machine.root / "opt" / "jiyi", ignore_errors=True)
    administrator.receive(wheel, "dist")
    administrator.run("python3 -m venv /opt/jiyi && /opt/jiyi/bin/pip install --quiet dist/*.whl")
    shutil.rmtree(administrator.path("dist"))
    return "/opt/jiyi/bin"
