"""``/mcp`` on the wire: both revisions, who is let in, what their token may do, and which pages may ask (T2, T4)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from tests.support.mcp import HANDSHAKE, MODERN, REVISIONS, McpCaller

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spec("T2"),
    pytest.mark.long_except(
        "test_the_handshake_of_2025_agrees_on_the_clients_revision",
        "test_2026_is_discovered_without_a_handshake",
        "test_nobody_is_let_in_without_a_good_token",
        "test_a_token_sees_and_uses_what_its_scopes_allow",
        "test_a_logged_in_browser_is_nobody_here",
    ),
]

READERS = ["search_memories", "search_conversations", "read_conversation", "list_spaces", "get_profile",
           "list_session_summaries", "fetchContext"]  # fmt: skip
COMPLETION = {"ref": {"type": "ref/prompt", "name": "recall"}, "argument": {"name": "topic", "value": "c"}}
CLIENT = {"name": "tests", "version": "1"}


@pytest.fixture
def token(mei: User) -> str:
    return create_token(user=mei)


@pytest.fixture(params=REVISIONS)
def caller(request: pytest.FixtureRequest, token: str) -> McpCaller:
    return McpCaller(token, request.param)


# Revisions


@pytest.mark.parametrize("asked", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_the_handshake_of_2025_agrees_on_the_clients_revision(token: str, asked: str) -> None:
    caller = McpCaller(token, HANDSHAKE)
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": CLIENT}
    response = caller.send("initialize", params)
    result = response.json()["result"]
    assert result["protocolVersion"] == asked
    assert result["serverInfo"]["name"] == "jiyi"
    assert set(result["capabilities"]) == {"tools", "resources", "prompts"}
    assert "search_memories" in result["instructions"]
    assert "Mcp-Session-Id" not in response


def test_2026_is_discovered_without_a_handshake(token: str) -> None:
    result = McpCaller(token, MODERN).ask("server/discover")
    assert result["supportedVersions"] == ["2026-07-28"]
    assert set(result["capabilities"]) == {"tools", "resources", "prompts"}
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "jiyi"


def test_a_revision_that_nobody_speaks_is_refused_with_those_that_are_spoken(token: str) -> None:
    response = McpCaller(token, MODERN).send("tools/list", **{"MCP-Protocol-Version": "2099-01-01"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32020, -32022)


def test_what_is_personal_is_cached_by_its_client_only(token: str) -> None:
    result = McpCaller(token, MODERN).ask("tools/list")
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    assert "no-store" in McpCaller(token).send("tools/list")["Cache-Control"]


def test_a_notification_is_accepted(token: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for revision in REVISIONS:
        headers = {"Authorization": f"Bearer {token}", "Accept": "*/*", "MCP-Protocol-Version": revision}
        answer = Client().post("/mcp", body, "application/json", headers=headers)
        assert (answer.status_code, answer.content in (b"", b"null")) == (202, True)


@pytest.mark.parametrize("body", [b"{", b"[]", b"7", b'{"jsonrpc": "2.0"}', b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_body_that_is_no_message_is_refused(token: str, body: bytes, revision: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": "*/*", "MCP-Protocol-Version": revision}
    answer = Client().post("/mcp", body, "application/json", headers=headers)
    assert answer.status_code in ((400,) if revision == HANDSHAKE else (400, 202))  # without an ID: a notification


def test_no_argument_that_a_tool_accepts_is_too_long_however_it_is_written(caller: McpCaller) -> None:
    assert caller.call("createContext", title="t" * 200, content="\x01" * 65_536)["id"]  # six bytes for each
    assert caller.call("add_memory", content="😀" * 32_000, tags=["😀" * 50] * 50)["action"] == "created"  # twelve


def test_a_message_longer_than_any_tool_needs_is_refused_before_it_is_parsed(caller: McpCaller) -> None:
    answer = caller.send("tools/call", {"name": "add_memory", "arguments": {"content": "c", "tags": [0] * 200_000}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert "524,288 bytes" in answer.json()["error"]["message"]


def test_an_unknown_tool_or_method_is_an_error_of_the_protocol(caller: McpCaller) -> None:
    assert caller.send("tools/call", {"name": "rm", "arguments": {}}).json()["error"]["code"] == -32602
    assert caller.send("completion/complete", COMPLETION).json()["error"]["code"] == -32601


# Who is let in


@pytest.mark.parametrize("given", [None, "", "x" * 64, "令牌".encode().decode("latin-1")])
def test_nobody_is_let_in_without_a_good_token(given: str | None) -> None:
    answer = McpCaller(given).send("tools/list")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_logged_in_browser_is_nobody_here(mei: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(mei)
    browser.get("/")
    headers = {"X-CSRFToken": browser.cookies["csrftoken"].value, "Accept": "*/*"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert browser.post("/mcp", json.dumps(body), "application/json", headers=headers).status_code == 401


# Scopes


@pytest.mark.spec("T4")
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_token_sees_and_uses_what_its_scopes_allow(mei: User, revision: str) -> None:
    memory = str(uuid.uuid4())
    reader = McpCaller(create_token(user=mei, scopes=["read"]), revision)
    writer = McpCaller(create_token(user=mei, scopes=["write"]), revision)
    assert reader.list_tools() == READERS
    assert len(writer.list_tools()) == 14
    assert reader.call("search_memories", keyword="x") == {"results": []}
    assert reader.read("jiyi://profile")["version"] == 0
    for name in set(writer.list_tools()) - set(READERS):
        refused = reader.send("tools/call", {"name": name, "arguments": {"id": memory}})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
        challenge = refused["WWW-Authenticate"]
        assert challenge.startswith("Bearer ")
        assert 'error="insufficient_scope"' in challenge
        assert 'scope="read write"' in challenge
    assert writer.call("add_memory", content="Mei plays the cello.")["action"] == "created"


# Pages of browsers


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        ("http://localhost:6274", "127.0.0.1:8000", True),
        ("http://testserver", "testserver", True),
        ("https://tool.example.org", "testserver", True),
        ("http://localhost:6274", "testserver", False),
        ("https://evil.example", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("http://[", "127.0.0.1:8000", False),
    ],
)
def test_only_named_pages_and_those_of_ones_own_machine_may_ask(
    token: str, settings: Any, origin: str, host: str, allowed: bool
) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
    settings.MCP_ALLOWED_ORIGINS = ["https://tool.example.org"]
    headers = {"Origin": origin, "Host": host}
    answer = McpCaller(token).send("tools/list", **headers)
    assert answer.status_code == (200 if allowed else 403)
    assert answer.get("Access-Control-Allow-Origin") == (origin if allowed else None)
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,mcp-method"}
    preflight = Client().options("/mcp", headers=headers | asked)
    assert preflight.status_code == (204 if allowed else 403)
    if allowed:
        assert preflight["Access-Control-Allow-Headers"] == "authorization,mcp-method"
        assert "Access-Control-Allow-Credentials" not in preflight
        refused = McpCaller("bad").send("tools/list", **headers)
        assert (refused.status_code, refused["Access-Control-Allow-Origin"]) == (401, origin)


# However a client asks


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/html", "text/event-stream"])
def test_a_client_is_answered_whatever_it_accepts(token: str, path: str, accept: str | None) -> None:
    accepted = {"Accept": accept} if accept else {}
    headers = {"Authorization": f"Bearer {token}", **accepted}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    for content_type in ("application/json", "text/plain", "application/json; charset=utf-8"):
        response = Client().post(path, data=body, content_type=content_type, headers=headers)
        assert response.status_code == 200, response.content
        assert response.json()["result"]["tools"]
    for method in ("get", "delete", "put"):
        response = getattr(Client(), method)(path, headers=headers)
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (405, "method_not_allowed")
        assert error["fields"]["resource_metadata"] == ["http://testserver/.well-known/oauth-protected-resource/mcp"]
        refused = getattr(Client(), method)(path, headers=accepted)
        assert refused.status_code == 401
        assert "/.well-known/oauth-protected-resource/mcp" in refused["WWW-Authenticate"]
