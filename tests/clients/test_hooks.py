"""Claude Code and Codex, unmodified, with our hook: their model gets what is recalled, their turns are recorded."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.agents import REPLY, AgentModel, run_agent_model
from tests.clients.environments import PROJECT, clean_environment, install_node
from tests.clients.stack import Account

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
def agent_model() -> Iterator[AgentModel]:
    """The model behind the agent."""
    with run_agent_model() as model:
        yield model


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
