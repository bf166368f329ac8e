"""The requirement table has to fail whenever a requirement is not known, not proven or not passing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.spec_report import find_problems, merge_outcomes

PROJECT = Path(__file__).resolve().parents[1]
MARKED_TESTS = """
import pytest

@pytest.fixture
def broken():
    yield
    raise RuntimeError

@pytest.mark.spec("K1", "K2")
def test_good(): pass

@pytest.mark.spec("K2")
def test_bad(): assert False

@pytest.mark.spec("K3")
def test_broken_afterwards(broken): pass

@pytest.mark.spec("K3")
@pytest.mark.skip
def test_skipped(): pass

def test_unmarked(): pass
"""


def test_nothing_is_wrong_when_every_id_is_proven_or_not_yet_due() -> None:
    assert find_problems(known=["K1", "K2"], not_yet=["K2"], outcomes={"K1": {"test_a": "passed"}}) == []


@pytest.mark.parametrize(
    ("not_yet", "outcomes", "problem"),
    [
        ([], {}, "K1 has no test and is not listed as not yet due."),
        (["K1"], {"K1": {"t": "passed"}}, "K1 has tests, so it has to leave docs/requirements_not_yet.txt."),
        ([], {"K1": {"t": "failed"}}, "K1: t failed."),
        ([], {"K1": {"t": "passed", "u": "skipped"}}, "K1: u skipped."),
        (["K1"], {"Z9": {"t": "passed"}}, "Z9 is not in docs/requirements.toml."),
        (["K1", "Z9"], {}, "Z9 is not in docs/requirements.toml."),
    ],
)
def test_everything_else_is_a_problem(not_yet: list[str], outcomes: dict[str, dict[str, str]], problem: str) -> None:
    assert find_problems(known=["K1"], not_yet=not_yet, outcomes=outcomes) == [problem]


def test_results_of_several_processes_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "unit.json").write_text(json.dumps({"C6": {"test_a": "passed"}, "K1": {"test_b": "passed"}}))
    (tmp_path / "e2e.json").write_text(json.dumps({"C6": {"test_c": "failed"}}))
    assert merge_outcomes(sorted(tmp_path.glob("*.json"))) == {
        "C6": {"test_a": "passed", "test_c": "failed"},
        "K1": {"test_b": "passed"},
    }


@pytest.mark.long
def test_the_plugin_records_outcomes_of_marked_tests(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MARKED_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = spec(*ids)\n")
    results = tmp_path / "out" / "spec.json"
    options = ["-p", "tests.support.spec_report", f"--rootdir={tmp_path}", f"--spec-results={results}"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", tmp_path / "pytest.ini", *options, tmp_path],
        cwd=PROJECT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert json.loads(results.read_text()) == {
        "K1": {"test_it.py::test_good": "passed"},
        "K2": {"test_it.py::test_good": "passed", "test_it.py::test_bad": "failed"},
        "K3": {"test_it.py::test_broken_afterwards": "failed", "test_it.py::test_skipped": "skipped"},
    }


def test_every_id_is_listed_under_its_letter_with_a_title() -> None:
    groups = tomllib.loads((PROJECT / "docs" / "requirements.toml").read_text())
    expected = {"C": 9, "E": 6, "W": 5, "H": 3, "L": 10, "K": 9, "A": 4, "U": 3, "S": 5, "V": 5, "X": 3, "T": 4, "G": 1}
    expected |= {"R": 3, "M": 7}
    assert {letter: list(ids) for letter, ids in groups.items()} == {
        letter: [f"{letter}{number}" for number in range(1, count + 1)] for letter, count in expected.items()
    }
    assert all(title for ids in groups.values() for title in ids.values())
