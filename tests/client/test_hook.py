"""The hook of Claude Code and Codex (`clients/hooks`), started as they start it, against the running product."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import get_token
from tests.support.http_server import ApiClient

HOOK = Path(__file__).resolve().parents[2] / "clients" / "hooks" / "jiyi_hook.py"

CLAUDE_CODE: list[Any] = [
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "An earlier question"}},
    {
        "type": "assistant",
        "uuid": "a1",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    },
    {"type": "user", "uuid": "m1", "isMeta": True, "message": {"role": "user", "content": "Caveat: said by nobody"}},
    {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [{"type": "text", "text": "我住在约克。"}]}},
    {"type": "assistant", "uuid": "a2", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}},
    {"type": "user", "uuid": "r1", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}},
    {"type": "user", "uuid": "s1", "isSidechain": True, "message": {"role": "user", "content": "A subagent's task"}},
    {
        "type": "assistant",
        "uuid": "a3",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "好的。"}]},
    },
    {"type": "file-history-snapshot", "snapshot": {}},
]
CODEX: list[Any] = [
    {"type": "session_meta", "payload": {"id": "s"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "<environment/>"}]}},
    *[
        {"type": "event_msg", "timestamp": "1", "payload": {"type": "item_completed", "item": item}}
        for item in (
            {"type": "UserMessage", "content": [{"type": "text", "text": "我住在约克。"}]},
            {"type": "AgentMessage", "content": [{"type": "Text", "text": "好的。"}]},
        )
    ],
    {"type": "event_msg", "timestamp": "3", "payload": {"type": "token_count", "info": None}},
]
OLDER_CODEX: list[Any] = [
    {"type": "event_msg", "timestamp": "1", "payload": {"type": "user_message", "message": "我住在约克。"}},
    {"type": "event_msg", "timestamp": "2", "payload": {"type": "agent_message", "message": "好的。"}},
]


def run_hook(event: Any, *, url: str = "", token: str = "", arguments: tuple[str, ...] = ()) -> str:
    """What the hook prints; it never fails, and says nothing of errors."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME")} | {"JIYI_URL": url, "JIYI_TOKEN": token}
    done = subprocess.run(
        [sys.executable, str(HOOK), *arguments],
        input=event if isinstance(event, str) else json.dumps(event),
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def list_messages(alice: ApiClient) -> list[list[tuple[str, str]]]:
    """Role and content of what each session has."""
    sessions = alice.get("/chat/sessions").json()["results"]
    found = [alice.get(f"/chat/sessions/{session['id']}/messages").json()["results"] for session in sessions]
    return [[(message["role"], message["content"]) for message in messages] for messages in found]


@pytest.mark.spec("A4")
def test_a_prompt_gets_what_is_remembered(alice: ApiClient) -> None:
    alice.post("/memory/long-term", json={"category": "preference", "key": "喜欢的颜色", "value": "孔雀蓝"})
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "我喜欢的颜色是什么？"}
    login = {"url": str(alice.base_url), "token": get_token(alice)}
    (given,) = json.loads(run_hook(event, **login)).values()
    assert given["hookEventName"] == "UserPromptSubmit"
    assert "孔雀蓝" in given["additionalContext"]
    assert run_hook(event | {"source": "system"}, **login) == ""
    assert list_messages(alice) == [[]]


@pytest.mark.spec("C9")
@pytest.mark.parametrize(
    ("transcript", "more"),
    [
        (CLAUDE_CODE, {}),
        (CLAUDE_CODE[:-2], {"last_assistant_message": "好的。"}),
        (CODEX, {"turn_id": "t"}),
        (OLDER_CODEX, {}),
    ],
    ids=["Claude Code", "before its transcript has the reply", "Codex", "an older Codex"],
)
def test_a_turn_is_recorded_once(alice: ApiClient, tmp_path: Path, transcript: list[Any], more: dict[str, str]) -> None:
    file = tmp_path / "transcript.jsonl"
    lines = [json.dumps(line, ensure_ascii=False) for line in transcript]
    file.write_text("\n".join([*lines, '{"type": "assist']), "utf-8")
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(file), **more}
    for _again in range(2):
        assert run_hook(event, url=str(alice.base_url), token=get_token(alice)) == ""
    assert list_messages(alice) == [[("user", "我住在约克。"), ("assistant", "好的。")]]


def test_what_fails_is_not_the_programs_concern(alice: ApiClient) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "Hello"}
    login = {"url": str(alice.base_url), "token": get_token(alice)}
    assert run_hook(event, url="http://127.0.0.1:1", token="t") == ""
    assert run_hook(event, url=login["url"], token="wrong") == ""
    assert run_hook("no JSON", **login) == ""
    assert run_hook({"hook_event_name": "Stop", "session_id": "s", "transcript_path": "/nowhere"}, **login) == ""
    assert run_hook("", **login, arguments=("check",)).endswith(": connected.\n")
