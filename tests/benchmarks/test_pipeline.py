"""The benchmark of the pipeline really runs, as anybody would run it, on folders of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SAID = {
    "lin": ("你好！", "我住在北京。", "我喜欢喝绿茶。", "我的狗叫豆豆。", "你喜欢什么？", "我对花生过敏。", "谢谢！"),
    "ann": (
        "Hi!",
        "I live in Berlin.",
        "My dog is called Max.",
        "I work as a nurse.",
        "Thank you!",
        "I play the cello.",
    ),
    "wu": (
        "我搬到上海了。",
        "I am vegetarian.",
        "我妹妹叫小雨。",
        "My birthday is on May 5th.",
        "好的",
        "I have two cats.",
        "？",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty messages of three people, in two sessions each, with the replies that a replay leaves out."""
    rows = [
        {
            "_id": f"{user}-{number}-{role}",
            "text": text,
            "metadata": {
                "user_id": user,
                "session_id": f"s{number // 4}",
                "role": role,
                "speaker": user,
                "timestamp": f"2026-05-0{1 + number // 4}T10:0{number}:00",
            },
        }
        for user, messages in SAID.items()
        for number, message in enumerate(messages)
        for role, text in (("user", message), ("assistant", "I see."))
    ]
    folder = tmp_path / "diary"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.pipeline", *map(str, arguments)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=800, check=False)


@pytest.mark.long
def test_it_replays_the_folder_and_judges_what_was_remembered(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = run(folder, "--turns", "20", "--clients", "2", "--show", "--json", file)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text(encoding="utf-8"))
    assert (report["turns"], report["failed_turns"]) == (20, {})
    assert (report["work_left"], report["failed_work"]) == (0, {})
    # Each message and each reply, and no summary: no session has more than twenty messages.
    assert report["messages"] == report["embedded"] == 40
    for slowdown in (report["first_token"], report["end"]):
        for percentile in ("p50", "p95"):
            ratio = slowdown["busy"][percentile] / slowdown["idle"][percentile]
            assert slowdown[f"ratio_{percentile}"] == pytest.approx(ratio, abs=0.01)
    assert report["memories"]["long-term"]["active"] >= 8
    assert report["memories"]["atomic"]["active"] >= 8
    assert (report["without_vector"], report["repeats"], report["near_pairs"]["same words"], report["junk"]) == (
        0,
        0,
        0,
        0,
    )
    programs = {process["program"]: process for process in report["processes"]}
    assert {name.partition(" ")[0] for name in programs} == {"beat", "postgres", "web", "worker"}
    assert all(process["peak_mb"] > 20 for process in programs.values())
    assert all(programs[name]["cpu_seconds"] > 0 for name in programs if name != "beat")  # it sleeps for seconds
    assert "20 turns, 2 at once" in done.stdout


@pytest.mark.long
def test_what_makes_no_sense_is_refused_before_anything_is_started(folder: Path, tmp_path: Path) -> None:
    for arguments, reason in (
        ((folder, "--turns", "7"), "--turns has to be at least 8"),
        ((folder, "--turns", "21"), "the folders hold 20 messages of users, not 21"),
        ((tmp_path / "none", "--turns", "20"), "corpus.jsonl: cannot be read"),
    ):
        done = run(*arguments)
        assert done.returncode != 0
        assert reason in done.stderr
