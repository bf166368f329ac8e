"""OAuth 2.1 from registration to revocation, over HTTP, as an MCP client and a browser go through it (T2)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from apps.accounts.models import User
from apps.doors.mcp.oauth import clear_oauth, disconnect_apps
from apps.doors.models import ConnectedApp
from tests.support.http_server import HttpServer
from tests.support.mcp import McpCaller
from tests.support.oauth import CALLBACK, App, answer_consent
from tests.support.processes import wait_until

pytestmark = [
    pytest.mark.spec("T2"),
    pytest.mark.long_except("test_the_whole_way", "test_with_an_account_go_its_tokens"),
]


def call(url: str, token: str, method: str = "tools/list", **params: Any) -> httpx2.Response:
    """Send a request of 2025-11-25 to the live server."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx2.post(f"{url}/mcp", json=body, headers=headers, timeout=200)


def list_tools(url: str, token: str) -> set[str]:
    return {tool["name"] for tool in call(url, token).raise_for_status().json()["result"]["tools"]}


# The way in


def test_a_client_finds_everything_from_a_refused_request(http_server: HttpServer) -> None:
    refused = httpx2.post(f"{http_server.url}/mcp", json={})
    assert refused.status_code == 401
    challenge = refused.headers["www-authenticate"]
    metadata_url = f"{http_server.url}/.well-known/oauth-protected-resource/mcp"
    assert challenge == f'Bearer scope="read write", resource_metadata="{metadata_url}"'
    resource = httpx2.get(metadata_url).raise_for_status().json()
    assert resource["resource"] == f"{http_server.url}/mcp"
    assert resource["authorization_servers"] == [http_server.url]
    assert resource["scopes_supported"] == ["read", "write"]
    assert resource["bearer_methods_supported"] == ["header"]
    whole = httpx2.get(f"{http_server.url}/.well-known/oauth-protected-resource").json()
    assert whole["resource"] == http_server.url
    server = httpx2.get(f"{http_server.url}/.well-known/oauth-authorization-server").raise_for_status()
    assert server.headers["access-control-allow-origin"] == "*"
    assert server.json() == {
        "issuer": http_server.url,
        "authorization_endpoint": f"{http_server.url}/oauth/authorize",
        "token_endpoint": f"{http_server.url}/oauth/token",
        "registration_endpoint": f"{http_server.url}/oauth/register",
        "revocation_endpoint": f"{http_server.url}/oauth/revoke",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": ["read", "write"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }


@pytest.mark.django_db(transaction=True)
def test_behind_a_proxy_the_public_address_is_advertised(settings: Any) -> None:
    settings.PUBLIC_URL = "https://jiyi.example.org"
    settings.OAUTH2_PROVIDER = settings.OAUTH2_PROVIDER | {"OIDC_ISS_ENDPOINT": settings.PUBLIC_URL}
    refused = McpCaller(None).send("tools/list")
    base = "https://jiyi.example.org"
    assert f'resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"' in refused["WWW-Authenticate"]
    resource = Client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert (resource["resource"], resource["authorization_servers"]) == (f"{base}/mcp", [base])
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert (server["issuer"], server["token_endpoint"]) == (base, f"{base}/oauth/token")


def test_the_whole_way(http_server: HttpServer, app: App, window: httpx2.Client, mei: User) -> None:
    tokens = app.connect(window)
    stored = str([*AccessToken.objects.values(), *RefreshToken.objects.values()])
    assert not [kind for kind in ("access_token", "refresh_token") if tokens[kind] in stored], "only digests are kept"
    assert tokens["token_type"] == "Bearer"
    assert (tokens["scope"], tokens["expires_in"]) == ("read write", 3600)
    arguments = {"title": "t", "content": "c"}
    made = call(http_server.url, tokens["access_token"], "tools/call", name="createContext", arguments=arguments)
    arguments = {"id": made.json()["result"]["structuredContent"]["id"], "text": "x"}
    added = call(http_server.url, tokens["access_token"], "tools/call", name="updateContext", arguments=arguments)
    assert added.json()["result"]["structuredContent"]["entries"][0]["author"] == "Notebook"
    assert mei.shared_contexts.count() == 1
    connection = ConnectedApp.objects.get()
    assert (connection.user, connection.scopes, str(connection)) == (mei, ["read", "write"], "Notebook")
    assert connection.last_used_at is not None

    refreshed = app.refresh(tokens["refresh_token"]).raise_for_status().json()
    assert refreshed["access_token"] != tokens["access_token"]
    assert refreshed["refresh_token"] != tokens["refresh_token"]
    assert len(list_tools(http_server.url, refreshed["access_token"])) == 14
    assert call(http_server.url, tokens["access_token"]).status_code == 401  # it went with its refresh token

    assert app.revoke(refreshed["refresh_token"]).status_code == 200
    refused = call(http_server.url, refreshed["access_token"])
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert app.refresh(refreshed["refresh_token"]).json()["error"] == "invalid_grant"
    assert not ConnectedApp.objects.exists()


def test_a_client_that_may_only_read_sees_and_gets_no_more(
    app: App, window: httpx2.Client, http_server: HttpServer
) -> None:
    for way in ({"choose": "read"}, {"scope": "read"}):
        tokens = app.connect(window, **way)  # type: ignore[arg-type]
        assert tokens["scope"] == "read"
        assert list_tools(http_server.url, tokens["access_token"]) == {
            "search_memories", "search_conversations", "read_conversation", "list_spaces", "get_profile",
            "list_session_summaries", "fetchContext",
        }  # fmt: skip
        refused = call(http_server.url, tokens["access_token"], "tools/call", name="add_memory", arguments={})
        assert refused.status_code == 403
        assert refused.headers["www-authenticate"] == (
            'Bearer error="insufficient_scope", scope="read write", '
            f'resource_metadata="{http_server.url}/.well-known/oauth-protected-resource/mcp"'
        )
        assert app.refresh(tokens["refresh_token"], scope="read write").json()["error"] == "invalid_scope"


# Where a token counts (RFC 8707)


@pytest.mark.parametrize(
    ("resource", "mcp", "rest"), [("/mcp", 200, 401), ("", 200, 200), ("/", 200, 200), (None, 200, 200)]
)
def test_a_token_counts_for_the_resource_that_was_asked_for(
    app: App, window: httpx2.Client, http_server: HttpServer, resource: str | None, mcp: int, rest: int
) -> None:
    asked = None if resource is None else http_server.url + resource
    token = app.connect(window, resource=asked)["access_token"]
    assert (call(http_server.url, token).status_code, get_memories(http_server, token)) == (mcp, rest)


def test_on_rest_a_token_has_its_scopes_and_nothing_else(
    app: App, window: httpx2.Client, http_server: HttpServer
) -> None:
    with httpx2.Client(base_url=http_server.url, timeout=200) as http:
        http.headers["Authorization"] = f"Bearer {app.connect(window, resource=None, scope='read')['access_token']}"
        assert http.get("/memory/long-term").status_code == 200
        memory = {"category": "fact", "key": "k", "value": "v"}
        assert http.post("/memory/long-term", json=memory).status_code == 403
        http.headers["Authorization"] = f"Bearer {app.connect(window, resource=None)['access_token']}"
        assert http.post("/memory/long-term", json=memory).status_code == 201
        assert http.delete("/memory/long-term?confirm=all").status_code == 403
        assert http.post("/memory/erase", json={"confirm": "mei"}).status_code == 403
        http.headers["X-End-User"] = "lin"  # no service: it names nobody
        assert http.get("/memory/long-term").json()["count"] == 1


def test_a_resource_of_somebody_else_is_refused(app: App, window: httpx2.Client, http_server: HttpServer) -> None:
    for resource in ("https://elsewhere.example/mcp", f"{http_server.url}.evil.example", f"{http_server.url}/memory"):
        sent = window.get(app.authorization(resource=resource))
        assert sent.status_code == 302
        assert sent.headers["location"].startswith(f"{CALLBACK}?error=invalid_target")
        assert "state=xyz" in sent.headers["location"]
        smuggled = answer_consent(window, app.authorization(), resource=resource)
        assert smuggled["error"] == "invalid_target"
        code = app.get_code(window, resource=None)
        assert app.redeem(code, resource=resource).json()["error"] == "invalid_target"
    assert not AccessToken.objects.exists()


# What goes wrong


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("code_challenge", None), ("code_challenge_method", None), ("code_challenge_method", "plain"),
        ("response_type", "token"), ("scope", "admin"), ("scope", "read everything"),
    ],
)  # fmt: skip
def test_a_request_that_is_not_as_it_must_be_leads_back_with_an_error(
    app: App, window: httpx2.Client, name: str, value: str | None
) -> None:
    address = app.authorization(**{name: value})
    sent = window.get(address)
    if sent.status_code == 200:  # django-oauth-toolkit looks at the method of the challenge when a code is made
        assert "error" in answer_consent(window, address)
    else:
        assert sent.headers["location"].startswith(f"{CALLBACK}?error=")
    assert not Grant.objects.exists()


def test_nobody_is_sent_to_an_address_that_was_not_registered(app: App, window: httpx2.Client) -> None:
    uris = (
        "https://elsewhere.example/callback", "http://localhost.evil.example/callback", "http://localhost:33418/other",
        "http://127.0.0.1:33418/callback", "http://localhost:33418/callback?more=1", "https://localhost:33418/callback",
    )  # fmt: skip
    addresses = [app.authorization(redirect_uri=uri) for uri in uris]
    for address in (*addresses, app.authorization(client_id="nobody"), app.authorization(client_id=None)):
        page = window.get(address)
        assert (page.status_code, "location" in page.headers) == (400, False), address
        assert "This request cannot be answered" in page.text


def test_a_program_on_the_persons_machine_listens_on_any_port(app: App, window: httpx2.Client) -> None:
    page = window.get(app.authorization(redirect_uri="http://localhost:50123/callback"))
    assert page.status_code == 200
    assert "an application on this device (localhost:50123)" in page.text


def test_a_code_is_worth_something_to_its_client_once_and_for_a_minute(app: App, window: httpx2.Client) -> None:
    code = app.get_code(window)
    assert app.redeem(code, code_verifier="x" * 64).json()["error"] == "invalid_grant"
    code = app.get_code(window)
    assert app.redeem(code, redirect_uri="http://localhost:1/callback").json()["error"] == "invalid_request"
    other = App(app.http, verifier=app.verifier)
    other.register()
    assert other.redeem(app.get_code(window)).json()["error"] == "invalid_grant"
    code = app.get_code(window)
    Grant.objects.filter(code=code).update(expires=timezone.now() - timedelta(seconds=1))
    assert app.redeem(code).json()["error"] == "invalid_grant"
    code = app.get_code(window)
    assert app.redeem(code).status_code == 200
    assert app.redeem(code).json()["error"] == "invalid_grant"
    for grant in ("password", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code"):
        body = {"grant_type": grant, "client_id": app.client_id, "username": "mei", "password": "x", "device_code": "x"}
        assert app.http.post("/oauth/token", data=body).json()["error"] == "unsupported_grant_type"


@pytest.mark.parametrize("name", ["client_id", "code", "refresh_token", "redirect_uri", "scope", "resource", "token"])
def test_what_no_database_holds_is_refused(app: App, window: httpx2.Client, name: str) -> None:
    for body in ({"grant_type": "authorization_code"}, {"grant_type": "refresh_token"}):
        given = {"client_id": app.client_id, "code": "x", "refresh_token": "x", "token": "x"} | body | {name: "a\0"}
        for path in ("/oauth/token", "/oauth/revoke"):
            assert app.http.post(path, data=given).json()["error"] == "invalid_request"
    if name in ("client_id", "redirect_uri", "scope", "resource"):
        assert window.get(app.authorization(**{name: "a\0"})).status_code == 400


def test_a_token_that_is_refreshed_while_its_application_is_disconnected_ends(
    app: App, window: httpx2.Client, mei: User
) -> None:
    tokens = app.connect(window)
    answers = []
    with transaction.atomic():
        disconnect_apps(ConnectedApp.objects.filter(user=mei))
        refreshing = threading.Thread(target=lambda: answers.append(app.refresh(tokens["refresh_token"]).json()))
        refreshing.start()
        wait_until(lambda: is_waited_for(connection))
    refreshing.join()
    assert answers == [{"error": "invalid_grant"}]
    for model in (ConnectedApp, AccessToken, RefreshToken):
        assert not model.objects.exists()


def is_waited_for(connection: Any) -> bool:
    """Whether somebody waits for a lock of this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid() = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity")
        return any(blocked for (blocked,) in cursor.fetchall())


def test_a_refresh_token_that_is_used_twice_ends_all_that_came_from_it(app: App, window: httpx2.Client) -> None:
    first = app.connect(window)
    second = app.refresh(first["refresh_token"]).json()
    RefreshToken.objects.filter(revoked__isnull=False).update(revoked=timezone.now() - GRACE)
    assert app.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


GRACE = timedelta(seconds=30)


@pytest.mark.parametrize("count", [2, 3])
def test_windows_of_one_client_may_refresh_at_once(
    app: App, window: httpx2.Client, http_server: HttpServer, count: int
) -> None:
    first = app.connect(window, resource=None)
    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(app.refresh, [first["refresh_token"]] * count))
    assert [answer.status_code for answer in answers] == [200] * count
    pairs = [answer.json() for answer in answers]
    assert len({pair["access_token"] for pair in pairs}) == count
    for pair in pairs:
        assert get_memories(http_server, pair["access_token"]) == 200
        assert app.refresh(pair["refresh_token"]).status_code == 200


def test_a_token_that_was_given_back_has_no_time_of_grace(app: App, window: httpx2.Client) -> None:
    first = app.connect(window)
    app.revoke(first["refresh_token"])
    assert app.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    second = app.connect(window)
    app.revoke(app.refresh(second["refresh_token"]).json()["refresh_token"])
    assert app.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


def get_memories(server: HttpServer, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.get(f"{server.url}/memory/long-term", headers=headers, timeout=200).status_code


@pytest.mark.parametrize("verifier", ["", "x" * 64])
def test_a_code_that_is_used_again_ends_what_was_issued_for_it(
    app: App, window: httpx2.Client, http_server: HttpServer, verifier: str
) -> None:
    code = app.get_code(window, resource=None)
    tokens = app.redeem(code).json()
    tokens = app.refresh(tokens["refresh_token"]).json()
    other = app.connect(window, resource=None)
    assert get_memories(http_server, tokens["access_token"]) == 200
    assert app.redeem(code, code_verifier=verifier or app.verifier).json()["error"] == "invalid_grant"
    assert get_memories(http_server, tokens["access_token"]) == 401
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert get_memories(http_server, other["access_token"]) == 200  # for another code


def test_another_client_ends_nothing_with_a_code(app: App, window: httpx2.Client, http_server: HttpServer) -> None:
    code = app.get_code(window, resource=None)
    tokens = app.redeem(code).json()
    other = App(app.http, verifier=app.verifier)
    other.register()
    assert other.redeem(code).json()["error"] == "invalid_grant"
    assert app.redeem("no-code").json()["error"] == "invalid_grant"
    assert get_memories(http_server, tokens["access_token"]) == 200


def test_a_code_that_is_used_twice_at_once_is_worth_nothing(
    app: App, window: httpx2.Client, http_server: HttpServer
) -> None:
    code = app.get_code(window, resource=None)
    with ThreadPoolExecutor(2) as pool:
        answers = [answer for answer in pool.map(app.redeem, [code] * 2) if answer.status_code == 200]
    assert len(answers) <= 1
    for answer in answers:
        assert get_memories(http_server, answer.json()["access_token"]) == 401


def test_the_form_takes_its_csrf_token_and_fits_into_no_frame(app: App, window: httpx2.Client) -> None:
    page = window.get(app.authorization())
    assert page.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "no-store" in page.headers["cache-control"]
    forged = window.post(app.authorization(), data={"allow": "on", "scope": "read", "client_id": app.client_id})
    assert forged.status_code == 403
    assert not Grant.objects.exists()


def test_consent_is_asked_for_each_time(app: App, window: httpx2.Client) -> None:
    app.connect(window)
    assert window.get(app.authorization(approval_prompt="auto")).status_code == 200
    assert window.get(app.authorization(prompt="none")).status_code in (200, 302)
    assert not Grant.objects.exists()


# Whose it is


def test_who_is_locked_out_is_spoken_for_by_nobody(
    app: App, window: httpx2.Client, http_server: HttpServer, mei: User
) -> None:
    tokens, code = app.connect(window), app.get_code(window)
    User.objects.update(is_active=False)
    assert call(http_server.url, tokens["access_token"]).status_code == 401
    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.redeem(code).json()["error"] == "invalid_grant"


def test_with_an_account_go_its_tokens(app: App, window: httpx2.Client, mei: User) -> None:
    app.connect(window)
    app.get_code(window)
    mei.delete()
    assert not any(model.objects.exists() for model in (ConnectedApp, AccessToken, RefreshToken, Grant))
    assert Application.objects.exists()


def test_an_expired_token_counts_no_more_and_is_cleared_away(
    app: App, window: httpx2.Client, http_server: HttpServer
) -> None:
    token = app.connect(window)["access_token"]
    long_ago = timezone.now() - timedelta(days=31)
    Application.objects.update(created=long_ago)
    clear_oauth(now=timezone.now())
    assert call(http_server.url, token).status_code == 200, "what is in use is not cleared away"
    AccessToken.objects.update(expires=long_ago)
    assert call(http_server.url, token).status_code == 401
    app.register()
    Application.objects.update(created=long_ago)
    clear_oauth(now=timezone.now())
    for model in (ConnectedApp, AccessToken, RefreshToken, Application):
        assert not model.objects.exists()
