"""Clients that are generated from the OpenAPI document compile, and work against the running product."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import ANY

import pytest
from django.core.management import call_command

from tests.clients.conftest import PROGRAMS
from tests.clients.environments import PROJECT, Environment, clean_environment, install_node
from tests.support.http_server import ApiClient

TYPESCRIPT = PROJECT / "clients" / "typescript"

STORED = ["Anna is vegetarian."]

STRICT = ["--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "--types", "node"]


def run(
    command: list[str],
    *,
    environment: Environment,
    folder: Path,
    path: str = "",
    given: str = "",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Run a tool of the environment and return what it prints; AssertionError with what it says if it fails."""
    clean = clean_environment(folder) | dict(variables)
    clean["PATH"] = f"{path}:{clean['PATH']}" if path else clean["PATH"]
    command = [str(environment.interpreter), *command]
    done = subprocess.run(command, cwd=folder, env=clean, input=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The document as a file, as `/api/schema` serves it."""
    path = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(path))
    return path


def connect(alice: ApiClient) -> dict[str, Any]:
    return {"url": str(alice.base_url), "token": alice.headers["Authorization"].split()[1]}


@pytest.fixture
def typescript(document: Path) -> Environment:
    """An environment in which our TypeScript client is built, under its name, from the document."""
    node = install_node("typescript", source=TYPESCRIPT)
    for built in ("src", "dist"):
        shutil.rmtree(node.folder / built, ignore_errors=True)
    shutil.copytree(TYPESCRIPT / "src", node.folder / "src")
    shutil.copy(TYPESCRIPT / "tsconfig.json", node.folder)
    tools = node.folder / "node_modules"
    generate = [str(tools / "openapi-typescript" / "bin" / "cli.js"), str(document), "-o", "src/schema.ts"]
    run(generate, environment=node, folder=node.folder)
    run([str(tools / "typescript" / "bin" / "tsc")], environment=node, folder=node.folder)
    return node


def run_typescript(node: Environment, program: str, given: dict[str, Any], **variables: str) -> str:
    """Type-check and run a program; return what it prints."""
    (node.folder / "program.mts").write_text(program, encoding="utf-8")
    compiler = node.folder / "node_modules" / "typescript" / "bin" / "tsc"
    run([str(compiler), *STRICT, "program.mts"], environment=node, folder=node.folder)
    return run(["program.mjs"], environment=node, folder=node.folder, given=json.dumps(given), variables=variables)


@pytest.mark.spec("C6")
def test_typescript(alice: ApiClient, typescript: Environment):
    program = (PROGRAMS / "jiyi_typescript.ts").read_text()
    found = json.loads(run_typescript(typescript, program, connect(alice)))
    assert found.pop("reply")
    assert "蓝色" in found.pop("recalled")
    assert found.pop("errors") == {
        "missing": [404, "not_found", {}],
        "field": [400, "invalid", {"vlaue": ["This field cannot be set here."]}],
        "key": [409, "conflict", ANY],
        "stream": [404, "not_found", {}],
        "webhook": [409, "conflict", {}],
        "token": [401, "unauthenticated", {}],
    }
    assert found == {
        "title": "周五",
        "same": [True, True],
        "commands": STORED,
        "asked": "你好\u2028！",
        "whole": True,
        "stored": [1, 1],
        "status": "active",
        "keys": ["喜欢的颜色"],
        "visit": ["2030-12-01T00:00:00Z", ["minors"]],
        "paused": ["session", None],
        "tidyings": [],
    }


def test_the_example_of_its_readme(alice: ApiClient, typescript: Environment):
    (example,) = re.findall(r"```ts\n(.*?)```", (TYPESCRIPT / "README.md").read_text(), re.DOTALL)
    given = connect(alice)
    example = example.replace("http://127.0.0.1:8000", given["url"])
    assert "I moved to York" in run_typescript(typescript, example, {}, JIYI_TOKEN=given["token"])


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
