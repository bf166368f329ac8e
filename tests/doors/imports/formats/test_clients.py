"""Open WebUI, LibreChat, LobeHub and SillyTavern: the versions that were shown, in order, and nothing of others."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats.base import LeftOut, Omission, PastConversation, PastMemory
from tests.doors.imports.samples import (
    FILES,
    LIBRECHAT_CONVERSATION,
    LOBE_BACKUP,
    OPEN_WEBUI_CHAT,
    OPEN_WEBUI_MEMORIES,
    SILLY_TAVERN_CHAT,
    as_json,
    as_lines,
    make_zip,
    read,
    tavern,
    texts,
)

# Open WebUI


def test_the_chat_that_was_shown_is_the_conversation() -> None:
    (found,) = read(as_json([OPEN_WEBUI_CHAT]))
    assert texts(found) == [
        ("user", "我开了一家面包店。"), ("assistant", "The version that was shown."), ("user", "It opens at six."),
    ]  # fmt: skip
    assert (found.source_id, found.title) == ("0a1b0000-0000-4000-8000-000000000001", "🥖 Bakery")
    assert found.messages[0].said_at == found.started_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.left_out == {LeftOut.ATTACHMENT: 1, LeftOut.OTHER_BRANCH: 1}


def test_reasoning_is_cut_from_a_reply() -> None:
    chat = copy.deepcopy(OPEN_WEBUI_CHAT)
    chat["chat"]["history"]["currentId"] = "w3"
    (found,) = read(as_json([chat]))
    assert texts(found)[-1] == ("assistant", "Another version.")
    assert found.left_out[LeftOut.THINKING] == 1


def test_memories_of_open_webui_come_with_their_days_and_other_peoples_do_not() -> None:
    others = [OPEN_WEBUI_MEMORIES[0] | {"user_id": "u2"}, OPEN_WEBUI_CHAT | {"user_id": "u3"}, {"user_id": "u1"}, 5]
    first, second, *left_out = read(as_json([*OPEN_WEBUI_MEMORIES, *others]))
    said_at = datetime(2026, 1, 1, tzinfo=UTC)
    assert first == PastMemory(source_id="o1", content="用户对花生过敏", said_at=said_at)
    assert second == PastMemory(source_id="o2", content="Plays the oboe.", said_at=said_at)
    reasons = [item.reason for item in left_out if isinstance(item, Omission)]
    assert reasons == [LeftOut.OTHER_PERSON, LeftOut.OTHER_PERSON, LeftOut.MALFORMED, LeftOut.MALFORMED]


# LibreChat


@pytest.mark.parametrize("shape", ["LibreChat conversation", "LibreChat tree"])
def test_the_newest_branch_of_librechat_is_the_conversation(shape: str) -> None:
    (found,) = read(FILES[shape][1])
    assert texts(found) == [("user", "我在学大提琴。"), ("assistant", "很好！")]
    assert (found.source_id, found.title) == ("4c1b0000-0000-4000-8000-000000000001", "大提琴")
    assert found.messages[1].said_at == datetime(2026, 2, 3, 10, 0, 3, tzinfo=UTC)
    assert found.left_out == {
        LeftOut.ATTACHMENT: 1, LeftOut.THINKING: 1, LeftOut.TOOL: 1, LeftOut.OTHER_BRANCH: 1,
    }  # fmt: skip


def test_an_error_instead_of_a_reply_is_left_out() -> None:
    conversation = copy.deepcopy(LIBRECHAT_CONVERSATION)
    conversation["messages"][2] |= {"error": True, "content": None, "text": "no_user_key"}
    (found,) = read(as_json(conversation))
    assert texts(found) == [("user", "我在学大提琴。")]


# LobeHub


@pytest.mark.parametrize("shape", ["LobeHub backup", "LobeChat backup of 2024"])
def test_topics_are_conversations_in_order_along_the_chosen_branch(shape: str) -> None:
    topic, session = read(FILES[shape][1])
    assert texts(topic) == [
        ("user", "杭州有什么好吃的？我不吃辣。"), ("assistant", "回答一"), ("user", "I live in Hangzhou."),
    ]  # fmt: skip
    assert texts(session) == [("user", "Hello.")]
    assert (topic.source_id, topic.title) == ("tpc_1", "杭州美食")
    assert topic.left_out == {LeftOut.OTHER_BRANCH: 1, LeftOut.TOOL: 1}
    assert session.source_id == "ssn_1"


def test_without_a_choice_the_newest_branch_counts() -> None:
    backup = copy.deepcopy(LOBE_BACKUP)
    backup["data"]["messages"] = backup["data"]["messages"][:3]
    backup["data"]["messages"][1]["metadata"] = {"activeBranchIndex": 7}
    (topic,) = read(as_json(backup))
    assert texts(topic)[-1] == ("assistant", "回答二")


# SillyTavern


def test_a_chat_with_a_character_is_a_conversation() -> None:
    (found,) = read(as_lines(SILLY_TAVERN_CHAT))
    assert texts(found) == [
        ("assistant", "Welcome, traveller."), ("user", "我叫汤姆，我怕黑。"), ("user", "Hidden from the model."),
        ("assistant", "A candle, then."),
    ]  # fmt: skip
    assert (found.title, found.started_at) == ("Vex", datetime(2026, 1, 12, 10, 3, 22, tzinfo=UTC))
    assert [message.said_at and message.said_at.strftime("%H:%M:%S") for message in found.messages] == [
        "10:03:00", "22:04:00", "22:06:00", "22:07:10",
    ]  # fmt: skip
    assert found.left_out == {LeftOut.OTHER_BRANCH: 1, LeftOut.HIDDEN: 1, LeftOut.THINKING: 1}


def test_each_file_is_a_conversation_also_a_copy_that_branches_off() -> None:
    lines, branch = as_lines(SILLY_TAVERN_CHAT), as_lines([*SILLY_TAVERN_CHAT[:3], tavern("No candle.", 1768255800000)])
    items = read(make_zip({"Vex/a.jsonl": lines, "Vex/b.jsonl": branch}))
    assert [len(texts(item)) for item in items] == [4, 3]
    assert len({item.source_id for item in items if isinstance(item, PastConversation)}) == 2
    (alone,) = read(lines)
    assert alone.source_id == items[0].source_id  # type: ignore[union-attr]


def test_names_that_newer_versions_leave_out_come_from_the_messages() -> None:
    head = SILLY_TAVERN_CHAT[0] | {"user_name": "unused", "character_name": "unused"}
    (found,) = read(as_lines([head, *SILLY_TAVERN_CHAT[1:]]))
    assert found.title == "Vex"


# What is broken


@pytest.mark.parametrize("broken", [None, 5, "text", [], {}, {"id": ["x"], "parentId": {}, "role": 5, "content": 5}])
@pytest.mark.parametrize(
    ("value", "place"),
    [
        (OPEN_WEBUI_CHAT, lambda value: value["chat"]["history"]["messages"]),
        (LIBRECHAT_CONVERSATION, lambda value: value["messages"]),
        (LOBE_BACKUP, lambda value: value["data"]["messages"]),
    ],
    ids=["openwebui", "librechat", "lobehub"],
)
def test_a_broken_message_costs_no_other(value: dict[str, Any], place: Any, broken: Any) -> None:
    expected = [message for item in read(as_json(value)) for message in texts(item)]
    changed = copy.deepcopy(value)
    messages = place(changed)
    if isinstance(messages, dict):
        messages["broken"] = broken
    else:
        messages.append(broken)
    found = [
        message for item in read(as_json(changed)) if isinstance(item, PastConversation) for message in texts(item)
    ]
    assert set(expected) <= set(found)


@pytest.mark.parametrize("line", [b"{", b"5", b'{"name": "x"}'])
def test_a_broken_line_of_sillytavern_is_counted(line: bytes) -> None:
    left_out, found = read(as_lines(SILLY_TAVERN_CHAT) + line)
    assert len(texts(found)) == 4
    assert left_out.reason is LeftOut.MALFORMED
