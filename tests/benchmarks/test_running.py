"""The benchmarks really run, as anybody would run them, and refuse what makes no sense."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.folders import write_folder
from tests.clients.environments import PROJECT, install_python
from tests.support.processes import find_processes, wait_until

pytestmark = pytest.mark.long

# What installers say when the package index does not answer.
UNREACHABLE = re.compile(r"error sending request|dns error|failed to fetch|name resolution|unreachable|timed out", re.I)


def run(module: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=800, check=False)


def measure(module: str, *arguments: str | Path) -> tuple[dict[str, Any], str]:
    """Run a benchmark; return its report and what it printed."""
    with tempfile.NamedTemporaryFile() as file:
        done = run(module, *arguments, "--json", file.name)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.load(file), done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tea", people={"ann": 12, "bo lee": 11})


@pytest.mark.parametrize("door", ["rest", "openai"])
def test_turns_are_measured_against_the_same_calls_without_us(door: str) -> None:
    report, printed = measure("turn_overhead", "--door", door, "--memories", "3", "40", "--turns", "2")
    assert [(result["memories"], result["turns"]) for result in report["results"]] == [(3, 2), (40, 2)]
    for result in report["results"]:
        first, end = result["first_token"], result["end"]
        assert 0 < result["opening"]["p50"] < first["turn"]["p50"] < end["turn"]["p50"]
        assert 0 < first["direct"]["p50"] < end["direct"]["p50"]
        # With two pairs the median is the mean, and so the differences add up.
        assert abs(first["turn"]["p50"] - first["direct"]["p50"] - first["overhead"]["p50"]) < 0.1
    assert "Milliseconds, p50 / p95" in printed


def test_what_was_sent_before_is_found_again_in_the_next_prompt() -> None:
    report, printed = measure("prompt_cache", "--turns", "3")
    for in_order, as_sent in report.values():
        assert 0.2 < in_order < as_sent < 1
    assert list(report) == ["zh", "en"]
    assert "seen before" in printed


def test_streams_and_reads_at_once() -> None:
    report, _printed = measure("load", "--streams", "6", "--reads", "5", "--seconds", "15", "--people", "3")
    counts = {entry["name"]: entry["num_requests"] for entry in report["requests"]}
    assert counts["first token"] >= 6
    assert counts["stream of a turn"] >= 6
    assert report["web_peak_mib"] > 50


def test_one_database_grows_and_is_measured_at_each_size() -> None:
    amounts = ["--sizes", "400", "1200", "--users", "20", "--big", "300", "--pool", "50"]
    report, printed = measure("scale", *amounts, "--questions", "4", "--judged", "4")
    few, many = report["sizes"]
    assert [few["memories"], many["memories"]] == [400, 1_200]
    big, steady = "the one with very many", "people who stay the same"
    assert [size["groups"][big]["memories_of_each"] for size in (few, many)] == [200, 300]
    assert few["groups"][steady]["memories_of_each"] == many["groups"][steady]["memories_of_each"]
    for size in (few, many):
        for group in size["groups"].values():
            assert group["recall"] == 1.0  # with so few memories all vectors are compared
            assert 0 < group["milliseconds"]["p50"] <= group["milliseconds"]["p95"]
    assert few["disk_mib"] < many["disk_mib"]
    assert "Search, milliseconds, p50 / p95" in printed


def test_weights_are_trained(folder: Path) -> None:
    done = run("train_ranking", folder, "--dry-run", "--ablate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[statement]" in done.stdout
    assert "without words" in done.stdout


def test_recall_is_measured_without_a_model(folder: Path) -> None:
    report, printed = measure("answers", folder, "--limit", "1")
    (figures,) = report["sets"].values()
    assert (figures["questions"], figures["losses"]) == (1, {"questions without a reference": 1})
    assert list(figures["sides"]) == ["memories: Jiyi", "memories: BM25"]
    assert "recall@5 / recall@10" in printed


@pytest.fixture
def mem0() -> None:
    """mem0's environment, which the benchmark installs; without the package index there is nothing to compare with."""
    try:
        install_python("mem0", lock=PROJECT / "requirements" / "mem0.txt")
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        if isinstance(error, RuntimeError) and not UNREACHABLE.search(str(error)):
            raise
        pytest.skip("The package index cannot be reached.")


@pytest.mark.usefixtures("mem0")
def test_both_sides_are_measured_in_the_same_run(folder: Path) -> None:
    report, printed = measure("compare_mem0", folder, "--sizes", "40", "100", "--questions", "6", "--adds", "5")
    for side in ("Jiyi", "mem0"):
        assert report["recall"]["tea"][side]["recall@10"] > 0
    assert [(size["memories"], size["people"]) for size in report["sizes"]] == [(40, 4), (100, 10)]
    for size in report["sizes"]:
        for side in ("Jiyi", "mem0"):
            assert size["search"][side]["results"] > 5  # whatever was added is found
            assert 0 < size["search"][side]["p50_ms"] <= size["search"][side]["p95_ms"]
            assert min(figures[side] for name, figures in size.items() if name.startswith("add_")) > 0
    assert "Recall of the gold evidence" in printed


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Where a benchmark makes its temporary folders; the servers' account may enter it."""
    path = Path(tempfile.mkdtemp(prefix="jiyi-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_leaves_nothing_behind(temporary: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "benchmarks.turn_overhead", "--memories", "1000"]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: "uvicorn" in " ".join(find_processes(temporary).values()))
        process.send_signal(number)
        process.wait(timeout=200)
    assert find_processes(temporary) == {}
    assert list(temporary.iterdir()) == []
