"""mcp's own client, unmodified, against a running server over HTTP and a process of its own on stdio (T2)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token
from apps.core.db import in_database
from tests.support.http_server import HttpServer
from tests.support.workers import database_url

pytestmark = pytest.mark.spec("T2")

ROOT = Path(__file__).parents[3]
RECENT = "jiyi://memories/recent"


def over_stdio(*arguments: str, **environment: str) -> Client:
    command = StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "manage.py"), "mcp", *arguments],
        env={
            "DATABASE_URL": database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "JIYI_DATA_DIR": str(settings.DATA_DIR),
            "SECRET_KEY": settings.SECRET_KEY,
            **environment,
        },
    )
    return Client(command)


async def make_token(username: str, **options: Any) -> str:
    user = await in_database(User.objects.create_user, username)
    return await in_database(create_token, user=user, name="agent", **options)


async def list_recent(client: Client) -> list[str]:
    read: Any = await client.read_resource(RECENT)
    return [one["text"] for one in json.loads(read.contents[0].text)["results"]]


@pytest.mark.long
async def test_a_client_uses_tools_and_resources_over_stdio_until_its_token_is_revoked(transactional_db: None) -> None:
    async with over_stdio(JIYI_TOKEN=await make_token("mei")) as client:
        assert client.protocol_version == "2026-07-28"
        assert len((await client.list_tools()).tools) == 14
        added = await client.call_tool("add_memory", {"content": "Mei plays the cello."})
        found = await client.call_tool("search_memories", {"keyword": "cello"})
        assert [one["id"] for one in found.structured_content["results"]] == [added.structured_content["memory"]["id"]]
        refused = await client.call_tool("fetchContext", {"id": added.structured_content["memory"]["id"]})
        assert (refused.is_error, refused.content[0].text) == (True, "This context does not exist.")
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["jiyi://profile", RECENT]
        assert await list_recent(client) == ["Mei plays the cello."]
        await in_database(ApiToken.objects.all().delete)
        with pytest.raises(MCPError, match="not a valid API token"):
            await client.call_tool("get_profile", {})


@pytest.mark.long
@pytest.mark.spec("T4")
async def test_on_stdio_a_user_is_named_or_a_service_and_its_end_user(transactional_db: None) -> None:
    service = await make_token("shop", is_service=True)
    await in_database(User.objects.create_user, "mei")
    people = {
        "mei": over_stdio("--user", "mei"),
        "lin": over_stdio(JIYI_TOKEN=service, JIYI_END_USER="lin"),
        "yu": over_stdio(JIYI_TOKEN=service, JIYI_END_USER="yu"),
    }
    for name, connecting in people.items():
        async with connecting as client:
            await client.call_tool("add_memory", {"content": f"This is {name}."})
            assert await list_recent(client) == [f"This is {name}."]


@pytest.mark.long
def test_the_example_of_the_documentation_does_what_it_says(http_server: HttpServer) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "mcp.md").read_text(), re.DOTALL)
    token = create_token(user=User.objects.create_user("anna"))
    done = subprocess.run(
        [sys.executable, "-"],
        env={**os.environ, "JIYI_TOKEN": token},
        input=example.replace("http://127.0.0.1:8000", http_server.url),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout == "Anna is allergic to shrimp.\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        ([], {}, "Name a user with --user, or set JIYI_TOKEN to an API token."),
        ([], {"JIYI_TOKEN": "x"}, "JIYI_TOKEN is not a valid API token."),
        (["--user", "nobody"], {}, "There is no active user named 'nobody'."),
    ],
)
def test_nothing_is_served_on_stdio_for_nobody(
    db: None, monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], message: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CommandError, match=message):
        call_command("mcp", *arguments)
