"""The groups run beside each other: each test is in exactly one of them, and a failure of any command is a failure."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.groups import AFTER, FOLDERS, GROUPS, NAMED_GROUPS, Group, list_commands


@pytest.mark.parametrize("marks", [set(), {"e2e"}, {"llm"}, {"clients"}, {"long"}, {"e2e", "long"}, {"llm", "long"}])
def test_every_test_is_in_one_group_and_in_one_of_the_two_runs(marks: set[str]) -> None:
    names = {name: name in marks for name in ("e2e", "llm", "clients", "long")}
    runs = [
        (group, long)
        for group in NAMED_GROUPS
        for long in (False, True)
        for command in [list_commands(group, long=long, workers="2")[-1]]
        if eval(command[command.index("-m", 3) + 1], {}, names)
    ]
    assert runs == [(next(iter(marks - {"long"}), "unit"), "long" in marks)]


def test_no_marked_test_stands_outside_the_folder_of_its_group() -> None:
    tests = Path(__file__).parent
    for group, folder in FOLDERS.items():
        marked = {path for path in tests.rglob("test_*.py") if re.search(rf"mark\.{group}\b", path.read_text())}
        assert {path for path in marked if not path.is_relative_to(tests.parent / folder)} == set()


def test_only_a_name_runs_the_programs_of_others() -> None:
    assert {*NAMED_GROUPS} - {*GROUPS} == {"clients"}


def test_each_run_of_a_group_writes_results_of_its_own() -> None:
    commands = [list_commands(group, long=long, workers="2")[-1] for group in NAMED_GROUPS for long in (False, True)]
    files = [option for command in commands for option in command if option.startswith("--spec-results=")]
    assert len(files) == len({*files}) == 8


@pytest.mark.parametrize(("statuses", "status", "runs"), [((0, 0), 0, 2), ((0, 3), 3, 2), ((3, 0), 3, 1)])
def test_a_group_ends_with_its_first_command_that_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], statuses: tuple[int, ...], status: int, runs: int
) -> None:
    group = Group("some", [[sys.executable, "-c", f"print('ran'); exit({each})"] for each in statuses])
    group.wait()
    assert group.status == status
    assert capfd.readouterr().out == "some | ran\n" * runs


def test_a_group_waits_for_the_one_before_it_even_if_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    first = Group("first", [[sys.executable, "-c", f"print('ran'); exit({status})"] for status in (0, 0, 1)])
    second = Group("second", [[sys.executable, "-c", "print('ran')"]], after=first)
    second.wait()
    assert (first.status, second.status) == (1, 0)
    assert capfd.readouterr().out == "first | ran\n" * 3 + "second | ran\n"


def test_groups_begin_after_groups_that_begin_before_them() -> None:
    for group, before in AFTER.items():
        assert GROUPS.index(before) < GROUPS.index(group)


@pytest.mark.parametrize(("status", "again"), [(0, ""), (1, "some | its last lines again:\nsome | FAILED here\n")])
def test_a_failure_is_told_again_at_the_end(capfd: pytest.CaptureFixture[str], status: int, again: str) -> None:
    group = Group("some", [[sys.executable, "-c", f"print('FAILED here'); exit({status})"]])
    group.wait()
    capfd.readouterr()
    group.repeat_failure()
    assert capfd.readouterr().out == again


@pytest.mark.long
def test_the_tests_that_failed_or_ran_again_are_known_by_their_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long their reasons are: pytest prints these whole where it sees the environment of a CI."""
    lines = "import pytest", "runs = []", "@pytest.fixture", "def broken(): raise OSError('x\\n' * 300)"
    tests = 'def test_a(): assert "y\\n" * 300 == ""', "def test_b(broken): pass", "def test_c(): pass"
    again = "@pytest.mark.flaky(reruns=1)", "def test_d(): runs.append(1); assert len(runs) == 2"
    (tmp_path / "test_some.py").write_text("\n".join([*lines, *tests, *again]))
    monkeypatch.chdir(tmp_path)
    pytest_alone = [sys.executable, "-m", "pytest", "-q", "-p", "no:django", "--rootdir=.", "-c", os.devnull]
    group = Group("some", [[*pytest_alone, "--rerun-show-tracebacks"]])
    group.wait()
    capfd.readouterr()
    names = ["ERROR test_some.py::test_b", "FAILED test_some.py::test_a", "RERUN test_some.py::test_d"]
    assert sorted(group.listed) == names
