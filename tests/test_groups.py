"""Each test is in exactly one of the groups that `make test` and `make test-long` run, or it would never run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.groups import FOLDERS, NAMED_GROUPS, list_commands


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
