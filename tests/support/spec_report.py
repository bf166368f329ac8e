"""Which tests prove which requirement: a pytest plugin that records it, and the report of ``make spec``.

The plugin (``--spec-results=FILE``) writes ``{ID: {test: outcome}}`` for the tests marked ``@pytest.mark.spec(...)``,
an outcome being ``passed``, ``failed`` or ``skipped``. ``python -m tests.support.spec_report FOLDER`` puts all files of
a folder together, as the browser and model tests run in processes of their own, and the long tests in runs of their own
(``long-*.json``). Every requirement is proven by at least one test.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

_DOCS = Path(__file__).resolve().parents[2] / "docs"

# The property of a test's report that names a requirement it proves.
_SPEC = "spec"

# Outcome by requirement ID and test.
Outcomes = Mapping[str, Mapping[str, str]]


class SpecRecorder:
    """Collects the outcome of every marked test. A test counts as passed when no phase of it failed.

    The IDs travel with the reports: under pytest-xdist tests are collected and run in other processes than this one.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.ids: dict[str, list[str]] = {}
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = [str(value) for name, value in report.user_properties if name == _SPEC]
        if ids and report.outcome != "rerun" and self.outcomes.get(report.nodeid) in (None, "passed"):
            self.ids[report.nodeid] = ids
            self.outcomes[report.nodeid] = report.outcome

    def pytest_sessionfinish(self) -> None:
        by_id: dict[str, dict[str, str]] = {}
        for test, ids in self.ids.items():
            for name in ids:
                by_id.setdefault(name, {})[test] = self.outcomes[test]
        self.results.parent.mkdir(parents=True, exist_ok=True)
        self.results.write_text(json.dumps(by_id, ensure_ascii=False, indent=1, sort_keys=True))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec-results", type=Path, help="write which requirement IDs the tests prove to this file")


@cache
def read_titles() -> dict[str, str]:
    """Return the title of every requirement by its ID."""
    groups = tomllib.loads((_DOCS / "requirements.toml").read_text())
    return {name: title for group in groups.values() for name, title in group.items()}


def pytest_itemcollected(item: pytest.Item) -> None:
    names = [str(name) for mark in item.iter_markers("spec") for name in mark.args]
    if unknown := set(names) - read_titles().keys():
        raise pytest.UsageError(f"{item.nodeid}: {', '.join(sorted(unknown))} is not in docs/requirements.toml.")
    item.user_properties += [(_SPEC, name) for name in names]


def pytest_configure(config: pytest.Config) -> None:
    results = config.getoption("--spec-results")
    if results and not hasattr(config, "workerinput"):  # a worker of pytest-xdist sends its reports to us
        config.pluginmanager.register(SpecRecorder(results), "spec-recorder")


def find_problems(known: Iterable[str], outcomes: Outcomes) -> list[str]:
    """What is wrong, a sentence each: an ID that is not proven, or not passing."""
    problems = list[str]()
    for name in known:
        tests = outcomes.get(name, {})
        problems += [] if tests else [f"{name} has no test."]
        problems += [f"{name}: {test} {outcome}." for test, outcome in sorted(tests.items()) if outcome != "passed"]
    return problems


def merge_outcomes(files: Iterable[Path]) -> dict[str, dict[str, str]]:
    """All result files as one."""
    merged: dict[str, dict[str, str]] = {}
    for file in files:
        for name, tests in json.loads(file.read_text()).items():
            merged.setdefault(name, {}).update(tests)
    return merged


def main() -> None:
    titles = read_titles()
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    outcomes = merge_outcomes(files)

    table = Table("ID", "Requirement", "Proven by", title="Requirements")
    for name, title in titles.items():
        tests = outcomes.get(name, {})
        proof = "\n".join(f"{outcome}  {test}" for test, outcome in sorted(tests.items()))
        table.add_row(name, title, proof or "NO TEST", end_section=True)
    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False)
    console.print(table)

    problems = find_problems(titles, outcomes)
    for problem in problems:
        console.print(problem)
    proven = sum(1 for name in titles if name in outcomes)
    console.print(f"{len(titles)} requirements: {proven} proven, {len(problems)} problems.")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
