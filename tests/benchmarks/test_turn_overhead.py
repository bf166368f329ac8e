"""The benchmark of a turn's overhead really runs, as anybody would run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.turn_overhead", *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=800, check=False)


@pytest.mark.long
@pytest.mark.parametrize("door", ["rest", "openai"])
def test_it_measures_turns_against_the_same_calls_without_us(tmp_path: Path, door: str) -> None:
    file = tmp_path / "figures.json"
    done = run("--door", door, "--memories", "3", "40", "--turns", "2", "--json", str(file))
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert [(result["memories"], result["turns"]) for result in report["results"]] == [(3, 2), (40, 2)]
    for result in report["results"]:
        first, end = result["first_token"], result["end"]
        assert 0 < result["opening"]["p50"] < first["turn"]["p50"] < end["turn"]["p50"]
        assert 0 < first["direct"]["p50"] < end["direct"]["p50"]
        # With two pairs the median is the mean, and so the differences add up.
        assert abs(first["turn"]["p50"] - first["direct"]["p50"] - first["overhead"]["p50"]) < 0.1
    assert "Milliseconds, p50 / p95" in done.stdout


@pytest.mark.long
def test_what_makes_no_sense_is_refused() -> None:
    for arguments in (("--turns", "1"), ("--memories", "5", "5"), ("--memories", "-1")):
        done = run(*arguments)
        assert done.returncode == 2
        assert "--turns has to be at least 2" in done.stderr
