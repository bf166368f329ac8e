"""Clients that are generated from the OpenAPI document compile, and work against the running product."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.clients.conftest import PROGRAMS
from tests.clients.environments import Environment, clean_environment, install_node
from tests.support.http_server import ApiClient

STORED = ["Anna is vegetarian."]

STRICT = ["--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "--types", "node"]


def run(command: list[str], *, environment: Environment, folder: Path, path: str = "") -> None:
    """Run a tool of the environment; AssertionError with what it says if it fails."""
    clean = clean_environment(folder)
    clean["PATH"] = f"{path}:{clean['PATH']}" if path else clean["PATH"]
    done = subprocess.run(
        [str(environment.interpreter), *command], cwd=folder, env=clean, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document as a file, as `/api/schema` serves it."""
    path = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(path))
    return path


def connect(alice: ApiClient) -> dict[str, Any]:
    return {"url": str(alice.base_url), "token": alice.headers["Authorization"].split()[1]}


def test_typescript(alice: ApiClient, document: Path):
    node = install_node("openapi_typescript")
    tools = node.folder / "node_modules"
    shutil.copy(PROGRAMS / "generated_client.ts", node.folder / "generated_client.mts")
    run(
        [str(tools / "openapi-typescript" / "bin" / "cli.js"), str(document), "-o", "jiyi.d.mts"],
        environment=node,
        folder=node.folder,
    )
    run(
        [str(tools / "typescript" / "bin" / "tsc"), *STRICT, "generated_client.mts"],
        environment=node,
        folder=node.folder,
    )
    found = node.run(node.folder / "generated_client.mjs", connect(alice))
    assert found.pop("reply")
    assert found == {
        "title": "周五",
        "stored": STORED,
        "status": "active",
        "keys": ["喜欢的颜色"],
        "code": "not_found",
        "refused": {"vlaue": ["This field cannot be set here."]},
    }


def test_python(alice: ApiClient, document: Path, python_environment: Callable[[str], Environment], tmp_path: Path):
    environment = python_environment("openapi-python-client")
    tools = str(environment.interpreter.parent)  # it formats with ruff
    options = [
        "--path",
        str(document),
        "--meta",
        "none",
        "--output-path",
        str(tmp_path / "generated"),
        "--fail-on-warning",
    ]
    run(["-m", "openapi_python_client", "generate", *options], environment=environment, folder=tmp_path, path=tools)
    run(["-W", "error", "-m", "compileall", "-q", "generated"], environment=environment, folder=tmp_path)
    found = environment.run(PROGRAMS / "generated_client.py", connect(alice), environment={"PYTHONPATH": str(tmp_path)})
    assert found.pop("reply")
    assert found == {
        "title": "周五",
        "stored": STORED,
        "messages": ["user", "assistant"],
        "status": "active",
        "keys": ["喜欢的颜色"],
        "code": [404, "not_found"],
    }
