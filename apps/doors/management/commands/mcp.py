"""``manage.py mcp``: the MCP server on stdin and stdout, for a client that starts it (T2)."""

from __future__ import annotations

import os
from typing import Any

import anyio
import mcp_types as types
from django.core.management.base import BaseCommand, CommandError, CommandParser
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from apps.accounts.models import User
from apps.accounts.services.people import END_USER_HEADER, SPACE_HEADER, find_token, resolve_person
from apps.accounts.types import ALL_SCOPES
from apps.core.db import in_database, release_connections
from apps.core.errors import JiyiError
from apps.doors.mcp.server import Access, Context, build_server, read_access


class Command(BaseCommand):
    help = (
        "Serve MCP on stdin and stdout. For whom: --user, or the API token in the environment variable JIYI_TOKEN; "
        "with a service token, JIYI_END_USER names the end user."
    )

    requires_system_checks = ["environment"]  # a client waits for the server that it starts

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", help="username; whoever runs this command may do everything as this user")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        _find_access(user)
        release_connections()

        async def find_access(_ctx: Context) -> Access:
            """Looked up for each request: a token that is revoked meanwhile counts no more."""
            try:
                return await in_database(_find_access, user)
            except CommandError as error:
                raise MCPError(code=types.INVALID_REQUEST, message=str(error)) from None

        anyio.run(_serve, build_server(find_access))


def _find_access(username: str | None) -> Access:
    if username is not None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user named {username!r}.")
        return Access(user=user, scopes=ALL_SCOPES, author=username)
    text = os.environ.get("JIYI_TOKEN", "")
    if not text:
        raise CommandError("Name a user with --user, or set JIYI_TOKEN to an API token.")
    token = find_token(text)
    if token is None:
        raise CommandError("JIYI_TOKEN is not a valid API token.")
    named = {END_USER_HEADER: os.environ.get("JIYI_END_USER"), SPACE_HEADER: os.environ.get("JIYI_SPACE")}
    try:
        person = resolve_person(token=token, headers={name: text for name, text in named.items() if text is not None})
    except JiyiError as error:
        raise CommandError(error.message) from None
    return read_access(person, token)


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
