"""mcp's own client, in both revisions and over both transports: list the tools, add a memory, find another."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

given = json.load(sys.stdin)


async def talk(client: Client, sign: str) -> dict[str, Any]:
    tools = [tool.name for tool in (await client.list_tools()).tools]
    added = await client.call_tool("add_memory", {"content": f"I keep a tortoise named {sign}."})
    results = await client.call_tool("search_memories", {"keyword": given["keyword"]})
    return {
        "revision": client.protocol_version,
        "tools": tools,
        "added": not added.is_error,
        "found": "\n".join(part.text for part in results.content if part.type == "text"),
    }


async def main() -> None:
    found = {}
    command = StdioServerParameters(command=given["command"][0], args=given["command"][1:], env=given["environment"])
    headers = {"Authorization": f"Bearer {given['token']}"}
    for mode in ("legacy", "auto"):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{given['url']}/mcp", http_client=http), mode=mode) as client,
        ):
            found[f"http {mode}"] = await talk(client, f"Http{mode}")
        async with Client(command, mode=mode) as client:
            found[f"stdio {mode}"] = await talk(client, f"Stdio{mode}")
    json.dump(found, sys.stdout)


asyncio.run(main())
