"""mem0, Letta and Zep: memories with their times, and nothing that the source does not count on any more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats.base import LeftOut, Omission, PastConversation, PastMemory, Remark
from tests.doors.imports.samples import (
    LETTA_AGENT_FILE,
    LETTA_OLD_AGENT_FILE,
    LETTA_PASSAGES,
    MEM0_RESULTS,
    ZEP_EDGES,
    ZEP_SESSIONS,
    as_json,
    make_zip,
    read,
    texts,
)


def memories(data: bytes) -> list[PastMemory]:
    return [item for item in read(data) if isinstance(item, PastMemory)]


def omissions(data: bytes) -> list[tuple[LeftOut, str, int]]:
    return [(item.reason, item.label, item.count) for item in read(data) if isinstance(item, Omission)]


def conversations(data: bytes) -> list[PastConversation]:
    return [item for item in read(data) if isinstance(item, PastConversation)]


# mem0


def test_mem0_gives_the_memories_of_the_person_that_comes_first() -> None:
    first, second = memories(as_json(MEM0_RESULTS))
    assert first.source_id == "892db2ae-06d9-49e5-8b3e-585ef9b85b8e"
    assert first.content == "Likes to play badminton on weekends"
    assert (first.tags, first.said_at) == (("hobbies",), datetime(2025, 2, 20, 23, 33, 0, 717_899, tzinfo=UTC))
    assert second.content == "对花生过敏"
    assert omissions(as_json(MEM0_RESULTS)) == [
        (LeftOut.OTHER_PERSON, "bob", 1),
        (LeftOut.DELETED, "Gone", 1),
        (LeftOut.EMPTY, "", 1),
        (LeftOut.MALFORMED, "", 1),
        (LeftOut.RELATION, "relations", 1),
    ]


@pytest.mark.parametrize(
    ("fields", "ended", "muted"),
    [({"state": "active"}, False, False), ({"state": "archived"}, True, False), ({"state": "paused"}, False, True)],
)
def test_openmemory_says_what_it_still_uses(fields: dict[str, Any], ended: bool, muted: bool) -> None:
    backup = {"user": {"id": 1}, "memories": [{"id": "1", "content": "喜欢爬山", "user_id": "u", **fields}], "apps": []}
    lines = b'{"id": "1", "content": "again", "metadata": {}}\n'
    (memory,) = memories(make_zip({"memories.json": as_json(backup), "memories.jsonl": lines})[:])[:1]
    assert (memory.content, memory.ended, memory.muted) == ("喜欢爬山", ended, muted)


@pytest.mark.parametrize("fields", [{"state": "deleted"}, {"deleted_at": "2025-01-01"}, {"event": "DELETE"}])
def test_what_mem0_deleted_is_left_out(fields: dict[str, Any]) -> None:
    data = as_json({"memories": [{"id": "1", "memory": "gone", "user_id": "u", **fields}]})
    assert omissions(data) == [(LeftOut.DELETED, "gone", 1)]


# Letta


def test_an_agent_file_has_blocks_and_a_conversation() -> None:
    data = as_json(LETTA_AGENT_FILE)
    assert [(memory.content, memory.tags) for memory in memories(data)] == [("用户叫李雷", ()), ("用户是护士", ())]
    (found,) = conversations(data)
    assert (found.title, texts(found)) == ("memo", [("user", "I moved to Leeds."), ("assistant", "Welcome!")])
    assert found.left_out == {LeftOut.HIDDEN: 1, LeftOut.TOOL: 1}
    assert (LeftOut.ASSISTANT, "persona", 1) in omissions(data)


def test_of_memgpts_kind_the_tool_says_the_answer_and_the_text_is_thinking() -> None:
    (found,) = conversations(as_json(LETTA_OLD_AGENT_FILE))
    assert texts(found) == [("user", "我养了一只猫"), ("assistant", "它叫什么？")]
    assert found.left_out == {LeftOut.HIDDEN: 1, LeftOut.THINKING: 1, LeftOut.TOOL: 1}
    assert [memory.content for memory in memories(as_json(LETTA_OLD_AGENT_FILE))] == ["Her name is Ada."]


def test_passages_are_memories_unless_they_were_deleted() -> None:
    (memory,) = memories(as_json(LETTA_PASSAGES))
    assert (memory.source_id, memory.content, memory.tags) == ("passage-1", "Ada studied in Porto.", ("life",))
    assert omissions(as_json(LETTA_PASSAGES)) == [(LeftOut.DELETED, "Gone.", 1)]


# Zep


def test_a_fact_that_became_invalid_has_ended() -> None:
    old, new = memories(as_json(ZEP_EDGES))
    assert (old.content, old.ended, old.tags) == ("Kendra lived in Leeds", True, ("lives in",))
    assert (old.started_at, old.ended_at) == (datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC))
    assert (new.content, new.ended, new.ended_at) == ("Kendra 住在约克", False, None)
    assert omissions(as_json(ZEP_EDGES)) == [(LeftOut.RELATION, "nodes", 1)]


def test_a_session_has_facts_and_messages() -> None:
    data = as_json(ZEP_SESSIONS)
    (found,) = conversations(data)
    assert (found.source_id, found.title) == ("s1", "换工作")
    assert [(message.source_id, message.role) for message in found.messages] == [("z1", "user"), ("z2", "assistant")]
    assert found.left_out == {LeftOut.TOOL: 1}
    assert [memory.content for memory in memories(data)] == ["Alice works at ByteDance"]


# What is broken


@pytest.mark.parametrize("value", [None, 5, "text", [], {"id": 1}])
@pytest.mark.parametrize(
    ("good", "path"),
    [
        (MEM0_RESULTS["results"][0], "results"),
        (ZEP_EDGES["edges"][0], "edges"),
        (LETTA_PASSAGES[0], "archival_memory"),
        (ZEP_SESSIONS[0], "sessions"),
        (LETTA_AGENT_FILE["agents"][0], "agents"),
    ],
)
def test_a_broken_element_costs_no_other(good: Any, path: str, value: Any) -> None:
    found = read(as_json({path: [good, value, good]}))
    assert sum(isinstance(item, PastMemory | PastConversation) for item in found) >= 2


# What is said to be about the person


def read_blocks(*blocks: tuple[str, str], **fields: Any) -> list[str]:
    listed = [
        {"id": f"b{number}", "label": label, "value": text} | fields for number, (label, text) in enumerate(blocks)
    ]
    return [memory.content for memory in memories(as_json({"agents": [], "blocks": listed}))]


def test_blocks_about_anything_else_are_left_out() -> None:
    labels = "system/persona/soul memory_policies pal-persona scratchpad custom_instructions active_hypotheses"
    for label in (*labels.split(), "user_handling_rules", "persona/user_facing"):
        data = as_json({"agents": [], "blocks": [{"label": label, "value": "I speak plainly."}]})
        assert omissions(data) == [(LeftOut.ASSISTANT, label, 1)]


def test_blocks_about_the_person_are_memories() -> None:
    tags = dict.fromkeys(["human", "about_user", "system/human/preferences", "user-profile"], ())
    for label, expected in (tags | {"system/human/overview": ("overview",), "family": ("family",)}).items():
        about = {"description": "What is known about the user's family."} if label == "family" else {}
        data = as_json({"agents": [], "blocks": [{"label": label, "value": "Jules runs a bike shop."} | about]})
        assert [(memory.content, memory.tags) for memory in memories(data)] == [("Jules runs a bike shop.", expected)]


def test_a_block_that_cannot_be_written_is_the_assistants() -> None:
    assert read_blocks(("about_user", "Created by template v3."), read_only=True) == []


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "About the user.\n\nName: [unknown]\nRole/Work: [unknown]\nProjects: the shop's website\nLevel: [unknown]",
            ["Projects: the shop's website"],
        ),
        ("How this user likes to interact.\n\nLength: [not yet learned]\nTone: [not yet learned]", []),
        ("Current observations.\n\n[Open questions]\n- [none yet]", []),
        ("This is my section of core memory about the human.\nI don't yet know anything about them.", []),
        ("Explicit rules the user has set.\n\n[None yet]", []),
        ("姓名：未知\n城市：苏州", ["城市：苏州"]),
        ("Name:\nCity: Bath\nAge: unknown", ["City: Bath"]),
        ("- Name: Jules\n- Age: {age}\n- Shop: <none>", ["Name: Jules"]),
        ("Jules runs a bike shop.\n\nHe has [two] cats.", ["Jules runs a bike shop.", "He has [two] cats."]),
        ("Pets:\n- a cat\n- a dog", ["Pets:", "a cat", "a dog"]),
    ],
)
def test_what_a_template_left_open_says_nothing(text: str, statements: list[str]) -> None:
    assert read_blocks(("human", text)) == statements


@pytest.mark.parametrize(
    "added",
    [
        "<system-reminder>\n- **Device type**: macOS\n</system-reminder>",
        "<memory_context>\nUser likes tea\n</memory_context>",
        "<system-reminder>a</system-reminder>\n<environment_context>b</environment_context>",
    ],
)
def test_what_lettas_server_adds_to_a_message_was_not_said(added: str) -> None:
    said = [{"type": "text", "text": added}, {"type": "text", "text": "What do you know about me?"}]
    messages = [
        {"role": "user", "content": said, "created_at": "2026-03-05T18:31:00+00:00"},
        {"role": "user", "content": added, "created_at": "2026-03-05T18:32:00+00:00"},
        {"role": "user", "content": '{"type": "heartbeat", "reason": "automated timer"}'},
        {"role": "approval", "content": [], "approve": True},
    ]
    (found,) = conversations(as_json({"agents": [{"name": "pal", "messages": messages}], "blocks": []}))
    assert [message.content for message in found.messages] == ["What do you know about me?"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"agent_id": "concierge", "run_id": "run-1"}, LeftOut.ASSISTANT),
        ({"user_id": None, "run_id": "run-9"}, LeftOut.OTHER_PERSON),
        ({"user_id": "", "app_id": "shop"}, LeftOut.OTHER_PERSON),
    ],
)
def test_of_mem0_only_what_is_a_persons_is_theirs(fields: dict[str, Any], reason: LeftOut) -> None:
    mine = {"id": "1", "memory": "Prefers window seats", "user_id": "kim"}
    data = as_json({"results": [{"id": "2", "memory": "Must greet in Spanish"} | fields, mine]})
    assert [memory.content for memory in memories(data)] == ["Prefers window seats"]
    assert omissions(data) == [(reason, "Must greet in Spanish", 1)]


@pytest.mark.parametrize(
    ("following", "remarks"), [("https://api.example.org/v2/memories/?page=2", 1), (None, 0), ("", 0)]
)
def test_a_page_says_that_there_are_others(following: str | None, remarks: int) -> None:
    results = [{"id": "1", "memory": "Likes opera", "user_id": "kim"}]
    found = read(as_json({"next": following, "previous": "https://api.example.org/v2/memories/", "results": results}))
    assert sum(isinstance(item, Remark) for item in found) == remarks
