"""Claude: conversations as they were seen last, and what Claude remembered."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats.chats import read_claude_conversation as read_conversation
from apps.doors.imports.types import LeftOut, Omission, PastConversation, PastFile, PastMemory
from tests.doors.imports.samples import CLAUDE_ARCHIVE, CLAUDE_CONVERSATION, as_json, read


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
    assert found.messages[0].files == (PastFile("notes.txt", "flour"),)
    assert found.left_out == {LeftOut.OTHER_BRANCH: 1, LeftOut.THINKING: 1, LeftOut.TOOL: 2}
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


def test_what_is_neither_is_said_to_be_so() -> None:
    items = read(as_json([CLAUDE_CONVERSATION, {"name": "x"}, 5, {"name": "P", "docs": []}]))
    assert [item.reason for item in items if isinstance(item, Omission)] == [
        LeftOut.MALFORMED,
        LeftOut.MALFORMED,
        LeftOut.UNSUPPORTED,
    ]


PASTE = {"file_name": "paste.txt", "file_type": "txt", "extracted_content": "I keep bees behind the chapel."}


@pytest.mark.parametrize(
    ("sent", "said", "files", "left_out"),
    [
        ({"text": "", "attachments": [PASTE]}, "[paste.txt]", [("paste.txt", PASTE["extracted_content"])], 0),
        ({"text": "Read this.", "attachments": [PASTE]}, "Read this.", [("paste.txt", PASTE["extracted_content"])], 0),
        (
            {"text": "", "attachments": [{"file_name": "", "extracted_content": "笔记"}, PASTE]},
            "[paste.txt] [paste.txt]",
            [("paste.txt", "笔记"), ("paste.txt", PASTE["extracted_content"])],
            0,
        ),
        ({"text": "Look.", "attachments": [], "files": [{"file_name": "photo.png"}]}, "Look.", [], 1),
        ({"text": "Look.", "attachments": [{"file_name": "x", "extracted_content": " "}, None]}, "Look.", [], 2),
    ],
)
def test_what_was_pasted_is_a_file_of_the_message(
    conversation: dict[str, Any], sent: dict[str, Any], said: str, files: list[tuple[str, str]], left_out: int
) -> None:
    conversation["chat_messages"] = [{"uuid": "1", "sender": "human", "content": []} | sent]
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert [message.content for message in found.messages] == [said]
    assert [(file.name, file.text) for file in found.messages[0].files] == files
    assert found.left_out.get(LeftOut.ATTACHMENT, 0) == left_out


@pytest.mark.parametrize("parent", ["gone", None, "", 5, ["m1"]])
def test_a_message_whose_parent_is_missing_goes_on_with_what_precedes(
    conversation: dict[str, Any], parent: Any
) -> None:
    said = [("a", "00000000-0000-4000-8000-000000000000"), ("b", "a"), ("c", parent), ("d", "c")]
    conversation["chat_messages"] = [
        {"uuid": name, "sender": "human", "text": name, "parent_message_uuid": before} for name, before in said
    ]
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert ([message.content for message in found.messages], found.left_out) == (["a", "b", "c", "d"], {})


def test_the_first_message_asked_anew_is_a_root_of_its_own(conversation: dict[str, Any]) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    said = [("a", root), ("b", "a"), ("c", root), ("d", "c")]
    conversation["chat_messages"] = [
        {"uuid": name, "sender": "human", "text": name, "parent_message_uuid": before} for name, before in said
    ]
    found = read_conversation(conversation)
    assert isinstance(found, PastConversation)
    assert ([message.content for message in found.messages], found.left_out[LeftOut.OTHER_BRANCH]) == (["c", "d"], 2)
