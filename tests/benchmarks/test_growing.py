"""The comparison with mem0 and the benchmark of scale really run, as anybody would run them, and stop when told to."""

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

from benchmarks.environments import NotInstalled, install
from tests.benchmarks.folders import write_folder
from tests.support.processes import find_processes, wait_until

PROJECT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n"

UNREACHABLE = re.compile(r"error sending request|dns error|failed to fetch|name resolution|unreachable|timed out", re.I)
"""What installers say when the package index does not answer."""


def run(module: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=800, check=False)


@pytest.fixture
def mem0() -> None:
    """mem0's environment, which the benchmark installs; without the package index there is nothing to compare with."""
    try:
        install("mem0")
    except NotInstalled as error:
        if not UNREACHABLE.search(str(error)):
            raise
        pytest.skip("The package index cannot be reached.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tea", people={"ann": 12, "bo lee": 11})


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Where a benchmark makes its temporary folders; the servers' account may enter it."""
    path = Path(tempfile.mkdtemp(prefix="jiyi-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.long
@pytest.mark.usefixtures("mem0")
def test_both_are_measured_in_the_same_run(folder: Path, tmp_path: Path) -> None:
    figures, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    amounts = ["--sizes", "40", "100", "--questions", "6", "--adds", "5", "--clients", "3", "--seconds", "1"]
    done = run("compare_mem0", folder, *amounts, "--json", figures, "--png", picture)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    assert picture.read_bytes().startswith(PNG)
    for side in ("Jiyi", "mem0"):
        assert report["recall"]["tea"][side]["queries"] == 2
        assert report["recall"]["tea"][side]["recall@10"] > 0
    assert [(size["memories"], size["people"]) for size in report["sizes"]] == [(40, 4), (100, 10)]
    for size in report["sizes"]:
        assert 0 <= size["mem0_index_share"] <= 1
        for side in ("Jiyi", "mem0"):
            assert size["search"][side]["queries"] == 6
            assert size["search"][side]["results"] > 5  # whatever was loaded is found
            assert 0 < size["search"][side]["p50_ms"] <= size["search"][side]["p95_ms"]
            assert size["searches_per_second"][side] > 0
            assert min(size["add"][side].values()) > 0
    assert "Recall of the gold evidence" in done.stdout


@pytest.mark.long
@pytest.mark.usefixtures("mem0")
def test_an_interrupted_comparison_leaves_nothing_behind(folder: Path, temporary: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.compare_mem0", str(folder), "--sizes", "5000"]
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        wait_until(lambda: "mem0_program" in " ".join(find_processes(temporary).values()))
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 130, output
    assert "Stopped. Processes were ended, temporary folders deleted." in output
    assert find_processes(temporary) == {}
    assert list(temporary.iterdir()) == []


@pytest.mark.long
def test_what_cannot_be_compared_is_refused(folder: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([tmp_path / "none"], "corpus.jsonl: cannot be read: No such file or directory"),
        ([folder, "--sizes", "5"], "smaller than that of the first person with queries"),
        ([folder, "--questions", "1"], "--questions has to be at least 2"),
    ):
        done = run("compare_mem0", *arguments)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())


@pytest.mark.long
def test_one_database_grows_and_is_measured_at_each_size(tmp_path: Path) -> None:
    figures, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    amounts = ["--sizes", "400", "1200", "--users", "20", "--big", "300", "--pool", "50"]
    amounts += ["--questions", "4", "--judged", "4", "--adds", "10"]
    done = run("scale", *amounts, "--json", figures, "--png", picture)
    assert done.returncode == 0, done.stdout + done.stderr
    assert picture.read_bytes().startswith(PNG)
    sizes: list[dict[str, Any]] = json.loads(figures.read_text())["sizes"]
    assert [(size["memories"], size["load"]["rows"]) for size in sizes] == [(400, 400), (1_200, 800)]
    assert [size["groups"]["big"]["memories_of_each"] for size in sizes] == [200, 300]
    assert sizes[0]["groups"]["steady"]["memories_of_each"] == sizes[1]["groups"]["steady"]["memories_of_each"]
    for size in sizes:
        for group in size["groups"].values():
            assert group["recall"] == 1.0  # with so few memories all vectors are compared
            assert 0 < group["given"]["p50"] <= group["given"]["p95"]
            assert 0 < group["included"]["p50"] <= group["included"]["p95"]
        assert min(size["service"].values()) > 0
        assert {"atomic_memory", "atomic_embedding", "atomic_embedding_hnsw"} <= size["disk_mib"].keys()
        assert size["server_memory_mib"]["shared"] > 10
    assert sizes[0]["disk_mib"]["atomic_embedding"] < sizes[1]["disk_mib"]["atomic_embedding"]
    assert "Search, milliseconds, p50 / p95" in done.stdout


@pytest.mark.long
def test_whole_tables_and_partitions_are_measured_by_turns(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    amounts = ["--memories", "200", "--users", "10", "--partitions", "3", "--questions", "2"]
    done = run("partitions", *amounts, "--json", figures)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    for what in ("search", "store"):
        for kind in ("whole", "partitions"):
            assert 0 < report[what][kind]["p50"] <= report[what][kind]["p95"]
    assert "200 memories of 10 people" in done.stdout


@pytest.mark.long
def test_sizes_that_cannot_be_shared_are_refused() -> None:
    for arguments, message in (
        (["--sizes", "100", "--users", "60"], "the smallest size must be at least twice the number of users"),
        (["--users", "5"], "there must be at least 6 users"),
        (["--json", "no/such/folder/figures.json"], "no/such/folder/figures.json cannot be written"),
        (["--judged", "0"], "everything else at least 1"),
    ):
        done = run("scale", *arguments)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
