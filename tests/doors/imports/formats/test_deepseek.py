"""DeepSeek: the branch that goes on longest, and nothing that the model only thought."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apps.doors.imports.formats.chats import read_deepseek_conversation as read_conversation
from apps.doors.imports.types import LeftOut, PastConversation
from tests.doors.imports.samples import DEEPSEEK_CONVERSATION, as_json, detect, make_zip, read


def read_one(value: Any) -> PastConversation:
    found = read_conversation(value)
    assert isinstance(found, PastConversation)
    return found


def texts(found: PastConversation) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in found.messages]


@pytest.fixture
def conversation() -> dict[str, Any]:
    return copy.deepcopy(DEEPSEEK_CONVERSATION)


def test_the_newest_branch_is_the_conversation() -> None:
    data = make_zip({"conversations.json": as_json([DEEPSEEK_CONVERSATION]), "user.json": as_json({"user_id": "u"})})
    assert detect(data) == "deepseek"
    (found,) = read(data)
    assert isinstance(found, PastConversation)
    assert (found.source_id, found.title) == ("5a1c0000-0000-4000-8000-000000000001", "搬家清单")
    assert texts(found) == [
        ("user", "我四月要从成都搬到厦门，帮我列个清单。"),
        ("assistant", "先退租，再订车。"),
        ("user", "我还有一只叫团子的猫。"),
    ]
    assert found.started_at is not None
    assert found.started_at.isoformat() == "2026-02-01T09:00:00.125000+08:00"
    assert found.left_out == {LeftOut.THINKING: 1, LeftOut.OTHER_BRANCH: 1}


def test_messages_without_fragments_take_turns(conversation: dict[str, Any]) -> None:
    for number, content in (("1", "问题"), ("3", "回答"), ("4", "又一个问题")):
        message = conversation["mapping"][number]["message"]
        del message["fragments"]
        message |= {"content": content, "reasoning_content": "想一想" if number == "3" else None}
    found = read_one(conversation)
    assert texts(found) == [("user", "问题"), ("assistant", "回答"), ("user", "又一个问题")]
    assert found.left_out[LeftOut.THINKING] == 1


def test_searches_and_files_are_counted(conversation: dict[str, Any]) -> None:
    conversation["mapping"]["3"]["message"]["fragments"].insert(0, {"type": "SEARCH", "results": []})
    conversation["mapping"]["1"]["message"]["files"] = [{"file_name": "plan.pdf"}]
    found = read_one(conversation)
    assert (found.left_out[LeftOut.TOOL], found.left_out[LeftOut.ATTACHMENT], len(found.messages)) == (1, 1, 3)


def test_a_broken_node_costs_no_other(conversation: dict[str, Any]) -> None:
    conversation["mapping"] |= {"x": None, "y": 5, "z": {"message": {"fragments": ["text", None]}}}
    assert len(read_one(conversation).messages) == 3
