"""Claude: conversations as they were seen last, and what Claude remembered."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.gateway.imports.formats.claude import read_conversation
from apps.gateway.imports.types import LeftOut, Omission, PastConversation, PastMemory
from tests.gateway.imports.samples import CLAUDE_ARCHIVE, CLAUDE_CONVERSATION, FILES, as_json, read


@pytest.fixture
def conversation() -> dict[str, Any]:
    return copy.deepcopy(CLAUDE_CONVERSATION)


def test_an_archive_has_conversations_and_memories() -> None:
    items = read(CLAUDE_ARCHIVE)
    (found,) = [item for item in items if isinstance(item, PastConversation)]
    assert (found.source_id, found.title) == ("c1a0de00-0000-4000-8000-000000000001", "Sourdough")
    assert [(message.source_id, message.role, message.content) for message in found.messages] == [
        ("m1", "user", "I bake bread every Sunday."),
        ("m3", "assistant", "Lovely.\n\nWhich flour?"),
    ]
    assert found.messages[0].said_at == datetime(2025, 6, 12, 10, 0, 1, tzinfo=UTC)
    assert found.left_out == {LeftOut.OTHER_BRANCH: 1, LeftOut.ATTACHMENT: 1, LeftOut.THINKING: 1, LeftOut.TOOL: 2}
    memories = [(item.content, item.tags) for item in items if isinstance(item, PastMemory)]
    assert memories == [
        ("Mei is a nurse in York. She works nights.", ("Work context",)),
        ("不吃香菜", ("饮食",)),
        ("喜欢喝茶", ("饮食",)),
        ("The garden project is about roses.", ()),
    ]
    assert [item for item in items if isinstance(item, Omission)] == [
        Omission(LeftOut.UNSUPPORTED, label="projects.json")
    ]


def test_memories_alone_are_an_export_too() -> None:
    assert len(read(FILES["Claude memories archive"][1])) == 4


def test_messages_that_name_no_parents_are_in_their_order(conversation: dict[str, Any]) -> None:
    for message in conversation["chat_messages"]:
        del message["parent_message_uuid"]
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert [message.source_id for message in found.messages] == ["m1", "m2", "m3"]


def test_older_exports_have_the_text_beside_the_content(conversation: dict[str, Any]) -> None:
    conversation["chat_messages"] = [
        {"uuid": "1", "sender": "human", "text": "我住在约克", "created_at": "2024-01-01T00:00:00Z"}
    ]
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert found.messages[0].content == "我住在约克"


def test_a_conversation_without_texts_is_left_out(conversation: dict[str, Any]) -> None:
    conversation["chat_messages"] = [{"uuid": "1", "sender": "human", "content": []}]
    assert read_conversation(conversation) == Omission(LeftOut.EMPTY, label="Sourdough")


@pytest.mark.parametrize(
    "message", [None, 5, {}, {"sender": "system", "text": "x"}, {"sender": "human", "content": [None, 5, {}]}]
)
def test_a_broken_message_costs_no_other(conversation: dict[str, Any], message: Any) -> None:
    conversation["chat_messages"].insert(0, message)
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert len(found.messages) == 2


def test_a_circle_of_parents_ends(conversation: dict[str, Any]) -> None:
    conversation["chat_messages"][0]["parent_message_uuid"] = "m3"
    assert isinstance(read_conversation(conversation), PastConversation)


def test_what_is_neither_is_said_to_be_so() -> None:
    items = read(as_json([CLAUDE_CONVERSATION, {"name": "x"}, 5, {"name": "P", "docs": []}]))
    assert [item.reason for item in items if isinstance(item, Omission)] == [
        LeftOut.MALFORMED,
        LeftOut.MALFORMED,
        LeftOut.UNSUPPORTED,
    ]
