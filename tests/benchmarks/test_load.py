"""The load benchmark really runs, as anybody would run it, and nothing fails in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_streams_and_reads_at_once(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.load", "--streams", "6", "--reads", "5", "--seconds", "15"]
    done = subprocess.run(
        [*command, "--people", "3", "--json", str(file)],
        cwd=PROJECT, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    counts = {entry["name"]: entry["num_requests"] for entry in report["requests"]}
    assert counts["first token"] >= 6
    assert counts["stream of a turn"] >= 6
    assert report["web_peak_mib"] > 50
