"""``manage.py evaluate_retrieval`` from the folder to the figures, and each figure of merit by hand."""

from __future__ import annotations

import json
import math
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.core.beir import read_folders
from apps.memory.management.commands import evaluate_retrieval
from apps.memory.management.commands.evaluate_retrieval import (
    compute_hit,
    compute_ndcg,
    compute_recall,
    compute_reciprocal_rank,
)
from apps.memory.models import AtomicEmbedding, AtomicMemory, Change

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.spec("A4"),
    pytest.mark.long_except("test_recall_and_hit", "test_reciprocal_rank", "test_ndcg_weighs_grades_and_places"),
]

ROWS = [
    ("u1/0", "u1", "s1", "小林", "我养了一只叫咪咪的猫。"),
    ("u1/1", "u1", "s1", "小林", "我昨天搬到了上海。"),
    ("u1/2", "u1", "s2", "小林", "我昨天搬到了上海。"),
    ("u2/0", "u2", "s1", "Sam", "I play the piano every evening."),
    ("u2/1", "u2", "s1", "Sam", "My sister lives in Berlin."),
]
QUERIES = [
    ("q0", "u1", "pets", "咪咪是谁", {"u1/0": 1}),
    ("q1", "u1", "moves", "搬到上海", {"u1/1": 1, "u1/2": 1}),
    ("q2", "u2", "moves", "Where does my sister live, Berlin?", {"u2/1": 1}),
    ("q3", "u2", "moves", "咪咪是谁", {"u2/0": 1}),  # the answer is another person's
    ("q4", "u2", "moves", "not judged", {}),
]


def write_folder(folder: Path, *, judgements: str | None = None) -> Path:
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {
            "_id": row_id,
            "text": text,
            "metadata": {
                "user_id": user,
                "session_id": session,
                "role": "user",
                "speaker": speaker,
                "timestamp": "2024-03-01T10:00:00",
            },
        }
        for row_id, user, session, speaker, text in ROWS
    ]
    queries = [
        {"_id": query_id, "text": text, "metadata": {"user_id": user, "category": category}}
        for query_id, user, category, text, _relevant in QUERIES
    ]
    lines = [f"{query[0]}\t{row_id}\t{grade}" for query in QUERIES for row_id, grade in query[4].items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), "utf-8")
    (folder / "qrels" / "test.tsv").write_text(
        judgements or "\n".join(["query-id\tcorpus-id\tscore", *lines, ""]), "utf-8"
    )
    return folder


def evaluate(*folders: Path, **options: Any) -> str:
    output = StringIO()
    call_command("evaluate_retrieval", *map(str, folders), stdout=output, stderr=StringIO(), **options)
    return output.getvalue()


@pytest.fixture
def somebody() -> User:
    return User.objects.create(username="somebody")


def left_over() -> list[Any]:
    return [
        *User.objects.exclude(username="somebody"),
        *AtomicMemory.objects.all(),
        *AtomicEmbedding.objects.all(),
        *Session.objects.all(),
        *Change.objects.all(),
    ]


def test_the_figures(tmp_path: Path, somebody: User) -> None:
    target = tmp_path / "figures.json"
    printed = evaluate(write_folder(tmp_path / "small"), json=target)
    (figures,) = json.loads(target.read_text("utf-8")).values()
    assert list(figures) == [
        *("recall@5", "recall@10", "mrr", "ndcg@10", "hit@5", "hit@10", "p50_ms", "p95_ms", "queries", "categories")
    ]
    assert (figures["queries"], figures["recall@5"], figures["hit@10"], figures["mrr"]) == (4, 1.0, 1.0, 0.875)
    assert figures["ndcg@10"] == pytest.approx(0.908, abs=0.001)
    assert 0 < figures["p50_ms"] <= figures["p95_ms"]
    pets, moves = figures["categories"]["pets"], figures["categories"]["moves"]
    assert (pets["queries"], pets["recall@5"]) == (1, 1.0)
    assert (moves["queries"], moves["recall@5"]) == (3, 1.0)
    assert "categories" not in pets
    assert [line.split("│")[1].strip() for line in printed.splitlines() if "│" in line] == ["all", "moves", "pets"]
    assert "small" in printed
    assert (left_over(), User.objects.get()) == ([], somebody)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, somebody: User, number: signal.Signals
) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def interrupt(**options: Any) -> Any:
        assert len(left_over()) > 0
        signal.raise_signal(number)

    monkeypatch.setattr(evaluate_retrieval, "retrieve_atomic_memories", interrupt)
    with pytest.raises(CommandError, match="Stopped") as stopped:
        evaluate(write_folder(tmp_path / "small"))
    assert stopped.value.returncode == 130
    assert left_over() == []
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_folders_of_one_name_are_told_apart_and_one_given_twice_counts_once(tmp_path: Path) -> None:
    first, second = write_folder(tmp_path / "a" / "dev"), write_folder(tmp_path / "b" / "dev")
    other = write_folder(tmp_path / "other")
    names = [folder.name for folder in read_folders([first, second, other, tmp_path / "a" / ".." / "a" / "dev"])]
    assert names == [str(first.resolve()), str(second.resolve()), "other"]


@pytest.mark.parametrize(
    ("judgements", "reason"),
    [
        ("h\nq9\tu1/0\t1", "test.tsv:2: there is no query 'q9'"),
        ("h\nq0\tu9/0\t1", "test.tsv:2: there is no row 'u9/0' in corpus.jsonl"),
        ("h\nq0\tu1/0\tyes", "test.tsv:2: the grade 'yes' is not a whole number"),
        ("h\nq0 u1/0 1", "test.tsv:2: must be a query ID"),
        ("h\nq0\tu2/0\t1", "queries.jsonl:1: 'u2/0' is to answer it, and belongs to 'u2'"),
        ("h\nq0\tu1/0\t0", "no query has a relevant row"),
    ],
)
def test_a_bad_folder_is_refused_before_anything_is_stored(tmp_path: Path, judgements: str, reason: str) -> None:
    good, bad = write_folder(tmp_path / "good"), write_folder(tmp_path / "bad", judgements=judgements)
    with pytest.raises(CommandError) as refused:
        evaluate(good, bad)
    assert reason in str(refused.value)
    assert left_over() == []


def test_a_folder_without_queries_and_depths_out_of_range_are_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "small")
    for depth in (0, 51):
        with pytest.raises(CommandError, match="1 to 50"):
            evaluate(folder, k=[5, depth])
    (folder / "queries.jsonl").unlink()
    with pytest.raises(CommandError, match=r"queries\.jsonl: cannot be read: No such file"):
        evaluate(folder)


RANKED = ["a", "b", "c", "d"]


@pytest.mark.parametrize(("k", "recall", "hit"), [(1, 0, 0), (2, 1 / 3, 1), (4, 2 / 3, 1), (9, 2 / 3, 1)])
def test_recall_and_hit(k: int, recall: float, hit: float) -> None:
    relevant = {"b": 1, "d": 1, "x": 1}
    assert compute_recall(RANKED, relevant, k=k) == pytest.approx(recall)
    assert compute_hit(RANKED, relevant, k=k) == hit


def test_reciprocal_rank() -> None:
    assert compute_reciprocal_rank(RANKED, {"c": 1, "d": 1}) == pytest.approx(1 / 3)
    assert compute_reciprocal_rank(RANKED, {"x": 1}) == 0
    assert compute_reciprocal_rank([], {"x": 1}) == 0


def test_ndcg_weighs_grades_and_places() -> None:
    gain = 1 / math.log2(3) + 3 / math.log2(5)
    best = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert compute_ndcg(RANKED, {"b": 1, "d": 3, "x": 2}, k=10) == pytest.approx(gain / best)
    assert compute_ndcg(RANKED, {"b": 1, "d": 3}, k=2) == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert compute_ndcg(["x", "y"], {"x": 2, "y": 1}, k=10) == 1
