"""Small files in the shapes that the sources really write, made by hand, in both languages."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from apps.doors.imports.formats.registry import detect_format
from apps.doors.imports.formats.uploads import Upload
from apps.doors.imports.types import Item

CHATGPT_CONVERSATION = {
    "title": "搬家计划",
    "create_time": 1709251200.5,
    "update_time": 1709251260.0,
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["system"]},
        "system": {
            "id": "system",
            "parent": "root",
            "children": ["ask"],
            "message": {
                "id": "system",
                "author": {"role": "system", "name": None, "metadata": {}},
                "create_time": None,
                "content": {"content_type": "text", "parts": [""]},
                "metadata": {"is_visually_hidden_from_conversation": True},
                "recipient": "all",
            },
        },
        "ask": {
            "id": "ask",
            "parent": "system",
            "children": ["thought", "old answer"],
            "message": {
                "id": "ask",
                "author": {"role": "user", "name": None, "metadata": {}},
                "create_time": 1709251201.0,
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [
                        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                        "我三月要搬到上海，帮我列个清单。",
                    ],
                },
                "metadata": {},
                "recipient": "all",
            },
        },
        "old answer": {
            "id": "old answer",
            "parent": "ask",
            "children": [],
            "message": {
                "id": "old answer",
                "author": {"role": "assistant"},
                "create_time": 1709251202.0,
                "content": {"content_type": "text", "parts": ["A first attempt."]},
                "metadata": {},
                "recipient": "all",
            },
        },
        "thought": {
            "id": "thought",
            "parent": "ask",
            "children": ["search"],
            "message": {
                "id": "thought",
                "author": {"role": "assistant"},
                "create_time": 1709251203.0,
                "content": {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
                "metadata": {},
                "recipient": "all",
            },
        },
        "search": {
            "id": "search",
            "parent": "thought",
            "children": ["found"],
            "message": {
                "id": "search",
                "author": {"role": "assistant"},
                "create_time": 1709251204.0,
                "content": {"content_type": "code", "language": "unknown", "text": 'search("上海 搬家")'},
                "metadata": {},
                "recipient": "browser",
            },
        },
        "found": {
            "id": "found",
            "parent": "search",
            "children": ["answer"],
            "message": {
                "id": "found",
                "author": {"role": "tool", "name": "browser"},
                "create_time": 1709251205.0,
                "content": {"content_type": "tether_browsing_display", "result": "r", "summary": "s"},
                "metadata": {},
                "recipient": "all",
            },
        },
        "answer": {
            "id": "answer",
            "parent": "found",
            "children": [],
            "message": {
                "id": "answer",
                "author": {"role": "assistant"},
                "create_time": 1709251206.0,
                "content": {"content_type": "text", "parts": ["先订搬家公司。\ue200cite\ue202turn0search0\ue201"]},
                "metadata": {},
                "recipient": "all",
            },
        },
    },
    "current_node": "answer",
    "conversation_id": "65e1c0de-0000-4000-8000-000000000001",
    "is_archived": False,
}

DEEPSEEK_CONVERSATION: dict[str, Any] = {
    "id": "5a1c0000-0000-4000-8000-000000000001",
    "title": "搬家清单",
    "inserted_at": "2026-02-01T09:00:00.125000+08:00",
    "updated_at": "2026-02-02T09:00:00.125000+08:00",
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": {
            "id": "1",
            "parent": "root",
            "children": ["2", "3"],
            "message": {
                "files": [],
                "model": "deepseek-chat",
                "inserted_at": "2026-02-01T09:00:00.125000+08:00",
                "fragments": [{"type": "REQUEST", "content": "我四月要从成都搬到厦门，帮我列个清单。"}],
            },
        },
        "2": {
            "id": "2",
            "parent": "1",
            "children": [],
            "message": {
                "files": [],
                "model": "deepseek-reasoner",
                "inserted_at": "2026-02-01T09:00:00.125000+08:00",
                "fragments": [
                    {"type": "THINK", "content": "搬家。"},
                    {"type": "RESPONSE", "content": "先订车。"},
                ],
            },
        },
        "3": {
            "id": "3",
            "parent": "1",
            "children": ["4"],
            "message": {
                "files": [],
                "model": "deepseek-reasoner",
                "inserted_at": "2026-02-02T09:00:00.125000+08:00",
                "fragments": [
                    {"type": "THINK", "content": "重新想一遍。"},
                    {"type": "RESPONSE", "content": "先退租，再订车。"},
                ],
            },
        },
        "4": {
            "id": "4",
            "parent": "3",
            "children": [],
            "message": {
                "files": [],
                "model": "deepseek-chat",
                "inserted_at": "2026-02-02T09:00:00.125000+08:00",
                "fragments": [{"type": "REQUEST", "content": "我还有一只叫团子的猫。"}],
            },
        },
    },
}

CLAUDE_CONVERSATION = {
    "uuid": "c1a0de00-0000-4000-8000-000000000001",
    "name": "Sourdough",
    "summary": "",
    "created_at": "2025-06-12T10:00:00.000000Z",
    "updated_at": "2025-06-12T10:05:00.000000Z",
    "account": {"uuid": "acc0"},
    "chat_messages": [
        {
            "uuid": "m1",
            "text": "I bake bread every Sunday.",
            "content": [{"type": "text", "text": "I bake bread every Sunday.", "citations": []}],
            "sender": "human",
            "created_at": "2025-06-12T10:00:01.000000Z",
            "attachments": [{"file_name": "notes.txt", "extracted_content": "flour"}],
            "files": [],
            "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        },
        {
            "uuid": "m2",
            "text": "",
            "content": [{"type": "text", "text": "An answer that was made again."}],
            "sender": "assistant",
            "created_at": "2025-06-12T10:00:02.000000Z",
            "attachments": [],
            "files": [],
            "parent_message_uuid": "m1",
        },
        {
            "uuid": "m3",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "Hmm."},
                {"type": "tool_use", "name": "web_search", "input": {}},
                {"type": "tool_result", "content": []},
                {"type": "text", "text": "Lovely."},
                {"type": "text", "text": "Which flour?"},
            ],
            "sender": "assistant",
            "created_at": "2025-06-12T10:00:03.000000Z",
            "attachments": [],
            "files": [],
            "parent_message_uuid": "m1",
        },
    ],
}

CLAUDE_MEMORIES = [
    {
        "conversations_memory": "**Work context**\n\nMei is a nurse in York. She works nights.\n\n"
        "**饮食**\n\n- 不吃香菜\n- 喜欢喝茶",
        "project_memories": {"p1": "The garden project is about roses."},
        "account_uuid": "acc0",
    }
]

MEM0_RESULTS = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Likes to play badminton on weekends",
            "hash": "1a271c007316c94377175ee80e746a19",
            "metadata": {"source": "chat"},
            "categories": ["hobbies"],
            "created_at": "2025-02-20T16:33:00.717899-07:00",
            "updated_at": None,
            "user_id": "alice",
        },
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8f",
            "memory": "对花生过敏",
            "created_at": "2025-02-21T08:00:00Z",
            "user_id": "alice",
        },
        {"id": "x1", "memory": "Owns a boat", "user_id": "bob"},
        {"id": "x2", "memory": "Gone", "user_id": "alice", "is_deleted": True},
        {"id": "x3", "memory": "", "user_id": "alice"},
        "no memory",
    ],
    "relations": [{"source": "alice", "relationship": "likes", "target": "badminton"}],
}

LETTA_AGENT_FILE = {
    "agents": [
        {
            "id": "agent-0",
            "name": "memo",
            "agent_type": "letta_v1_agent",
            "block_ids": ["block-0", "block-1"],
            "in_context_message_ids": ["message-0"],
            "messages": [
                {
                    "type": "message",
                    "role": "system",
                    "content": [{"type": "text", "text": "You are…"}],
                    "id": "message-0",
                },
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "text", "text": "I moved to Leeds."}],
                    "created_at": "2025-09-01T10:00:00+00:00",
                    "id": "message-1",
                },
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Welcome!"}],
                    "tool_calls": None,
                    "created_at": "2025-09-01T10:00:05+00:00",
                    "id": "message-2",
                },
                {"type": "message", "role": "tool", "content": [{"type": "text", "text": "OK"}], "id": "message-3"},
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "persona", "value": "I am a friendly memo.", "limit": 5000},
        {"id": "block-1", "label": "human", "value": "- 用户叫李雷\n- 用户是护士", "limit": 5000},
    ],
    "files": [],
    "sources": [],
    "tools": [{"id": "tool-0", "name": "greet"}],
    "mcp_servers": [],
    "metadata": {"revision_id": "1"},
}

LETTA_OLD_AGENT_FILE = {
    "agent_type": "memgpt_agent",
    "core_memory": [
        {"label": "persona", "value": "I am Sam.", "created_at": "2025-03-01T00:00:00"},
        {"label": "human", "value": "Her name is Ada.", "created_at": "2025-03-01T00:00:00"},
    ],
    "created_at": "2025-03-01T00:00:00+00:00",
    "name": "sam",
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": '{"type": "login", "last_login": "Never"}'}],
            "created_at": "2025-03-01T00:00:01+00:00",
        },
        {
            "role": "user",
            "content": [{"type": "text", "text": '{"type": "user_message", "message": "我养了一只猫", "time": "t"}'}],
            "created_at": "2025-03-01T00:00:02+00:00",
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "She has a cat. I greet her."}],
            "tool_calls": [{"id": "c", "function": {"name": "send_message", "arguments": '{"message": "它叫什么？"}'}}],
            "created_at": "2025-03-01T00:00:03+00:00",
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I had better note that."}],
            "tool_calls": [{"id": "d", "function": {"name": "core_memory_append", "arguments": "{}"}}],
            "created_at": "2025-03-01T00:00:04+00:00",
        },
    ],
    "version": "0.6.47",
}

LETTA_PASSAGES = [
    {
        "id": "passage-1",
        "text": "Ada studied in Porto.",
        "agent_id": "a",
        "created_at": "2025-04-01T00:00:00Z",
        "tags": ["life"],
    },
    {"id": "passage-2", "text": "Gone.", "agent_id": "a", "created_at": "2025-04-01T00:00:00Z", "is_deleted": True},
]

ZEP_EDGES = {
    "edges": [
        {
            "uuid": "e1",
            "name": "LIVES_IN",
            "fact": "Kendra lived in Leeds",
            "created_at": "2025-01-01T00:00:00Z",
            "valid_at": "2020-01-01T00:00:00Z",
            "invalid_at": "2024-05-01T00:00:00Z",
            "expired_at": "2024-05-02T00:00:00Z",
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
            "episodes": [],
        },
        {
            "uuid": "e2",
            "name": "LIVES_IN",
            "fact": "Kendra 住在约克",
            "created_at": "2025-01-02T00:00:00Z",
            "valid_at": "2024-05-01T00:00:00Z",
            "invalid_at": None,
            "expired_at": None,
            "source_node_uuid": "n1",
            "target_node_uuid": "n3",
            "episodes": [],
        },
    ],
    "nodes": [{"uuid": "n1", "name": "Kendra", "summary": ""}],
}

ZEP_SESSIONS = [
    {
        "session_id": "s1",
        "created_at": "2025-07-01T00:00:00Z",
        "metadata": {"title": "换工作"},
        "facts": ["Alice works at ByteDance"],
        "messages": [
            {
                "uuid": "z1",
                "role": "Alice",
                "role_type": "user",
                "content": "我跳槽了",
                "created_at": "2025-07-01T00:00:01Z",
            },
            {
                "uuid": "z2",
                "role": "bot",
                "role_type": "assistant",
                "content": "恭喜",
                "created_at": "2025-07-01T00:00:02Z",
            },
            {"uuid": "z3", "role": "crm", "role_type": "tool", "content": "{}", "created_at": "2025-07-01T00:00:03Z"},
        ],
    }
]

PLAIN_LINES = [
    {
        "role": "user",
        "content": "I have two cats.",
        "create_time": "2024-01-01T10:00:00Z",
        "session": "a",
        "title": "Cats",
    },
    {"role": "assistant", "content": "What are their names?", "create_time": "2024-01-01T10:00:05Z", "session": "a"},
    {"role": "user", "content": "我在学法语", "create_time": 1704189600, "session": "b"},
    {"memory": "用户对虾过敏", "create_time": "2024-02-01T00:00:00Z", "tags": ["健康"]},
    {"key": "home", "value": "York", "category": "fact"},
]


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def as_lines(values: list[Any]) -> bytes:
    return b"".join(as_json(value) + b"\n" for value in values)


def make_zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def detect(data: bytes) -> str:
    """Return the name of the format that a file is found to have."""
    return detect_format(Upload(io.BytesIO(data))).name


def read(data: bytes) -> list[Item]:
    """Read a file by the format that it is found to have."""
    upload = Upload(io.BytesIO(data))
    return list(detect_format(upload).read(upload))


CHATGPT_ARCHIVE = make_zip(
    {"conversations.json": as_json([CHATGPT_CONVERSATION]), "user.json": as_json({"id": "u"}), "chat.html": b"<html>"}
)
CLAUDE_ARCHIVE = make_zip(
    {
        "conversations.json": as_json([CLAUDE_CONVERSATION]),
        "memories.json": as_json(CLAUDE_MEMORIES),
        "projects.json": as_json([{"uuid": "p1", "name": "Garden"}]),
        "users.json": as_json([{"uuid": "acc0", "full_name": "Mei"}]),
    }
)

FILES: dict[str, tuple[str, bytes]] = {
    "ChatGPT archive": ("chatgpt", CHATGPT_ARCHIVE),
    "ChatGPT archive in parts": (
        "chatgpt",
        make_zip({f"export/conversations-00{number}.json": as_json([CHATGPT_CONVERSATION]) for number in range(2)}),
    ),
    "ChatGPT conversations.json": ("chatgpt", as_json([CHATGPT_CONVERSATION])),
    "ChatGPT single conversation": ("chatgpt", as_json(CHATGPT_CONVERSATION)),
    "Claude archive": ("claude", CLAUDE_ARCHIVE),
    "Claude conversations.json": ("claude", as_json([CLAUDE_CONVERSATION])),
    "Claude single conversation": ("claude", as_json(CLAUDE_CONVERSATION)),
    "Claude memories archive": ("claude", make_zip({"memories/acc0.json": as_json(CLAUDE_MEMORIES[0])})),
    "DeepSeek conversations.json": ("deepseek", as_json([DEEPSEEK_CONVERSATION])),
    "mem0 get_all": ("mem0", as_json(MEM0_RESULTS)),
    "mem0 list": ("mem0", as_json(MEM0_RESULTS["results"])),
    "mem0 lines": ("mem0", as_lines(MEM0_RESULTS["results"][:2])),
    "Letta agent file": ("letta", as_json(LETTA_AGENT_FILE)),
    "Letta old agent file": ("letta", as_json(LETTA_OLD_AGENT_FILE)),
    "Letta passages": ("letta", as_json(LETTA_PASSAGES)),
    "Letta core memory": ("letta", as_json({"blocks": LETTA_AGENT_FILE["blocks"], "prompt_template": ""})),
    "Zep edges": ("zep", as_json(ZEP_EDGES)),
    "Zep edge list": ("zep", as_json(ZEP_EDGES["edges"])),
    "Graphiti facts": ("zep", as_json({"message": "ok", "facts": ZEP_EDGES["edges"]})),
    "Zep sessions": ("zep", as_json(ZEP_SESSIONS)),
    "Zep thread": (
        "zep",
        as_json(
            {
                "thread_id": "t",
                "messages": [
                    {"uuid": "1", "role": "user", "content": "Hi, I'm Jo.", "created_at": "2025-07-01T00:00:01Z"}
                ],
            }
        ),
    ),
    "plain lines": ("plain", as_lines(PLAIN_LINES)),
    "plain array": ("plain", as_json(PLAIN_LINES)),
    "plain conversation": (
        "plain",
        as_json({"title": "t", "messages": [{"role": "user", "content": "我叫李雷"}]}),
    ),
    "plain single line": ("plain", as_lines(PLAIN_LINES[:1])),
    "export of everything": (
        "jiyi",
        as_json(
            {
                "about": "…",
                "exported_at": "2026-11-20T08:30:00+00:00",
                "user": {"id": 1},
                "data": {"conversation": [{"id": "x"}]},
            }
        ),
    ),
}
"""A file of each shape, with its format."""
