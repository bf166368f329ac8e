"""Reading times, texts and statements."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.doors.imports.formats.values import (
    MAX_STATEMENT_CHARACTERS,
    Draft,
    read_json,
    read_text,
    read_time,
    read_title,
    split_statements,
)

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NOON.timestamp(), NOON),
        (int(NOON.timestamp()), NOON),
        (NOON.timestamp() * 1000, NOON),
        ("2024-03-01T12:00:00Z", NOON),
        ("2024-03-01T13:00:00+01:00", NOON),
        ("2024-03-01T12:00:00", NOON),
        ("2024-03-01 12:00:00 UTC", NOON),
        ("2024-03-01", NOON.replace(hour=0)),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (1e300, None),
        (float("nan"), None),
        (-1e18, None),
        ("0001-01-01T00:00:00Z", None),
        ([], None),
    ],
)
def test_times(value: Any, expected: datetime | None) -> None:
    assert read_time(value) == expected


@given(st.one_of(st.floats(), st.integers(), st.text(), st.datetimes().map(str), st.none()))
def test_whatever_a_time_is_it_is_one_or_none(value: Any) -> None:
    time = read_time(value)
    assert time is None or time.tzinfo is not None


def test_texts_are_without_what_cannot_be_stored() -> None:
    assert read_text(" a\x00b\ud800\r\nc ") == "ab\nc"
    assert read_text(5) == ""
    assert read_title("a\n b" + "x" * 300).startswith("a b")
    assert len(read_title("x" * 300)) == 200
    assert read_json({"a\x00": [float("inf"), "b\ud800"]}) == {"a": [None, "b"]}


def test_a_long_message_becomes_several() -> None:
    draft = Draft()
    draft.say("user", "x" * 70_000, source_id="m", said_at=None)
    parts = [(part.source_id, len(part.content)) for part in draft.messages]
    assert parts == [("m", 32_000), ("m#1", 32_000), ("m#2", 6_000)]


def test_headings_lists_and_paragraphs_become_statements() -> None:
    text = (
        "Mei is a nurse.\nShe lives in York.\n\n## Food\n- likes tea\n* no coriander\n1. 不吃香菜\n"
        "**Top of mind:**\nA new job."
    )
    assert list(split_statements(text)) == [
        ("Mei is a nurse. She lives in York.", ""),
        ("likes tea", "Food"),
        ("no coriander", "Food"),
        ("不吃香菜", "Food"),
        ("A new job.", "Top of mind"),
    ]


def test_a_long_paragraph_is_cut_where_sentences_end() -> None:
    sentence = "她每天早上都去公园跑步。"
    statements = [statement for statement, _heading in split_statements(sentence * 100)]
    assert "".join(statements) == sentence * 100
    assert all(len(statement) <= MAX_STATEMENT_CHARACTERS for statement in statements)
    assert all(statement.endswith("。") for statement in statements)


@given(st.text(alphabet=st.sampled_from("ab。. \n-*#12"), max_size=300))
def test_no_statement_is_empty_or_too_long(text: str) -> None:
    for statement, _heading in split_statements(text):
        assert statement.strip()
        assert len(statement) <= MAX_STATEMENT_CHARACTERS
