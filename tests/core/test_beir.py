"""Reading BEIR folders: what a row means, and a clear word about the first one that is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apps.core.beir import CorpusRow, InvalidFolder, read_corpus

METADATA = {"user_id": "u1", "session_id": "s1", "role": "user", "speaker": "小林", "timestamp": "2024-03-01"}


def make_row(**changes: Any) -> dict[str, Any]:
    metadata = {**METADATA, **changes.pop("metadata", {})}
    return {"_id": "u1/0", "title": "", "text": "你好", "metadata": metadata, **changes}


def write_corpus(folder: Path, *lines: dict[str, Any] | str | bytes) -> Path:
    encoded = [
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    (folder / "corpus.jsonl").write_bytes(b"\n".join([*encoded, b""]))
    return folder


def test_rows_come_back_in_order_with_their_place(tmp_path: Path) -> None:
    second = make_row(
        _id="u1/1",
        text="Hello\u2028there",  # a separator of lines to Python's splitlines, and not to JSON lines
        metadata={"role": "assistant", "speaker": "AI", "timestamp": "2024-03-01T10:30:00+08:00"},
    )
    folder = write_corpus(tmp_path, json.dumps(make_row(), ensure_ascii=False), "", second)
    assert read_corpus(folder) == [
        CorpusRow(
            id="u1/0",
            text="你好",
            user_id="u1",
            session_id="s1",
            role="user",
            speaker="小林",
            timestamp=datetime(2024, 3, 1, tzinfo=UTC),
            where=f"{tmp_path}/corpus.jsonl:1",
        ),
        CorpusRow(
            id="u1/1",
            text="Hello\u2028there",
            user_id="u1",
            session_id="s1",
            role="assistant",
            speaker="AI",
            timestamp=datetime(2024, 3, 1, 2, 30, tzinfo=UTC),
            where=f"{tmp_path}/corpus.jsonl:3",
        ),
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "is not valid JSON"),
        (b"\xff\xfe", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ({**make_row(), "metadata": None}, "metadata must be an object"),
        (make_row(_id=7), "_id must be text that is not blank"),
        (make_row(_id="u1/0"), "_id 'u1/0' was used before, at {folder}/corpus.jsonl:1"),
        (make_row(_id="x", text=" \n"), "text must be text that is not blank"),
        (make_row(_id="x", text="a\x00b"), "holds U+0000 at text, which cannot be stored"),
        (make_row(_id="x", metadata={"user_id": ""}), "user_id must be text that is not blank"),
        (make_row(_id="x", metadata={"session_id": 3}), "session_id must be text that is not blank"),
        (make_row(_id="x", metadata={"role": None}), "role must be text that is not blank"),
        (make_row(_id="x", metadata={"timestamp": "昨天"}), "timestamp '昨天' is not a time in ISO 8601"),
        (make_row(_id="x", metadata={"timestamp": "0001-01-01T00:00:00+14:00"}), "is not a time in ISO 8601"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, bad: dict[str, Any] | str | bytes, reason: str) -> None:
    folder = write_corpus(tmp_path, make_row(), bad)
    with pytest.raises(InvalidFolder) as caught:
        read_corpus(folder)
    assert str(caught.value).startswith(f"{tmp_path}/corpus.jsonl:2: ")
    assert reason.format(folder=tmp_path) in str(caught.value)


def test_a_folder_without_rows_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFolder, match=r"corpus\.jsonl: cannot be read: No such file or directory"):
        read_corpus(tmp_path)
    with pytest.raises(InvalidFolder, match=r"corpus\.jsonl: holds no rows"):
        read_corpus(write_corpus(tmp_path, "", " "))
