"""hermes-agent: our plugin, found, loaded and driven by Hermes's own memory manager."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

given = json.load(sys.stdin)
home = Path(os.environ["HERMES_HOME"])
home.mkdir(parents=True, exist_ok=True)
found: dict[str, Any] = {}

with redirect_stdout(io.StringIO()) as printed:
    from agent.memory_manager import MemoryManager
    from plugins.memory import discover_memory_providers, load_memory_provider

    from jiyi import Jiyi
    from jiyi.integrations.hermes import install_plugin

    install_plugin(home)
    found["without a token"] = next(it for it in discover_memory_providers() if it[0] == "jiyi")[1:]
    os.environ |= {"JIYI_URL": given["url"], "JIYI_TOKEN": given["token"]}
    client = Jiyi()
    client.long_term.create(category="preference", key="喜欢的颜色", value="蓝色")

    def start(session_id: str, **options: Any) -> MemoryManager:
        provider = load_memory_provider("jiyi")
        assert provider.is_available()
        manager = MemoryManager()
        manager.add_provider(provider)
        defaults = {"platform": "cli", "hermes_home": str(home), "agent_context": "primary"}
        manager.initialize_all(session_id, **(defaults | options))
        return manager

    def list_messages(session_id: str) -> list[list[str]]:
        known = json.loads((home / "jiyi" / "sessions.json").read_text())
        return [[it.role, it.content] for it in client.sessions.iterate_messages(known[session_id])]

    manager = start("first")
    found["prompt"] = manager.build_system_prompt()
    found["tools"] = sorted(schema["name"] for schema in manager.get_all_tool_schemas())
    found["recalled"] = manager.prefetch_all("我喜欢的颜色是什么？", session_id="first")
    found["not recalled"] = manager.prefetch_all("What is the weather like?", session_id="first")
    for said in ("I have a sister called Wilhelmina.", "Ok.", "Ok."):
        manager.sync_all(said, "Noted.", session_id="first", messages=[])
    manager.flush_pending(timeout=30)
    found["first"] = list_messages("first")

    # The agent continues under another ID after it compressed its context; /new begins another conversation.
    manager.on_session_switch("second", parent_session_id="first", reason="compression")
    manager.sync_all("After compression", "Noted.", session_id="second")
    manager.on_session_switch("third", parent_session_id="", reset=True)
    manager.sync_all("Something new", "Noted.", session_id="third")
    manager.flush_pending(timeout=30)
    found["second"], found["third"] = list_messages("second")[-2:], list_messages("third")

    # Tools, and what the agent's own memory tool writes.
    found["remembered"] = json.loads(manager.handle_tool_call("jiyi_remember", {"content": "The user owns a boat."}))
    found["searched"] = json.loads(manager.handle_tool_call("jiyi_search", {"query": "boat", "limit": 3}))
    found["forgotten"] = json.loads(manager.handle_tool_call("jiyi_forget", {"id": found["remembered"]["id"]}))
    found["again"] = json.loads(manager.handle_tool_call("jiyi_forget", {"id": found["remembered"]["id"]}))
    found["wrong"] = json.loads(manager.handle_tool_call("jiyi_search", {}))
    manager.on_memory_write("add", "user", "The user prefers tea.")
    manager.on_memory_write("remove", "user", "The user prefers tea.")
    found["mirrored"] = [it.content for it in client.atomic.iterate(search="tea")]
    manager.shutdown_all()

    # Another process of the same agent knows its sessions; one that was deleted there is begun anew.
    manager = start("third")
    manager.sync_all("Later", "Noted.", session_id="third")
    manager.flush_pending(timeout=30)
    found["resumed"] = list_messages("third")
    client.sessions.delete(json.loads((home / "jiyi" / "sessions.json").read_text())["third"])
    manager.sync_all("After deletion", "Noted.", session_id="third")
    manager.flush_pending(timeout=30)
    found["anew"] = list_messages("third")
    manager.shutdown_all()

    # A schedule is not the user: it may search, and nothing of it is kept.
    before = client.sessions.list().count
    manager = start("job", agent_context="cron", platform="cron")
    manager.sync_all("Write the report", "Done.", session_id="job")
    manager.flush_pending(timeout=30)
    found["job"] = {
        "recalled": manager.prefetch_all("喜欢的颜色", session_id="job"),
        "tools": [schema["name"] for schema in manager.get_all_tool_schemas()],
        "kept": client.sessions.list().count - before,
    }
    manager.shutdown_all()

    # The server is gone: the agent goes on without it.
    os.environ["JIYI_URL"] = "http://127.0.0.1:1"
    manager = start("offline")
    found["offline"] = manager.prefetch_all("我喜欢的颜色是什么？", session_id="offline")
    manager.shutdown_all()

found["printed"] = printed.getvalue()
json.dump(found, sys.stdout)
