"""ChatGPT, Claude, DeepSeek, Grok, Gemini: the path that was seen last, what is remembered, nothing that was hidden."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apps.doors.imports.formats.base import LeftOut, Omission, PastConversation, PastFile, PastMemory, PastProfile
from apps.doors.imports.formats.chats import (
    read_chatgpt_conversation,
    read_claude_conversation,
    read_deepseek_conversation,
    read_grok_conversation,
)
from apps.doors.imports.formats.uploads import UnknownFormat, UnreadableFile
from tests.doors.imports.samples import (
    CHATGPT_ARCHIVE,
    CHATGPT_CONVERSATION,
    CLAUDE_ARCHIVE,
    CLAUDE_CONVERSATION,
    DEEPSEEK_CONVERSATION,
    GEMINI_ACTIVITY,
    GEMINI_PAGE,
    GROK_EXPORT,
    as_json,
    detect,
    gemini,
    gemini_cell,
    make_zip,
    read,
    texts,
)

ROOT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def chatgpt() -> dict[str, Any]:
    return copy.deepcopy(CHATGPT_CONVERSATION)


@pytest.fixture
def claude() -> dict[str, Any]:
    return copy.deepcopy(CLAUDE_CONVERSATION)


@pytest.fixture
def deepseek() -> dict[str, Any]:
    return copy.deepcopy(DEEPSEEK_CONVERSATION)


def read_one(value: dict[str, Any]) -> PastConversation:
    """Read a conversation of any of the three."""
    if "chat_messages" in value:
        found = read_claude_conversation(value)
    else:
        found = (read_deepseek_conversation if "inserted_at" in value else read_chatgpt_conversation)(value)
    return found


# ChatGPT


def test_the_path_to_the_current_node_is_the_conversation() -> None:
    (found,) = read(CHATGPT_ARCHIVE)
    assert (found.source_id, found.title) == ("65e1c0de-0000-4000-8000-000000000001", "搬家计划")
    assert (found.learns, found.started_at) == (True, datetime(2024, 3, 1, 0, 0, 0, 500_000, tzinfo=UTC))
    assert [message.source_id for message in found.messages] == ["ask", "answer"]
    assert texts(found) == [("user", "我三月要搬到上海，帮我列个清单。"), ("assistant", "先订搬家公司。")]
    assert found.messages[0].said_at == datetime(2024, 3, 1, 0, 0, 1, tzinfo=UTC)
    assert found.left_out == {
        LeftOut.HIDDEN: 1,
        LeftOut.THINKING: 1,
        LeftOut.TOOL: 2,
        LeftOut.ATTACHMENT: 1,
        LeftOut.OTHER_BRANCH: 1,
    }


@pytest.mark.parametrize("current", [None, "nowhere", 5])
def test_without_a_current_node_the_newest_end_counts(chatgpt: dict[str, Any], current: Any) -> None:
    chatgpt["current_node"] = current
    assert read_one(chatgpt).messages[-1].source_id == "answer"


def test_a_circle_of_parents_ends(chatgpt: dict[str, Any]) -> None:
    chatgpt["mapping"]["root"]["parent"] = "answer"
    assert len(read_one(chatgpt).messages) == 2


def test_what_was_said_aloud_is_text(chatgpt: dict[str, Any]) -> None:
    chatgpt["mapping"]["ask"]["message"]["content"]["parts"] = [
        {"content_type": "audio_transcription", "text": "I said this", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
    ]
    found = read_one(chatgpt)
    assert (found.messages[0].content, found.left_out[LeftOut.ATTACHMENT]) == ("I said this", 1)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"metadata": {"is_user_system_message": True}},
        {"author": {"role": "system"}},
        {"content": {"content_type": "user_editable_context", "user_profile": "I am a nurse"}},
        {"author": None},
    ],
)
def test_what_the_page_does_not_show_is_left_out(chatgpt: dict[str, Any], change: dict[str, Any]) -> None:
    chatgpt["mapping"]["ask"]["message"] |= change
    found = read_one(chatgpt)
    assert [message.source_id for message in found.messages] == ["answer"]
    assert found.left_out[LeftOut.HIDDEN] == 2


@pytest.mark.parametrize("value", [None, 5, "text", {}, {"title": "t", "mapping": []}])
def test_what_is_no_conversation_is_said_to_be_none(value: Any) -> None:
    for found in (read_chatgpt_conversation(value), read_deepseek_conversation(value)):
        assert found.reason is LeftOut.MALFORMED


def test_without_ids_the_same_conversation_has_the_same_name(chatgpt: dict[str, Any]) -> None:
    del chatgpt["conversation_id"]
    assert read_one(chatgpt).source_id == read_one(copy.deepcopy(chatgpt)).source_id
    assert read_one({**chatgpt, "title": "other"}).source_id != read_one(chatgpt).source_id


@pytest.mark.parametrize(
    "marks",
    [
        {"is_do_not_remember": True, "memory_scope": "global_enabled"},
        {"memory_scope": "disabled"},
        {"memory_scope": "global_disabled"},
        {"is_temporary_chat": True},
    ],
)
def test_a_conversation_that_is_not_remembered_from_is_for_reading_only(
    chatgpt: dict[str, Any], marks: dict[str, Any]
) -> None:
    found = read_one(chatgpt | marks)
    assert (found.learns, len(found.messages)) == (False, 2)


def with_hidden(saved: str, *, created: float, **instructions: Any) -> dict[str, Any]:
    contents = [{"content_type": "model_editable_context", "model_set_context": saved}]
    contents += [{"content_type": "user_editable_context"} | instructions] if instructions else []
    changed = copy.deepcopy(CHATGPT_CONVERSATION) | {"create_time": created}
    for number, content in enumerate(contents):
        message = {"author": {"role": "system"}, "create_time": None, "content": content}
        changed["mapping"][f"hidden {number}"] = {"parent": "root", "children": [], "message": message}  # type: ignore[index]
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
        ("[2025-11-02] A cat.\n[2025-11-03] A dog.", [("A cat.", "2025-11-02"), ("A dog.", "2025-11-03")]),
        ("Has a cat.", [("Has a cat.", "")]),
        ("", []),
    ],
)
def test_saved_memories_come_with_their_dates(saved: str, memories: list[tuple[str, str]]) -> None:
    assert remembered(with_hidden(saved, created=1.0)) == memories


@pytest.mark.parametrize("newest_first", [True, False])
def test_the_memories_of_the_newest_conversation_count_once(newest_first: bool) -> None:
    told = [
        with_hidden("1. Has a cat.\n2. Has a dog.", created=3.0),
        with_hidden("1. Has a cat.\n2. Has a bird.", created=2.0),
    ]
    private = with_hidden("1. Has a secret.", created=4.0) | {"is_do_not_remember": True}
    found = remembered(*(told if newest_first else reversed(told)), private)
    assert found == [("Has a cat.", ""), ("Has a dog.", "")]


@pytest.mark.parametrize(
    ("instructions", "proposals"),
    [
        (
            {"user_profile": "Preferred name: Odile\nI repair clocks.", "user_instructions": "Be brief."},
            [("background", "Preferred name: Odile\nI repair clocks."), ("reply_style", "Be brief.")],
        ),
        (
            {"user_profile": "The user provided the following information.\nUser profile:\n```我是护士```"},
            [("background", "我是护士")],
        ),
        ({"user_profile": None, "user_instructions": 5}, []),
    ],
)
def test_custom_instructions_are_proposed_for_the_profile(
    instructions: dict[str, Any], proposals: list[tuple[str, str]]
) -> None:
    items = read(as_json([with_hidden("", created=1.0, **instructions)]))
    assert [(item.section, item.text) for item in items if isinstance(item, PastProfile)] == proposals


# Claude


def test_an_archive_has_conversations_and_memories() -> None:
    items = read(CLAUDE_ARCHIVE)
    (found,) = [item for item in items if isinstance(item, PastConversation)]
    assert (found.source_id, found.title) == ("c1a0de00-0000-4000-8000-000000000001", "Sourdough")
    assert [message.source_id for message in found.messages] == ["m1", "m3"]
    assert texts(found) == [("user", "I bake bread every Sunday."), ("assistant", "Lovely.\n\nWhich flour?")]
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
    left_out = [item for item in items if isinstance(item, Omission)]
    assert left_out == [Omission(LeftOut.UNSUPPORTED, label="projects.json")]


def test_older_exports_have_the_text_beside_the_content(claude: dict[str, Any]) -> None:
    claude["chat_messages"] = [{"uuid": "1", "sender": "human", "text": "我住在约克"}]
    assert texts(read_one(claude)) == [("user", "我住在约克")]


def test_a_conversation_without_texts_is_left_out(claude: dict[str, Any]) -> None:
    claude["chat_messages"] = [{"uuid": "1", "sender": "human", "content": []}]
    assert read_claude_conversation(claude) == Omission(LeftOut.EMPTY, label="Sourdough")


def test_what_is_neither_is_said_to_be_so() -> None:
    items = read(as_json([CLAUDE_CONVERSATION, {"name": "x"}, 5, {"name": "P", "docs": []}]))
    reasons = [item.reason for item in items if isinstance(item, Omission)]
    assert reasons == [LeftOut.MALFORMED, LeftOut.MALFORMED, LeftOut.UNSUPPORTED]


BEES = "I keep bees behind the chapel."
PASTE = {"file_name": "paste.txt", "file_type": "txt", "extracted_content": BEES}
NOTES = {"file_name": "", "extracted_content": "笔记"}


@pytest.mark.parametrize(
    ("sent", "said", "files", "left_out"),
    [
        ({"text": "", "attachments": [PASTE]}, "[paste.txt]", [BEES], 0),
        ({"text": "Read this.", "attachments": [PASTE]}, "Read this.", [BEES], 0),
        ({"text": "", "attachments": [NOTES, PASTE]}, "[paste.txt] [paste.txt]", ["笔记", BEES], 0),
        ({"text": "Look.", "attachments": [], "files": [{"file_name": "photo.png"}]}, "Look.", [], 1),
        ({"text": "Look.", "attachments": [{"file_name": "x", "extracted_content": " "}, None]}, "Look.", [], 2),
    ],
)
def test_what_was_pasted_is_a_file_of_the_message(
    claude: dict[str, Any], sent: dict[str, Any], said: str, files: list[str], left_out: int
) -> None:
    claude["chat_messages"] = [{"uuid": "1", "sender": "human", "content": []} | sent]
    found = read_one(claude)
    assert texts(found) == [("user", said)]
    assert [(file.name, file.text) for file in found.messages[0].files] == [("paste.txt", text) for text in files]
    assert found.left_out.get(LeftOut.ATTACHMENT, 0) == left_out


def test_the_first_message_asked_anew_is_a_root_of_its_own(claude: dict[str, Any]) -> None:
    said = [("a", ROOT), ("b", "a"), ("c", ROOT), ("d", "c")]
    claude["chat_messages"] = [
        {"uuid": name, "sender": "human", "text": name, "parent_message_uuid": before} for name, before in said
    ]
    found = read_one(claude)
    assert (texts(found), found.left_out[LeftOut.OTHER_BRANCH]) == ([("user", "c"), ("user", "d")], 2)


# DeepSeek


def test_the_newest_branch_is_the_conversation() -> None:
    data = make_zip({"conversations.json": as_json([DEEPSEEK_CONVERSATION]), "user.json": as_json({"user_id": "u"})})
    assert detect(data) == "deepseek"
    (found,) = read(data)
    assert (found.source_id, found.title) == ("5a1c0000-0000-4000-8000-000000000001", "搬家清单")
    assert texts(found) == [
        ("user", "我四月要从成都搬到厦门，帮我列个清单。"),
        ("assistant", "先退租，再订车。"),
        ("user", "我还有一只叫团子的猫。"),
    ]
    assert found.started_at.isoformat() == "2026-02-01T09:00:00.125000+08:00"
    assert found.left_out == {LeftOut.THINKING: 1, LeftOut.OTHER_BRANCH: 1}


def test_messages_without_fragments_take_turns(deepseek: dict[str, Any]) -> None:
    for number, content in (("1", "问题"), ("3", "回答"), ("4", "又一个问题")):
        message = deepseek["mapping"][number]["message"]
        del message["fragments"]
        message |= {"content": content, "reasoning_content": "想一想" if number == "3" else None}
    found = read_one(deepseek)
    assert texts(found) == [("user", "问题"), ("assistant", "回答"), ("user", "又一个问题")]
    assert found.left_out[LeftOut.THINKING] == 1


def test_searches_and_files_are_counted(deepseek: dict[str, Any]) -> None:
    deepseek["mapping"]["3"]["message"]["fragments"].insert(0, {"type": "SEARCH", "results": []})
    deepseek["mapping"]["1"]["message"]["files"] = [{"file_name": "plan.pdf"}]
    found = read_one(deepseek)
    assert (found.left_out[LeftOut.TOOL], found.left_out[LeftOut.ATTACHMENT], len(found.messages)) == (1, 1, 3)


# Grok


def test_the_branch_with_the_newest_message_is_the_conversation() -> None:
    found, left_out = read(as_json(GROK_EXPORT))
    assert (found.source_id, found.title, found.learns) == ("97c20000-0000-4000-8000-000000000001", "跑步", True)
    assert texts(found) == [("user", "我每天早上跑五公里。"), ("assistant", "Great. Where?")]
    assert [message.said_at for message in found.messages] == [
        datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 2)
    ]
    assert found.left_out == {LeftOut.ATTACHMENT: 1, LeftOut.THINKING: 1, LeftOut.OTHER_BRANCH: 1}
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="projects")


@pytest.mark.parametrize("value", [None, 5, {}, {"conversation": {"title": "t"}, "responses": 5}])
def test_what_is_no_conversation_of_grok_is_said_to_be_none(value: Any) -> None:
    assert read_grok_conversation(value).reason is LeftOut.MALFORMED


def test_a_temporary_chat_of_grok_is_for_reading_only() -> None:
    (value,) = copy.deepcopy(GROK_EXPORT["conversations"])
    value["conversation"] |= {"temporary": True, "leaf_response_id": "g2"}
    value["responses"] += [None, {"response": {"_id": ["x"], "create_time": {"$date": {"$numberLong": "9" * 5_000}}}}]
    found = read_grok_conversation(value)
    assert (found.learns, [message.source_id for message in found.messages]) == (False, ["g1", "g2"])


# What is broken or lost, in the first three


@pytest.mark.parametrize(
    "broken",
    [
        None, 5, {}, {"message": "text"}, {"message": {"content": []}}, {"message": {"content": {"parts": 5}}},
        {"message": {"fragments": ["text", None]}}, {"sender": "system", "text": "x"},
        {"sender": "human", "content": [None, 5, {}]},
    ],
)  # fmt: skip
def test_a_broken_message_costs_no_other(
    chatgpt: dict[str, Any], claude: dict[str, Any], deepseek: dict[str, Any], broken: Any
) -> None:
    chatgpt["mapping"]["thought"] = {**(broken if isinstance(broken, dict) else {}), "parent": "ask"}
    chatgpt["mapping"]["stray"] = deepseek["mapping"]["stray"] = broken
    claude["chat_messages"].insert(0, broken)
    assert [len(read_one(one).messages) for one in (chatgpt, claude, deepseek)] == [2, 2, 3]


@pytest.mark.parametrize("parent", ["gone", "", 5, ["ask"], {}])
@pytest.mark.parametrize("node", ["answer", "found", "search"])
def test_a_message_whose_parent_is_missing_goes_on_with_what_precedes(
    chatgpt: dict[str, Any], claude: dict[str, Any], node: str, parent: Any
) -> None:
    chatgpt["mapping"][node]["parent"] = parent
    found = read_one(chatgpt)
    assert [message.source_id for message in found.messages] == ["ask", "answer"]
    assert found.left_out[LeftOut.OTHER_BRANCH] == 1
    said = [("a", ROOT), ("b", "a"), ("c", parent), ("d", "c")]
    claude["chat_messages"] = [
        {"uuid": name, "sender": "human", "text": name, "parent_message_uuid": before} for name, before in said
    ]
    found = read_one(claude)
    assert ([message.content for message in found.messages], found.left_out) == (["a", "b", "c", "d"], {})


# Gemini: prompts with their answers, put together to conversations; nothing of other activity


def test_prompts_within_half_an_hour_are_a_conversation_unless_they_name_theirs() -> None:
    first, second, linked, left_out = read(as_json(GEMINI_ACTIVITY))
    assert texts(first) == [("user", "Hi"), ("assistant", "Hello")]
    assert texts(second) == [
        ("user", "我喜欢喝咖啡"), ("assistant", "好的。"), ("user", "And tea?"),
        ("assistant", "Green & black.\n\n- one\n- two"),
    ]  # fmt: skip
    assert (second.title, second.left_out) == ("我喜欢喝咖啡", {LeftOut.ATTACHMENT: 1})
    assert second.messages[0].said_at == datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
    assert (linked.source_id, len(linked.messages)) == ("9d0b", 1)
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=2)


def test_a_page_says_the_same() -> None:
    found, left_out = read(GEMINI_PAGE)
    assert texts(found) == [
        ("user", "我喜欢喝咖啡"), ("assistant", "好的。"), ("user", "And tea?"), ("assistant", "Yes"),
    ]  # fmt: skip
    assert found.messages[0].said_at == datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
    assert found.left_out == {LeftOut.ATTACHMENT: 1}
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=1)


def test_a_newer_export_continues_the_conversation() -> None:
    older, newer = read(as_json(GEMINI_ACTIVITY[3:])), read(as_json(GEMINI_ACTIVITY))
    assert older[1].source_id == newer[1].source_id
    assert older[1].messages == newer[1].messages[:2]


@pytest.mark.parametrize("time", ["Mar 32, 2026, 9:00:00 AM UTC", "2026年3月2日 09:00:00 CST"])
def test_without_a_time_that_can_be_read_each_prompt_stands_alone(time: str) -> None:
    page = "<html>" + gemini_cell("Prompted&nbsp;Hello<br>there", time, "<p>Yes</p>") + gemini_cell("你好", time, "好")
    items = read(page.encode())
    assert [
        (message.role, message.content, message.said_at)
        for item in items
        if isinstance(item, PastConversation)
        for message in item.messages
    ] == [
        ("user", "你好", None), ("assistant", "好", None), ("user", "Hello\nthere", None), ("assistant", "Yes", None),
    ]  # fmt: skip
    assert len(items) == 2


def test_a_prompt_may_hold_a_time_and_a_record_without_one_is_left_out() -> None:
    cells = gemini_cell("Prompted&nbsp;Wake me<br>at 07:00:00<br>please", "Mar 2, 2026, 9:00:00 AM UTC", "")
    found, left_out = read(("<html>" + cells + gemini_cell("Prompted&nbsp;Hi", "yesterday", "Yes")).encode())
    assert [message.content for message in found.messages] == ["Wake me\nat 07:00:00\nplease"]
    assert left_out == Omission(LeftOut.UNSUPPORTED, label="My Activity", count=1)


@pytest.mark.parametrize(
    "data",
    [
        b"<html><body>Hi</body></html>",
        gemini_cell("Watched", "Mar 1, 2026", "", "YouTube").encode(),
        as_json([gemini("x", "")] * 0),
    ],
)
def test_another_page_is_not_taken_for_it(data: bytes) -> None:
    with pytest.raises(UnknownFormat):
        detect(data)


def test_a_page_without_an_end_is_given_up() -> None:
    page = GEMINI_PAGE + b'<div class="outer-cell' + b"x" * (9 * 1024**2)
    with pytest.raises(UnreadableFile, match="too large"):
        read(page)
