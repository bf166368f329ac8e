"""Claude Code and Codex, unmodified, with our hook: their model gets what is recalled, their turns are recorded."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import PROJECT, clean_environment, install_node
from tests.clients.stack import Account

REPLY = "孔雀蓝。"
USAGE = {"input_tokens": 10, "output_tokens": 5}


@dataclass
class AgentModel:
    """Where it listens, and the bodies that it was sent."""

    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list)


def list_message_events() -> Iterator[dict[str, Any]]:
    """A streamed answer of Anthropic's Messages."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "usage": USAGE}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": USAGE}
    yield {"type": "message_stop"}


def list_response_events() -> Iterator[dict[str, Any]]:
    """A streamed answer of OpenAI's Responses."""
    said = {"type": "output_text", "text": REPLY, "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]}
    yield {"type": "response.created", "response": {"id": "resp_1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = USAGE | {"total_tokens": 15, "input_tokens_details": None, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}}


@pytest.fixture
def agent_model() -> Iterator[AgentModel]:
    """The model behind the agent: a server that always says the same, on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer("application/json", b'{"data": [], "models": []}')

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            model.bodies.append(body)
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                return self.answer("application/json", b'{"input_tokens": 10}')
            events = list_response_events() if path.endswith("/responses") else list_message_events()
            lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            return self.answer("text/event-stream", "".join(lines).encode())

        def answer(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model = AgentModel(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()


HOOKS = PROJECT / "clients" / "hooks"
QUESTION = "我喜欢的颜色是什么？"

CODEX_CONFIG = """\
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


@pytest.fixture
def environment(account: Account, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has copied the hook as its README says, and has something to recall."""
    (tmp_path / ".config" / "jiyi").mkdir(parents=True)
    shutil.copy(HOOKS / "jiyi_hook.py", tmp_path / ".config" / "jiyi")
    account.post("/memory/long-term", {"category": "preference", "key": "喜欢的颜色", "value": "孔雀蓝"})
    return clean_environment(tmp_path) | {"JIYI_URL": account.url, "JIYI_TOKEN": account.token}


def run_agent(command: list[str], environment: dict[str, str], *, home: Path) -> str:
    (home / "work").mkdir()
    done = subprocess.run(
        command,
        cwd=home / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(account: Account, model: AgentModel) -> None:
    """The prompt came with what is remembered, and the turn is recorded as it was said."""
    prompts = [json.dumps(body, ensure_ascii=False) for body in model.bodies]
    (asked,) = (prompt for prompt in prompts if "What Jiyi remembers" in prompt)
    assert "孔雀蓝" in asked
    assert QUESTION in asked
    assert account.list_messages() == [("user", QUESTION), ("assistant", REPLY)]


@pytest.mark.spec("C9", "A4")
def test_claude_code(account: Account, agent_model: AgentModel, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    shutil.copy(HOOKS / "settings.json", tmp_path / ".claude" / "settings.json")
    program = install_node("claude_code").folder / "node_modules" / ".bin" / "claude"
    environment |= {"ANTHROPIC_BASE_URL": agent_model.url, "ANTHROPIC_API_KEY": "test", "DISABLE_AUTOUPDATER": "1"}
    environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    assert REPLY in run_agent([str(program), "-p", QUESTION], environment, home=tmp_path)
    check(account, agent_model)


@pytest.mark.spec("C9", "A4")
def test_codex(account: Account, agent_model: AgentModel, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(url=agent_model.url))
    shutil.copy(HOOKS / "settings.json", tmp_path / ".codex" / "hooks.json")
    program = install_node("codex").folder / "node_modules" / ".bin" / "codex"
    options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    run_agent([str(program), "exec", *options, QUESTION], environment | {"SCRIPTED_KEY": "test"}, home=tmp_path)
    check(account, agent_model)
