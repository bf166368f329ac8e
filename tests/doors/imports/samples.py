"""Small files in the shapes that the sources really write, made by hand, in both languages."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from apps.doors.imports.formats.base import Item
from apps.doors.imports.formats.registry import detect_format
from apps.doors.imports.formats.uploads import Upload


def tree(*nodes: dict[str, Any]) -> dict[str, Any]:
    """The nodes of a conversation by their names, each with its children."""
    return {
        node["id"]: node | {"children": [other["id"] for other in nodes if other["parent"] == node["id"]]}
        for node in nodes
    }


def chatgpt(name: str, parent: str, role: str, second: float | None, *parts: Any, **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's tree; `more`: of its message."""
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": second and 1709251200.0 + second,
        "content": {"content_type": "text", "parts": list(parts)},
        "metadata": {},
        "recipient": "all",
    }
    return {"id": name, "parent": parent, "message": message | more}


CHATGPT_CONVERSATION = {
    "title": "搬家计划",
    "create_time": 1709251200.5,
    "update_time": 1709251260.0,
    "mapping": tree(
        {"id": "root", "message": None, "parent": None},
        chatgpt("system", "root", "system", None, "", metadata={"is_visually_hidden_from_conversation": True}),
        chatgpt("ask", "system", "user", 1, content={
            "content_type": "multimodal_text",
            "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                      "我三月要搬到上海，帮我列个清单。"],
        }),
        chatgpt("old answer", "ask", "assistant", 2, "A first attempt."),
        chatgpt("thought", "ask", "assistant", 3, content={
            "content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}],
        }),
        chatgpt("search", "thought", "assistant", 4, recipient="browser", content={
            "content_type": "code", "language": "unknown", "text": 'search("上海 搬家")',
        }),
        chatgpt("found", "search", "tool", 5, content={
            "content_type": "tether_browsing_display", "result": "r", "summary": "s",
        }),
        chatgpt("answer", "found", "assistant", 6, "先订搬家公司。\ue200cite\ue202turn0search0\ue201"),
    ),
    "current_node": "answer",
    "conversation_id": "65e1c0de-0000-4000-8000-000000000001",
    "is_archived": False,
}  # fmt: skip


def deepseek(name: str, parent: str, day: int, **fragments: str) -> dict[str, Any]:
    """A node of DeepSeek's tree; `fragments`: by their type."""
    message = {
        "files": [],
        "model": "deepseek-chat",
        "inserted_at": f"2026-02-0{day}T09:00:00.125000+08:00",
        "fragments": [{"type": kind, "content": content} for kind, content in fragments.items()],
    }
    return {"id": name, "parent": parent, "message": message}


DEEPSEEK_CONVERSATION: dict[str, Any] = {
    "id": "5a1c0000-0000-4000-8000-000000000001",
    "title": "搬家清单",
    "inserted_at": "2026-02-01T09:00:00.125000+08:00",
    "updated_at": "2026-02-02T09:00:00.125000+08:00",
    "mapping": tree(
        {"id": "root", "parent": None, "message": None},
        deepseek("1", "root", 1, REQUEST="我四月要从成都搬到厦门，帮我列个清单。"),
        deepseek("2", "1", 1, THINK="搬家。", RESPONSE="先订车。"),
        deepseek("3", "1", 2, THINK="重新想一遍。", RESPONSE="先退租，再订车。"),
        deepseek("4", "3", 2, REQUEST="我还有一只叫团子的猫。"),
    ),
}


def claude(name: str, parent: str, sender: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message of Claude's."""
    return {
        "uuid": name,
        "text": "",
        "content": list(content),
        "sender": sender,
        "created_at": f"2025-06-12T10:00:0{name[1:]}.000000Z",
        "attachments": [],
        "files": [],
        "parent_message_uuid": parent,
    } | more


CLAUDE_CONVERSATION = {
    "uuid": "c1a0de00-0000-4000-8000-000000000001",
    "name": "Sourdough",
    "summary": "",
    "created_at": "2025-06-12T10:00:00.000000Z",
    "updated_at": "2025-06-12T10:05:00.000000Z",
    "account": {"uuid": "acc0"},
    "chat_messages": [
        claude(
            "m1", "00000000-0000-4000-8000-000000000000", "human",
            {"type": "text", "text": "I bake bread every Sunday.", "citations": []},
            text="I bake bread every Sunday.", attachments=[{"file_name": "notes.txt", "extracted_content": "flour"}],
        ),
        claude("m2", "m1", "assistant", {"type": "text", "text": "An answer that was made again."}),
        claude(
            "m3", "m1", "assistant",
            {"type": "thinking", "thinking": "Hmm."},
            {"type": "tool_use", "name": "web_search", "input": {}},
            {"type": "tool_result", "content": []},
            {"type": "text", "text": "Lovely."},
            {"type": "text", "text": "Which flour?"},
        ),
    ],
}  # fmt: skip

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


def letta(role: str, text: str, second: int, *calls: tuple[str, str]) -> dict[str, Any]:
    """A message of an agent file; `calls`: names of tools with their arguments."""
    return {
        "role": role,
        "content": [{"type": "text", "text": text}],
        "tool_calls": [{"id": "c", "function": {"name": name, "arguments": given}} for name, given in calls],
        "created_at": f"2025-09-01T10:00:0{second}+00:00",
        "id": f"message-{second}",
    }


LETTA_AGENT_FILE = {
    "agents": [
        {
            "id": "agent-0",
            "name": "memo",
            "agent_type": "letta_v1_agent",
            "messages": [
                letta("system", "You are…", 0),
                letta("user", "I moved to Leeds.", 1),
                letta("assistant", "Welcome!", 2),
                letta("tool", "OK", 3),
            ],
        }
    ],
    "groups": [],
    "blocks": [
        {"id": "block-0", "label": "persona", "value": "I am a friendly memo.", "limit": 5000},
        {"id": "block-1", "label": "human", "value": "- 用户叫李雷\n- 用户是护士", "limit": 5000},
    ],
    "tools": [{"id": "tool-0", "name": "greet"}],
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
        letta("user", '{"type": "login", "last_login": "Never"}', 1),
        letta("user", '{"type": "user_message", "message": "我养了一只猫", "time": "t"}', 2),
        letta("assistant", "She has a cat. I greet her.", 3, ("send_message", '{"message": "它叫什么？"}')),
        letta("assistant", "I had better note that.", 4, ("core_memory_append", "{}")),
    ],
    "version": "0.6.47",
}

LETTA_PASSAGES: list[dict[str, Any]] = [
    {"id": "passage-1", "text": "Ada studied in Porto.", "agent_id": "a", "tags": ["life"]},
    {"id": "passage-2", "text": "Gone.", "agent_id": "a", "is_deleted": True},
]


def zep_edge(name: str, fact: str, **times: str | None) -> dict[str, Any]:
    """An edge of Graphiti's graph; `times`: when it was true."""
    nodes = {"source_node_uuid": "n1", "target_node_uuid": "n2", "episodes": []}
    return {"uuid": name, "name": "LIVES_IN", "fact": fact, "created_at": "2025-01-01T00:00:00Z"} | nodes | times


ZEP_EDGES = {
    "edges": [
        zep_edge(
            "e1", "Kendra lived in Leeds", valid_at="2020-01-01T00:00:00Z", invalid_at="2024-05-01T00:00:00Z",
            expired_at="2024-05-02T00:00:00Z",
        ),
        zep_edge("e2", "Kendra 住在约克", valid_at="2024-05-01T00:00:00Z", invalid_at=None, expired_at=None),
    ],
    "nodes": [{"uuid": "n1", "name": "Kendra", "summary": ""}],
}  # fmt: skip


def zep(number: int, role: str, kind: str, content: str) -> dict[str, Any]:
    """A message of a session of Zep's."""
    time = f"2025-07-01T00:00:0{number}Z"
    return {"uuid": f"z{number}", "role": role, "role_type": kind, "content": content, "created_at": time}


ZEP_SESSIONS = [
    {
        "session_id": "s1",
        "created_at": "2025-07-01T00:00:00Z",
        "metadata": {"title": "换工作"},
        "facts": ["Alice works at ByteDance"],
        "messages": [
            zep(1, "Alice", "user", "我跳槽了"), zep(2, "bot", "assistant", "恭喜"), zep(3, "crm", "tool", "{}"),
        ],
    }
]  # fmt: skip


def open_webui(name: str, parent: str | None, role: str, second: int, content: str, **more: Any) -> dict[str, Any]:
    """A message of Open WebUI's."""
    message: dict[str, Any] = {"id": name, "parentId": parent, "childrenIds": [], "role": role, "content": content}
    return message | {"timestamp": 1767225600 + second} | more


OPEN_WEBUI_CHAT: dict[str, Any] = {
    "id": "0a1b0000-0000-4000-8000-000000000001",
    "user_id": "u1",
    "title": "🥖 Bakery",
    "chat": {
        "title": "🥖 Bakery",
        "models": ["llama3"],
        "history": {
            "messages": {
                message["id"]: message
                for message in (
                    open_webui("w1", None, "user", 0, "我开了一家面包店。", files=[{"type": "image", "url": "data:"}]),
                    open_webui("w2", "w1", "assistant", 1, "The version that was shown."),
                    open_webui(
                        "w3", "w1", "assistant", 2,
                        '<details type="reasoning" done="true" duration="3">\n> Hm\n</details>\nAnother version.',
                    ),
                    open_webui(
                        "w4", "w2", "user", 3, "It opens at six.",
                    ),
                )
            },
            "currentId": "w4",
        },
        "messages": [],
    },
    "updated_at": 1767225700,
    "created_at": 1767225600,
    "archived": False,
}  # fmt: skip
OPEN_WEBUI_MEMORIES = [
    {"id": "o1", "user_id": "u1", "content": "用户对花生过敏", "updated_at": 1767225600, "created_at": 1767225600},
    {"id": "o2", "user_id": "u1", "content": "Plays the oboe.", "updated_at": 1767312000, "created_at": 1767225600},
]


def librechat(name: str, parent: str, second: int, text: str, *, user: bool, **more: Any) -> dict[str, Any]:
    """A message of LibreChat's."""
    return {
        "messageId": name,
        "conversationId": "4c1b0000-0000-4000-8000-000000000001",
        "parentMessageId": parent,
        "sender": "User" if user else "GPT-4o",
        "text": text,
        "isCreatedByUser": user,
        "error": False,
        "createdAt": f"2026-02-03T10:00:0{second}.000Z",
    } | more


_LIBRECHAT_MESSAGES = [
    librechat("l1", "00000000-0000-0000-0000-000000000000", 1, "我在学大提琴。", user=True, files=[{"file_id": "f"}]),
    librechat("l2", "l1", 2, "An older answer.", user=False),
    librechat(
        "l3", "l1", 3, "", user=False,
        content=[{"type": "think", "think": "Hm."}, {"type": "text", "text": "很好！"}, {"type": "tool_call"}],
    ),
]  # fmt: skip
LIBRECHAT_CONVERSATION: dict[str, Any] = {
    "conversationId": "4c1b0000-0000-4000-8000-000000000001",
    "endpoint": "openAI",
    "title": "大提琴",
    "exportAt": "10:30:00 GMT+0800 (China Standard Time)",
    "branches": True,
    "recursive": False,
    "messages": _LIBRECHAT_MESSAGES,
}
_LIBRECHAT_TREE = LIBRECHAT_CONVERSATION | {
    "recursive": True,
    "messages": [_LIBRECHAT_MESSAGES[0] | {"children": [one | {"children": []} for one in _LIBRECHAT_MESSAGES[1:]]}],
}


def lobe(name: str, parent: str | None, role: str, second: int, content: str, **more: Any) -> dict[str, Any]:
    """A message of LobeHub's."""
    time = f"2026-03-01T08:00:0{second}.000Z"
    message = {"id": name, "role": role, "content": content, "parentId": parent, "createdAt": time, "updatedAt": time}
    return message | {"topicId": "tpc_1", "sessionId": None, "threadId": None, "reasoning": None, "tools": None} | more


LOBE_BACKUP: dict[str, Any] = {
    "data": {
        "userSettings": [{"id": "x", "general": {}}],
        "messages": [
            lobe("b2", "b1", "assistant", 2, "回答一"),
            lobe("b1", None, "user", 1, "杭州有什么好吃的？我不吃辣。", metadata={"activeBranchIndex": 0}),
            lobe("b3", "b1", "assistant", 3, "回答二", reasoning={"content": "Hm."}),
            lobe("b4", "b2", "tool", 4, "[]"),
            lobe("b5", None, "user", 5, "I live in Hangzhou."),
            lobe("b6", None, "user", 6, "Hello.", topicId=None, sessionId="ssn_1"),
        ],
        "sessions": [{"id": "ssn_1", "title": None, "slug": "inbox"}],
        "topics": [{"id": "tpc_1", "title": "杭州美食", "sessionId": None}],
    },
    "mode": "pglite",
    "schemaHash": "89e9",
}
_LOBE_TOPIC = {
    "exportedAt": "2026-03-02T08:00:00.000Z",
    "messages": LOBE_BACKUP["data"]["messages"][:3],
    "title": "杭州美食",
    "version": "2.0",
}
_LOBE_OLD = {"exportType": "all", "state": LOBE_BACKUP["data"], "version": 7}


def tavern(said: str, time: Any, *, user: bool = False, **more: Any) -> dict[str, Any]:
    """A line of a chat of SillyTavern."""
    return {
        "name": "Tom" if user else "Vex",
        "is_user": user,
        "is_system": False,
        "send_date": time,
        "mes": said,
    } | more


SILLY_TAVERN_CHAT = [
    {"user_name": "Tom", "character_name": "Vex", "create_date": "2026-1-12@10h03m22s", "chat_metadata": {}},
    tavern(
        "Welcome, traveller.", "January 12, 2026 10:03am", swipes=["Welcome, traveller.", "Who is there?"], swipe_id=0
    ),
    tavern("我叫汤姆，我怕黑。", "January 12, 2026 10:04pm", user=True),
    tavern("Night falls.", 1768255500000, extra={"type": "narrator"}),
    tavern("Hidden from the model.", "2026-01-12T22:06:00.000Z", user=True, is_system=True),
    tavern("A candle, then.", "2026-1-12 @22h 07m 10s 123ms", extra={"reasoning": "Hm."}),
]


def gemini(title: str, time: str, answer: str = "", **more: Any) -> dict[str, Any]:
    """A record of Google's activity."""
    record = {"header": "Gemini Apps", "title": title, "time": time, "products": ["Gemini Apps"]}
    return record | ({"safeHtmlItem": [{"html": answer}]} if answer else {}) | more


GEMINI_ACTIVITY = [  # the newest first, as Google writes it
    gemini("Prompted Thanks", "2026-03-03T09:00:00.000Z", details=[{"url": "https://gemini.google.com/app/9d0b"}]),
    gemini("Used Gemini Apps", "2026-03-02T12:00:00.000Z"),
    gemini(
        "Prompted And tea?", "2026-03-02T09:20:00.000Z", "<p>Green &amp; black.</p><ul><li>one</li><li>two</li></ul>"
    ),
    gemini("Prompted 我喜欢喝咖啡", "2026-03-02T09:15:00.000Z", "<p>好的。</p>", attachedFiles=["a.png"]),
    gemini("送信したメッセージ: Hi", "2026-03-01T09:00:00.000Z", "<p>Hello</p>", header="Gemini アプリ", products=[]),
    gemini("Searched for tea", "2026-03-01T08:00:00.000Z", header="Search", products=["Search"]),
]


def gemini_cell(said: str, time: str, answer: str, product: str = "Gemini Apps") -> str:
    """The same on a page."""
    kind = "content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1"
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell"><p class="mdl-typography--title">{product}<br></p></div>'
        f'<div class="{kind}">{said}<br>{time}<br>{answer}</div><div class="{kind} mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-typography--caption"><b>Products:</b><br>Gemini Apps<br></div></div></div>'
    )


GEMINI_PAGE = (
    "<html><head><title>My Activity</title></head><body><div>"
    + gemini_cell("Prompted\xa0And tea?<br>Attached 1 file.<br>- a", "Mar 2, 2026, 9:20:00\u202fAM UTC", "<p>Yes</p>")
    + gemini_cell("Prompted&nbsp;我喜欢喝咖啡", "Mar 2, 2026, 5:15:00 PM GMT+08:00", "<p>好的。</p>")
    + gemini_cell("Watched a film", "Mar 1, 2026, 9:00:00 AM UTC", "", "YouTube")
    + "</div></body></html>"
).encode()  # fmt: skip


def grok(name: str, parent: str | None, sender: str, second: int, message: str, **more: Any) -> dict[str, Any]:
    """A response of Grok's."""
    time = {"$date": {"$numberLong": str(1767225600000 + 1000 * second)}}
    return {
        "response": {
            "_id": name,
            "parent_response_id": parent,
            "sender": sender,
            "message": message,
            "create_time": time,
        }
        | more
    }


GROK_EXPORT: dict[str, Any] = {
    "conversations": [
        {
            "conversation": {
                "id": "97c20000-0000-4000-8000-000000000001",
                "title": "跑步",
                "create_time": "2026-01-01T00:00:00.000000Z",
                "temporary": False,
                "leaf_response_id": "gone",
            },
            "responses": [
                grok("g1", None, "human", 0, "我每天早上跑五公里。", file_attachments=["f"]),
                grok("g2", "g1", "ASSISTANT", 1, "An older answer."),
                grok(
                    "g3", "g1", "grok-4", 2, 'Great.<grok:render type="x">c</grok:render> Where?', thinking_trace="Hm."
                ),
            ],
        }
    ],
    "projects": [{"id": "p"}],
}

_CATS = {"session": "a", "title": "Cats", "create_time": "2024-01-01T10:00:00Z"}
PLAIN_LINES = [
    {"role": "user", "content": "I have two cats.", **_CATS},
    {"role": "assistant", "content": "What are their names?", "create_time": "2024-01-01T10:00:05Z", "session": "a"},
    {"role": "user", "content": "我在学法语", "create_time": 1704189600, "session": "b"},
    {"memory": "用户对虾过敏", "create_time": "2024-02-01T00:00:00Z", "tags": ["健康"]},
    {"key": "home", "value": "York", "category": "fact"},
]
_THREAD = {"uuid": "1", "role": "user", "content": "Hi, I'm Jo.", "created_at": "2025-07-01T00:00:01Z"}
_EXPORT = {"about": "…", "exported_at": "2026-11-20T08:30:00+00:00", "user": {"id": 1}}


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


def texts(conversation: Any) -> list[tuple[str, str]]:
    """Who said what in a conversation that was read."""
    return [(message.role, message.content) for message in conversation.messages]


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

# A file of each shape, with its format.
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
    "Gemini activity": ("gemini", as_json(GEMINI_ACTIVITY)),
    "Gemini page": ("gemini", GEMINI_PAGE),
    "Gemini archive": (
        "gemini",
        make_zip(
            {"Takeout/archive_browser.html": b"<html>", "Takeout/My Activity/Gemini Apps/MyActivity.html": GEMINI_PAGE}
        ),
    ),
    "Grok backend": ("grok", as_json(GROK_EXPORT)),
    "Grok archive": (
        "grok",
        make_zip({"ttl/prod-mc-billing.json": as_json({"a": [1]}), "ttl/prod-grok-backend.json": as_json(GROK_EXPORT)}),
    ),
    "Open WebUI chats": ("openwebui", as_json([OPEN_WEBUI_CHAT])),
    "Open WebUI chat": ("openwebui", as_json(OPEN_WEBUI_CHAT)),
    "Open WebUI old chat": ("openwebui", as_json([OPEN_WEBUI_CHAT["chat"]])),
    "Open WebUI memories": ("openwebui", as_json(OPEN_WEBUI_MEMORIES)),
    "LibreChat conversation": ("librechat", as_json(LIBRECHAT_CONVERSATION)),
    "LibreChat tree": ("librechat", as_json(_LIBRECHAT_TREE)),
    "LobeHub backup": ("lobehub", as_json(LOBE_BACKUP)),
    "LobeHub topic": ("lobehub", as_json(_LOBE_TOPIC)),
    "LobeChat backup of 2024": ("lobehub", as_json(_LOBE_OLD)),
    "SillyTavern chat": ("sillytavern", as_lines(SILLY_TAVERN_CHAT)),
    "SillyTavern archive": ("sillytavern", make_zip({"Vex/a.jsonl": as_lines(SILLY_TAVERN_CHAT)})),
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
    "Zep thread": ("zep", as_json({"thread_id": "t", "messages": [_THREAD]})),
    "plain lines": ("plain", as_lines(PLAIN_LINES)),
    "plain array": ("plain", as_json(PLAIN_LINES)),
    "plain conversation": ("plain", as_json({"title": "t", "messages": [{"role": "user", "content": "我叫李雷"}]})),
    "plain single line": ("plain", as_lines(PLAIN_LINES[:1])),
    "export of everything": ("jiyi", as_json(_EXPORT | {"data": {"conversation": [{"id": "x"}]}})),
}
