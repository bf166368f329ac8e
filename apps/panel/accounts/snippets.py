"""How to use a new token: what to copy for each door that this installation has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

END_USER = "mei"
"""Whom the examples of a service name."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy, with a heading and a sentence. `id` is unique on the page."""

    id: str
    title: str
    note: str
    text: str


def list_snippets(*, server: str, token: str, is_service: bool) -> Iterator[Snippet]:
    """Yield what to copy for REST, OpenAI's clients, agents and Open WebUI. `server`: its address without a slash."""
    headers = {"Authorization": f"Bearer {token}"} | ({"X-End-User": END_USER} if is_service else {})
    lines = [f"curl {server}/memory/long-term", *(f'-H "{name}: {value}"' for name, value in headers.items())]
    yield Snippet("curl", "REST", _("From the command line:"), " \\\n  ".join(lines))
    if _is_served("/v1/chat/completions"):
        note = _("With any OpenAI client, which then has a memory:")
        yield Snippet("openai", "OpenAI", note, _write_python(server, token, is_service=is_service))
    if _is_served("/mcp"):
        entry = {"type": "http", "url": f"{server}/mcp", "headers": headers}
        config = json.dumps({"mcpServers": {"jiyi": entry}}, indent=2)
        yield Snippet("mcp", "MCP", _("In the configuration of an MCP client:"), config)
    if is_service and _is_served("/v1/chat/completions"):
        note = _("Add a connection with this base URL and key, and set the variable so that it names its users:")
        lines = [f"OPENAI_API_BASE_URL={server}/v1", f"OPENAI_API_KEY={token}", "ENABLE_FORWARD_USER_INFO_HEADERS=true"]
        yield Snippet("open-webui", "Open WebUI", note, "\n".join(lines))


def _write_python(server: str, token: str, *, is_service: bool) -> str:
    question = _("What do you know about me?")
    named = f'user="{END_USER}", ' if is_service else ""
    return "\n".join(
        [
            "from openai import OpenAI",
            "",
            f'client = OpenAI(base_url="{server}/v1", api_key="{token}")',
            "model = client.models.list().data[0].id",
            "reply = client.chat.completions.create(",
            f'    model=model, {named}messages=[{{"role": "user", "content": "{question}"}}]',
            ")",
            "print(reply.choices[0].message.content)",
        ]
    )


def _is_served(address: str) -> bool:
    """Whether this installation has such an address."""
    try:
        resolve(address)
    except Resolver404:
        return False
    return True
