"""Every example of docs/python.md, cli.md, api.md and services.md runs as it is, and prints what the guide says.

Those for other libraries run in their environments: `tests/clients/test_integrations.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from apps.accounts.services.people import create_token
from tests.client.conftest import get_token
from tests.client.guides import Example, read_examples
from tests.support.http_server import ApiClient

pytestmark = pytest.mark.long_except("test_what_is_not_run_has_a_reason")

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "clients" / "python" / "src"
NOT_RUN = {
    "pip install": "it installs; tests/client/test_package.py builds and reads the wheel",
    "python -m jiyi.integrations.hermes": "it needs Hermes; tests/clients/programs/jiyi_hermes.py installs the plugin",
}
PYTHON, CLI = (read_examples(ROOT / "docs" / name) for name in ("python.md", "cli.md"))


def is_run(example: Example) -> bool:
    return not example.needs and not any(example.code.startswith(start) for start in NOT_RUN)


def run(command: list[str], code: str, *, alice: ApiClient, home: Path) -> str:
    """Run code as somebody would who has an account; return what it prints."""
    programs = home / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "jiyi").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jiyi "$@"\n')
    (programs / "jiyi").chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(SOURCE),
        "PYTHONUTF8": "1",
        "JIYI_URL": str(alice.base_url),
        "JIYI_TOKEN": get_token(alice),
    }
    done = subprocess.run(command, input=code, cwd=home, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", [it for it in PYTHON if it.language == "python" and is_run(it)], ids=str)
def test_python(example: Example, alice: ApiClient, home: Path):
    example.check(run([sys.executable, "-"], example.code, alice=alice, home=home))


def test_the_command_line_from_top_to_bottom(alice: ApiClient, home: Path):
    for example in CLI:
        if is_run(example):
            example.check(run(["bash", "-e", "-o", "pipefail"], example.code, alice=alice, home=home))


def test_what_is_not_run_has_a_reason():
    every = PYTHON + CLI
    assert {example.language for example in every} == {"python", "sh"}
    left_out = [example for example in every if not is_run(example) and not example.needs]
    assert len(left_out) == 3
    assert {example.needs for example in every} == {"", "langchain", "llama-index"}


@pytest.mark.spec("T4")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", ["api.md", "services.md"])
def test_the_api_from_top_to_bottom(alice: ApiClient, tmp_path: Path, page: str) -> None:
    """In one shell; the first block makes a token in the installation of whoever reads it."""
    examples = [example for example in read_examples(ROOT / "docs" / page) if example.language == "bash"]
    assert [example.code.startswith("export JIYI=") for example in examples] == [True] + [False] * (len(examples) - 1)
    end = "--- end of example ---"
    script = "".join(f"{example.code}\necho '{end}'\n" for example in examples[1:])
    token = create_token(user=alice.user, is_service=page == "services.md")
    environment = {"PATH": os.environ["PATH"], "JIYI": str(alice.base_url), "JIYI_TOKEN": token}
    shell = ["bash", "-e", "-u", "-o", "pipefail"]
    done = subprocess.run(
        shell, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    for example, text in zip(examples[1:], done.stdout.split(end)[:-1], strict=True):
        example.check(text)
