"""A folder in BEIR's layout for tests of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path


def write_folder(path: Path, *, people: dict[str, int]) -> Path:
    """A folder in which each of these has so many rows, and a query for the first of them."""
    rows, queries, judgements = [], [], ["query-id\tcorpus-id\tscore"]
    for user, count in people.items():
        for number in range(count):
            metadata = {"user_id": user, "session_id": f"{user}-1", "role": "user", "speaker": user}
            metadata["timestamp"] = "2026-01-01T12:00:00"
            rows.append({"_id": f"{user}-{number}", "text": f"{user} likes tea {number}", "metadata": metadata})
        queries.append({"_id": f"q-{user}", "text": "Which tea?", "metadata": {"user_id": user, "category": "one"}})
        judgements.append(f"q-{user}\t{user}-0\t1")
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (path / "qrels/test.tsv").write_text("\n".join(judgements))
    return path
