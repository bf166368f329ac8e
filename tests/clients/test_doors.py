"""What is said through one door is found through every other: OpenAI's API, REST, MCP, curl, Claude Code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import PROGRAMS, REPLY
from tests.clients.environments import PROJECT, Environment, clean_environment, install_node
from tests.clients.stack import Account, Stack
from tests.support.processes import wait_until
from tests.support.scripted_model import ScriptedModel

SAID = "Remember that my sister is called Wilhelmina."
ASKED = "What is my sister called?"
NAME = "Wilhelmina"

Install = Callable[[str], Environment]


@pytest.fixture
def stdio(stack: Stack, account: Account) -> dict[str, Any]:
    """What starts an MCP server for the account on standard input and output."""
    kept = ("PATH", "JIYI_DATA_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "EMBEDDING_MODEL")
    environment = {name: stack.environment[name] for name in kept}
    return {
        "command": [sys.executable, str(PROJECT / "manage.py"), "mcp"],
        "environment": environment | {"JIYI_TOKEN": account.token},
    }


@pytest.mark.spec("T2", "T3")
def test_what_is_said_in_one_client_is_known_in_all(
    python_environment: Install, account: Account, model: ScriptedModel, stdio: dict[str, Any]
) -> None:
    openai = python_environment("openai")
    assert openai.run(PROGRAMS / "openai_python.py", account.connection(text=SAID))["text"]
    wait_until(lambda: account.find_memories(NAME))

    model.requests.clear()
    replies = {
        "chat completions": curl(account, "/v1/chat/completions", {"messages": [{"role": "user", "content": ASKED}]}),
        "responses": curl(account, "/v1/responses", {"model": "jiyi", "input": ASKED}),
        "rest": account.post(f"/chat/sessions/{account.post('/chat/sessions', {})['id']}/messages", {"content": ASKED}),
    }
    assert all(REPLY in json.dumps(reply, ensure_ascii=False) for reply in replies.values()), replies
    turns = [request.messages for request in model.chat_requests if request.said[-1] == ASKED]
    assert [NAME in json.dumps(messages) for messages in turns] == [True] * len(replies)

    found = python_environment("mcp").run(PROGRAMS / "mcp_.py", account.connection(keyword=NAME, **stdio))
    assert {door: answer["revision"] for door, answer in found.items()} == {
        "http legacy": "2025-11-25",
        "stdio legacy": "2025-11-25",
        "http auto": "2026-07-28",
        "stdio auto": "2026-07-28",
    }
    for door, answer in found.items():
        assert {"search_memories", "add_memory", "createContext"} <= {*answer["tools"]}, door
        assert NAME in answer["found"], door
        assert answer["added"], door
    # And what MCP's clients added is found by the others.
    assert len(account.find_memories("tortoise")) == len(found)
    curl(account, "/v1/chat/completions", {"messages": [{"role": "user", "content": "Which tortoise do I keep?"}]})
    assert "Stdiolegacy" in json.dumps(model.chat_requests[-1].messages)


@pytest.mark.spec("T2")
def test_claude_code_connects(account: Account, stdio: dict[str, Any], tmp_path: Path) -> None:
    """``claude mcp`` needs no account of Anthropic's; ``list`` and ``get`` connect to each server."""
    program = install_node("claude_code").folder / "node_modules" / ".bin" / "claude"

    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    environment = clean_environment(tmp_path) | quiet

    def claude(*arguments: str) -> str:
        done = subprocess.run(
            [str(program), "mcp", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    url = f"{account.url}/mcp"
    claude("add", "--transport", "http", "jiyi", url, "--header", f"Authorization: Bearer {account.token}")
    settings = [part for pair in stdio["environment"].items() for part in ("-e", "=".join(pair))]
    claude("add", "jiyi-stdio", *settings, "--", *stdio["command"])
    claude("add", "--transport", "http", "jiyi-stranger", url)
    listed = {line.partition(":")[0]: line for line in claude("list").splitlines() if line.startswith("jiyi")}
    assert {name: "Connected" in line for name, line in listed.items()} == {
        "jiyi": True,
        "jiyi-stdio": True,
        "jiyi-stranger": False,
    }
    assert "Connected" in claude("get", "jiyi")


def curl(account: Account, path: str, body: dict[str, Any]) -> Any:
    """What curl prints for a request, as JSON."""
    program = shutil.which("curl")
    if program is None:
        pytest.fail("curl is not installed")
    headers = [f"Authorization: Bearer {account.token}", "Content-Type: application/json"]
    headers += [f"{name}: {value}" for name, value in account.headers]
    options = [part for header in headers for part in ("-H", header)]
    done = subprocess.run(
        [program, "-sS", "--fail-with-body", "--max-time", "60", *options, "-d", json.dumps(body), account.url + path],
        env=clean_environment(PROJECT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
