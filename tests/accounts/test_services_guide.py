"""The examples in docs/services.md do what the page says, as they stand there."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from apps.accounts.models import User
from apps.memory.models import LongTermMemory
from tests.support.http_server import HttpServer

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[2] / "docs" / "services.md"
ADDRESS = "http://127.0.0.1:8000"


def read_commands() -> list[str]:
    """The commands of the page's shell blocks, in order."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = [command for block in blocks for command in re.split(r"\n\n", block.strip())]
    return [command for command in commands if not command.startswith("TOKEN=")]


def run(command: str, server: HttpServer, token: str) -> Any:
    """Run a command as a shell does, against the server of this test; return the JSON that it printed."""
    environment = {**os.environ, "TOKEN": token, "NO_PROXY": "127.0.0.1"}
    command = command.replace(ADDRESS, server.url).replace("curl ", "curl --silent --show-error --fail-with-body ")
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


@pytest.mark.spec("T4")
def test_the_examples_do_what_the_page_says(http_server: HttpServer):
    create, add, search, of_somebody_else, erase = read_commands()
    output = io.StringIO()
    _python, _manage, name, *options = shlex.split(create)
    call_command(name, *options, stdout=output)
    token = output.getvalue().strip()
    assert run(add, http_server, token)["value"] == "oolong"
    assert [found["memory"]["value"] for found in run(search, http_server, token)["results"]] == ["oolong"]
    assert run(of_somebody_else, http_server, token) == {"results": []}
    assert set(User.objects.values_list("external_id", flat=True)) == {"", "mei@example.com", "lin@example.com"}
    assert run(erase, http_server, token)["verified"]
    assert not LongTermMemory.objects.exists()
