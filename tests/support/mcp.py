"""Raw MCP over HTTP, in either revision, for tests that look at what is on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
REVISIONS = (HANDSHAKE, MODERN)
_META = "io.modelcontextprotocol/"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class McpCaller:
    """Sends JSON-RPC messages with a token, and headers of its own."""

    token: str | None
    revision: str = MODERN
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, params: dict[str, Any] | None = None, **headers: str) -> Any:
        """Post one request and return the HTTP response."""
        params = dict(params or {})
        sent = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": self.revision}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        if self.revision == MODERN:
            params["_meta"] = {
                f"{_META}protocolVersion": MODERN,
                f"{_META}clientInfo": {"name": "tests", "version": "1"},
                f"{_META}clientCapabilities": {},
            }
            sent["Mcp-Method"] = method
            if method in _NAMED_BY:
                sent["Mcp-Name"] = params[_NAMED_BY[method]]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return Client().post(
            "/mcp", data=json.dumps(body), content_type="application/json", headers=sent | self.headers | headers
        )

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a request that succeeds."""
        response = self.send(method, params)
        assert response.status_code == 200, response.content
        body = response.json()
        assert "result" in body, body
        result: dict[str, Any] = body["result"]
        return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds; returns its structured content, which its text repeats."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        return content

    def fail(self, name: str, **arguments: Any) -> str:
        """Call a tool that fails; returns the sentence it says."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"] is True, result
        assert "structuredContent" not in result
        text: str = result["content"][0]["text"]
        return text

    def read(self, uri: str) -> Any:
        """Read a resource; returns its JSON."""
        (content,) = self.ask("resources/read", {"uri": uri})["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, "application/json")
        return json.loads(content["text"])

    def list_tools(self) -> list[str]:
        """The names of the tools that are listed."""
        return [tool["name"] for tool in self.ask("tools/list")["tools"]]
