"""ChatGPT: the path that the person saw last, and nothing that they did not see."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats.chats import read_chatgpt_conversation as read_conversation
from apps.doors.imports.types import LeftOut, Omission, PastConversation, PastMemory, PastProfile
from tests.doors.imports.samples import CHATGPT_ARCHIVE, CHATGPT_CONVERSATION, as_json, read


@pytest.fixture
def conversation() -> dict[str, Any]:
    return copy.deepcopy(CHATGPT_CONVERSATION)


def read_one(value: Any) -> PastConversation:
    found = read_conversation(value)
    assert isinstance(found, PastConversation)
    return found


def test_the_path_to_the_current_node_is_the_conversation() -> None:
    (found,) = read(CHATGPT_ARCHIVE)
    assert isinstance(found, PastConversation)
    assert (found.source_id, found.title) == ("65e1c0de-0000-4000-8000-000000000001", "搬家计划")
    assert (found.learns, found.started_at) == (True, datetime(2024, 3, 1, 0, 0, 0, 500_000, tzinfo=UTC))
    assert [(message.source_id, message.role, message.content) for message in found.messages] == [
        ("ask", "user", "我三月要搬到上海，帮我列个清单。"),
        ("answer", "assistant", "先订搬家公司。"),
    ]
    assert found.messages[0].said_at == datetime(2024, 3, 1, 0, 0, 1, tzinfo=UTC)
    assert found.left_out == {
        LeftOut.HIDDEN: 1,
        LeftOut.THINKING: 1,
        LeftOut.TOOL: 2,
        LeftOut.ATTACHMENT: 1,
        LeftOut.OTHER_BRANCH: 1,
    }


@pytest.mark.parametrize("current", [None, "nowhere", 5])
def test_without_a_current_node_the_newest_end_counts(conversation: dict[str, Any], current: Any) -> None:
    conversation["current_node"] = current
    assert read_one(conversation).messages[-1].source_id == "answer"


def test_a_circle_of_parents_ends(conversation: dict[str, Any]) -> None:
    conversation["mapping"]["root"]["parent"] = "answer"
    assert len(read_one(conversation).messages) == 2


def test_what_was_said_aloud_is_text(conversation: dict[str, Any]) -> None:
    parts = [
        {"content_type": "audio_transcription", "text": "I said this", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
    ]
    conversation["mapping"]["ask"]["message"]["content"]["parts"] = parts
    found = read_one(conversation)
    assert found.messages[0].content == "I said this"
    assert found.left_out[LeftOut.ATTACHMENT] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"metadata": {"is_user_system_message": True}},
        {"author": {"role": "system"}},
        {"content": {"content_type": "user_editable_context", "user_profile": "I am a nurse"}},
        {"content": {"content_type": "model_editable_context", "model_set_context": "1. A nurse"}},
        {"author": None},
    ],
)
def test_what_the_page_does_not_show_is_left_out(conversation: dict[str, Any], change: dict[str, Any]) -> None:
    conversation["mapping"]["ask"]["message"] |= change
    found = read_one(conversation)
    assert [message.source_id for message in found.messages] == ["answer"]
    assert found.left_out[LeftOut.HIDDEN] == 2


@pytest.mark.parametrize("value", [None, 5, "text", {}, {"title": "t", "mapping": []}])
def test_what_is_no_conversation_is_said_to_be_none(value: Any) -> None:
    found = read_conversation(value)
    assert isinstance(found, Omission)
    assert found.reason is LeftOut.MALFORMED


@pytest.mark.parametrize(
    "node", [None, 5, {}, {"message": "text"}, {"message": {"content": []}}, {"message": {"content": {"parts": 5}}}]
)
def test_a_broken_node_costs_no_other(conversation: dict[str, Any], node: Any) -> None:
    conversation["mapping"]["thought"] = {**(node if isinstance(node, dict) else {}), "parent": "ask"}
    conversation["mapping"]["stray"] = node
    assert [message.source_id for message in read_one(conversation).messages] == ["ask", "answer"]


def test_without_ids_the_same_conversation_has_the_same_name(conversation: dict[str, Any]) -> None:
    del conversation["conversation_id"]
    assert read_one(conversation).source_id == read_one(copy.deepcopy(conversation)).source_id
    assert read_one({**conversation, "title": "other"}).source_id != read_one(conversation).source_id


# What ChatGPT does not remember from, and what it remembers


@pytest.mark.parametrize(
    "marks",
    [
        {"is_do_not_remember": True},
        {"memory_scope": "disabled"},
        {"memory_scope": "global_disabled"},
        {"is_temporary_chat": True},
        {"is_do_not_remember": True, "memory_scope": "global_enabled"},
    ],
)
def test_a_conversation_that_is_not_remembered_from_is_for_reading_only(
    conversation: dict[str, Any], marks: dict[str, Any]
) -> None:
    found = read_one(conversation | marks)
    assert (found.learns, len(found.messages)) == (False, 2)


def with_hidden(conversation: dict[str, Any], saved: str, *, created: float, **instructions: Any) -> dict[str, Any]:
    contents = [{"content_type": "model_editable_context", "model_set_context": saved}]
    contents += [{"content_type": "user_editable_context"} | instructions] if instructions else []
    changed = copy.deepcopy(conversation) | {"create_time": created}
    for number, content in enumerate(contents):
        changed["mapping"][f"hidden {number}"] = {
            "parent": "root",
            "children": [],
            "message": {
                "author": {"role": "system"},
                "create_time": None,
                "content": content,
            },
        }
    return changed


def remembered(*conversations: dict[str, Any]) -> list[tuple[str, str]]:
    items = [item for item in read(as_json(list(conversations))) if isinstance(item, PastMemory)]
    return [(item.content, item.said_at.date().isoformat() if item.said_at else "") for item in items]


@pytest.mark.parametrize(
    ("saved", "memories"),
    [
        (
            "1. [2025-11-02]. Odile is left-handed.\n\n2. [2025-12-01]. Odile has a workshop in Lyon.",
            [("Odile is left-handed.", "2025-11-02"), ("Odile has a workshop in Lyon.", "2025-12-01")],
        ),
        ("1. 用户对虾过敏。\n2. 用户住在苏州。", [("用户对虾过敏。", ""), ("用户住在苏州。", "")]),
        (
            "1. [2025-11-02]. Shopping list:\n1. milk\n2. tea\n\n2. [2025-11-03] Has a cat.",
            [("Shopping list:\n1. milk\n2. tea", "2025-11-02"), ("Has a cat.", "2025-11-03")],
        ),
        (
            "[2025-11-02] A cat.\n[2025-11-03] A dog.",
            [("A cat.", "2025-11-02"), ("A dog.", "2025-11-03")],
        ),
        ("Has a cat.", [("Has a cat.", "")]),
        ("", []),
    ],
)
def test_saved_memories_come_with_their_dates(
    conversation: dict[str, Any], saved: str, memories: list[tuple[str, str]]
) -> None:
    assert remembered(with_hidden(conversation, saved, created=1.0)) == memories


@pytest.mark.parametrize("newest_first", [True, False])
def test_the_memories_of_the_newest_conversation_count_once(conversation: dict[str, Any], newest_first: bool) -> None:
    told = [
        with_hidden(conversation, "1. Has a cat.\n2. Has a dog.", created=3.0),
        with_hidden(conversation, "1. Has a cat.\n2. Has a bird.", created=2.0),
    ]
    private = with_hidden(conversation, "1. Has a secret.", created=4.0) | {"is_do_not_remember": True}
    found = remembered(*(told if newest_first else reversed(told)), private)
    assert found == [("Has a cat.", ""), ("Has a dog.", "")]


@pytest.mark.parametrize(
    ("instructions", "proposals"),
    [
        (
            {
                "user_profile": "Preferred name: Odile\nI repair clocks.",
                "user_instructions": "Be brief.",
            },
            [("background", "Preferred name: Odile\nI repair clocks."), ("reply_style", "Be brief.")],
        ),
        (
            {"user_profile": "The user provided the following information.\nUser profile:\n```我是护士```"},
            [("background", "我是护士")],
        ),
        ({"user_instructions": "Be brief."}, [("reply_style", "Be brief.")]),
        ({"user_profile": None, "user_instructions": 5}, []),
    ],
)
def test_custom_instructions_are_proposed_for_the_profile(
    conversation: dict[str, Any], instructions: dict[str, Any], proposals: list[tuple[str, str]]
) -> None:
    items = read(as_json([with_hidden(conversation, "", created=1.0, **instructions)]))
    assert [(item.section, item.text) for item in items if isinstance(item, PastProfile)] == proposals


# A way that is lost


@pytest.mark.parametrize("parent", ["gone", "", 5, ["ask"], {}])
@pytest.mark.parametrize("node", ["answer", "found", "search"])
def test_a_message_whose_parent_is_missing_goes_on_with_what_precedes(
    conversation: dict[str, Any], node: str, parent: Any
) -> None:
    conversation["mapping"][node]["parent"] = parent
    found = read_one(conversation)
    assert [message.source_id for message in found.messages] == ["ask", "answer"]
    assert found.left_out[LeftOut.OTHER_BRANCH] == 1
