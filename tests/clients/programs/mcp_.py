"""mcp's own client, over streamable HTTP and over standard input and output: list the tools, add and find a memory."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

given = json.load(sys.stdin)


async def talk(session: ClientSession, sign: str) -> dict[str, Any]:
    started = await session.initialize()
    tools = [tool.name for tool in (await session.list_tools()).tools]
    await session.call_tool("add_memory", {"content": f"I keep a tortoise named {sign}."})
    results = await session.call_tool("search_memories", {"keyword": given["keyword"]})
    return {
        "server": started.server_info.name,
        "tools": tools,
        "error": results.is_error,
        "found": "\n".join(part.text for part in results.content if part.type == "text"),
    }


async def main() -> None:
    found = {}
    headers = {"Authorization": f"Bearer {given['token']}"}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
        streams = await stack.enter_async_context(streamable_http_client(f"{given['url']}/mcp", http_client=client))
        found["http"] = await talk(await stack.enter_async_context(ClientSession(*streams[:2])), "Http")
    async with AsyncExitStack() as stack:
        server = StdioServerParameters(command=given["command"][0], args=given["command"][1:], env=given["environment"])
        streams = await stack.enter_async_context(stdio_client(server))
        found["stdio"] = await talk(await stack.enter_async_context(ClientSession(*streams[:2])), "Stdio")
    json.dump(found, sys.stdout)


asyncio.run(main())
