"""The examples of docs/clients.md and docs/openai.md do what they say, word for word but for the address."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.conftest import REPLY
from tests.clients.environments import PROJECT, Environment, clean_environment
from tests.clients.stack import Account
from tests.support.scripted_model import ScriptedModel

ADDRESS = "http://127.0.0.1:8000"
RUNNABLE = re.compile(r"<!-- run: (\S+) -->\n```(\w+)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of a page and the environment that it runs in."""

    environment: str
    language: str
    text: str


PAGES = ("clients.md", "openai.md")
EXAMPLES = [Example(*found) for page in PAGES for found in RUNNABLE.findall((PROJECT / "docs" / page).read_text())]


def test_there_are_examples() -> None:
    assert [example.environment for example in EXAMPLES] == [
        "bash",
        "node",
        "node",
        "langchain-openai",
        "llama-index",
        "openai",
    ]


@pytest.mark.spec("T3")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.environment}-{example.language}")
def test_an_example_answers(
    example: Example,
    account: Account,
    model: ScriptedModel,
    python_environment: Callable[[str], Environment],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    if example.environment == "bash":
        command, folder = ["bash", "-euo", "pipefail"], tmp_path
    else:
        node = example.environment == "node"
        environment = request.getfixturevalue("node") if node else python_environment(example.environment)
        command = [str(environment.interpreter), *(["--input-type=module"] if node else []), "-"]
        folder = environment.folder  # Node looks for packages from here
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean_environment(tmp_path) | {"JIYI_TOKEN": account.token},
        input=example.text.replace(ADDRESS, account.url),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert REPLY in done.stdout or REPLY.encode("ascii", "backslashreplace").decode() in done.stdout
    roles = [role for role, _content in account.list_messages()]
    assert roles
    assert roles == ["user", "assistant"] * (len(roles) // 2)
