"""JSON lines: messages by session, memories, and keys with values. Our own export: rows by table."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats import own
from apps.doors.imports.formats.base import ExportedRow, LeftOut, Omission, PastConversation
from tests.doors.imports.samples import FILES, PLAIN_LINES, as_json, as_lines, read


def test_lines_become_conversations_memories_and_entries() -> None:
    cats, french, shrimp, home = sorted(read(as_lines(PLAIN_LINES)), key=lambda item: type(item).__name__)
    assert (cats.source_id, cats.title, len(cats.messages)) == ("a", "Cats", 2)
    assert cats.started_at == datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert (french.source_id, french.messages[0].content) == ("b", "我在学法语")
    assert french.started_at == datetime(2024, 1, 2, 10, tzinfo=UTC)
    assert (shrimp.content, shrimp.tags) == ("用户对虾过敏", ("健康",))
    assert shrimp.said_at == datetime(2024, 2, 1, tzinfo=UTC)
    assert (home.key, home.value, home.category, home.content) == ("home", "York", "fact", "")


def test_an_array_and_an_object_of_messages_are_the_same() -> None:
    assert read(as_json(PLAIN_LINES)) == read(as_lines(PLAIN_LINES))
    (conversation,) = read(FILES["plain conversation"][1])
    assert (conversation.title, conversation.messages[0].content) == ("t", "我叫李雷")


def test_a_session_that_comes_again_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "MESSAGES_AT_ONCE", 2)
    lines = [{"role": "user", "content": "same", "session": name} for name in "aababb"]
    parts = [item for item in read(as_lines(lines)) if isinstance(item, PastConversation)]
    assert [(part.source_id, len(part.messages)) for part in parts] == [("a", 2), ("b", 1), ("a", 1), ("b", 2)]
    names = [message.source_id for part in parts for message in part.messages]
    assert len(set(names)) == 6
    again = [item for item in read(as_lines([*lines, lines[0]])) if isinstance(item, PastConversation)]
    assert [message.source_id for part in again for message in part.messages][:6] == names


@pytest.mark.parametrize(
    "line",
    [b"broken", b"5", b"{}", b'{"role": "user"}', b'{"key": "k"}', b'["role", "content"]', b'{"text": "what is this"}'],
)
def test_a_bad_line_is_told_and_costs_no_other(line: bytes) -> None:
    first, second = as_lines(PLAIN_LINES[:1]), as_lines(PLAIN_LINES[3:4])
    items = read(first + line + b"\n" + second)
    assert [(item.reason, item.label) for item in items if isinstance(item, Omission)] == [(LeftOut.MALFORMED, "2")]
    assert len(items) == 3


def test_what_is_empty_is_left_out() -> None:
    lines = [{"memory": " "}, {"memory": 5}, {"key": "", "value": "v"}, {"key": "k", "value": None}]
    items = read(as_lines([PLAIN_LINES[3], *lines]))
    assert [item.reason for item in items if isinstance(item, Omission)] == [LeftOut.EMPTY] * 4


def test_messages_of_tools_and_the_system_are_left_out() -> None:
    lines = [{"role": role, "content": "x"} for role in ("user", "tool", "system", "assistant")]
    (conversation,) = read(as_lines(lines))
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    assert conversation.left_out == {LeftOut.TOOL: 1, LeftOut.HIDDEN: 1}


@pytest.mark.parametrize(
    ("content", "said", "left_out"),
    [
        (["我有", "两只猫。"], "我有\n\n两只猫。", {}),
        ({"parts": ["I have two cats."]}, "I have two cats.", {}),
        ({"type": "text", "text": "I have two cats."}, "I have two cats.", {}),
        (
            [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "My cats."}],
            "My cats.",
            {LeftOut.ATTACHMENT: 1},
        ),
    ],
)
def test_content_may_be_in_parts(content: Any, said: str, left_out: dict[LeftOut, int]) -> None:
    (conversation,) = read(as_lines([{"role": "user", "content": content}]))
    assert [message.content for message in conversation.messages] == [said]
    assert conversation.left_out == left_out


def test_files_without_sessions_are_conversations_of_their_own() -> None:
    hello, day = {"role": "user", "content": "Hello"}, "2024-01-01T10:00:00Z"
    beginnings = [[hello | other] for other in ({}, {"create_time": day}, {"content": "你好"}, {"role": "assistant"})]
    names = []
    for lines in beginnings:
        for more in ([], [hello], [hello, hello]):
            (conversation,) = read(as_lines(lines + more))
            assert len({message.source_id for message in conversation.messages}) == 1 + len(more)
            names.append(conversation.source_id)
    assert len(set(names)) == len(beginnings), "a file that went on is still the same conversation"


def test_a_session_may_have_a_number_for_a_name() -> None:
    lines = [{"role": "user", "content": "same", "session": name} for name in (0, 1, "", None)]
    parts = [item for item in read(as_lines(lines)) if isinstance(item, PastConversation)]
    assert [(part.source_id, len(part.messages)) for part in parts][:2] == [("0", 1), ("1", 1)]
    assert [len(part.messages) for part in parts[2:]] == [2]


def test_rows_of_an_export_come_by_table_in_the_order_of_the_file() -> None:
    document = {
        "about": "…",
        "exported_at": "2026-11-20T08:30:00+00:00",
        "user": {"id": 7},
        "data": {"chat_session": [{"id": "s"}], "conversation": [{"id": "a"}, {"id": "b"}], "turn": [], "work": [5]},
    }
    assert read(as_json(document))[2:] == [
        ExportedRow("", {"user": {"id": 7}}),
        ExportedRow("chat_session", {"id": "s"}),
        ExportedRow("conversation", {"id": "a"}),
        ExportedRow("conversation", {"id": "b"}),
        Omission(LeftOut.MALFORMED, label="work", detail="This is not a row of a table."),
    ]
