"""The requirement table has to fail whenever a requirement is not known, not proven or not passing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.support.spec_report import find_problems, merge_outcomes

PROJECT = Path(__file__).resolve().parents[1]


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


def test_every_id_is_listed_under_its_letter_with_a_title() -> None:
    groups = tomllib.loads((PROJECT / "docs" / "requirements.toml").read_text())
    expected = {"C": 9, "E": 6, "W": 5, "H": 3, "L": 10, "K": 9, "A": 4, "U": 3, "S": 5, "V": 5, "X": 3, "T": 4, "G": 1}
    expected |= {"R": 3, "M": 7}
    assert {letter: list(ids) for letter, ids in groups.items()} == {
        letter: [f"{letter}{number}" for number in range(1, count + 1)] for letter, count in expected.items()
    }
    assert all(title for ids in groups.values() for title in ids.values())
