"""Who is let in: nobody without a valid token or a logged-in session with its CSRF token, at any endpoint."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from health_check.checks import Database

from apps.accounts.models import User
from tests.contracts.routes import Route, list_api_calls, list_routes, name_call

# What answers GET without an account: nothing of it is anybody's. What applications send to `/oauth` takes a POST,
# with a secret of their own; and another service to log in with is not configured here.
OPEN = {
    "/login": 200,
    "/login/code": 302,
    "/login/oidc": 405,
    "/login/oidc/callback": 404,
    "/login/reset": 200,
    "/login/reset/sent": 200,
    "/login/reset/done": 200,
    "/login/reset/{uidb64}/{token}": 200,
    "/healthz": 200,
    "/readyz": 200,
    "/livez": 200,
    "/texts.js": 200,
    "/favicon.ico": 302,
    "/i18n/setlang/": 302,
    "/.well-known/oauth-authorization-server": 200,
    "/.well-known/oauth-protected-resource": 200,
    "/.well-known/oauth-protected-resource/mcp": 200,
    "/oauth/token": 405,
    "/oauth/revoke": 405,
    "/oauth/register": 405,
    "/token": 405,
    "/register": 405,
    "/authorize": 302,
}

# Pages that send a visitor to the log-in page, leaving, which takes a POST, and agents, who need a token.
CLOSED_PAGES = {"/": 302, "/s/{session_id}": 302, "/logout": 405, "/mcp": 401, "/mcp/": 401, "/oauth/authorize": 302}

# What a setting closes to those who come from elsewhere.
GUARDED = {"/metrics": 401, "/api/schema": 401, "/api/docs": 401}

# What OpenAI calls our codes, where it is not the same.
OPENAI_CODES = {"unauthenticated": "invalid_api_key", "invalid": None}

BAD_HEADERS = {
    "no header": None,
    "no token": "Bearer",
    "another scheme": "Basic YTpi",
    "an unknown token": "Bearer " + "0" * 64,
    "two tokens": "Bearer a b",
    "no ASCII": "Bearer " + "记忆".encode().decode("latin-1"),  # as servers pass bytes on
    "no UTF-8": "Bearer \xff\xfe",
    "a long one": "Bearer " + "x" * 5000,
}


def path_of(route: Route) -> str:
    """The route's path for an object that nobody has."""
    return route.path(**dict.fromkeys(route.parameters, uuid.UUID(int=0)))


def call(client: Client, method: str, path: str, **headers: str) -> Any:
    """Send a request with an empty JSON object."""
    body = {} if method == "get" else {"data": "{}", "content_type": "application/json"}
    return getattr(client, method)(path, headers=headers, **body)


def assert_error(response: Any, *, status: int, code: str) -> None:
    """The response is an error in the one shape; under ``/v1/`` in OpenAI's, with its codes."""
    assert response.status_code == status
    body = response.json()
    assert set(body) == {"error"}
    if response.request["PATH_INFO"].startswith("/v1/"):
        assert set(body["error"]) == {"message", "type", "param", "code"}
        assert body["error"]["code"] == OPENAI_CODES.get(code, code)
    else:
        assert set(body["error"]) == {"code", "message", "fields"}
        assert body["error"]["code"] == code


def test_every_endpoint_asks_for_an_account(subtests: pytest.Subtests):
    for route, method in list_api_calls():
        with subtests.test(name_call(route), method=method):
            response = call(Client(), method, path_of(route))
            assert_error(response, status=401, code="unauthenticated")
            assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_bad_token_is_none(subtests: pytest.Subtests):
    for path in ("/memory/settings", f"/chat/sessions/{uuid.UUID(int=0)}/messages", "/v1/models"):
        for name, header in BAD_HEADERS.items():
            with subtests.test(name, path=path):
                headers = {"Authorization": header} if header is not None else {}
                assert_error(call(Client(), "get", path, **headers), status=401, code="unauthenticated")


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_logged_in_session_changes_nothing_without_its_csrf_token(subtests: pytest.Subtests):
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("alice"))
    for route, method in list_api_calls():
        if method != "get":
            with subtests.test(name_call(route), method=method):
                assert_error(call(client, method, path_of(route)), status=403, code="forbidden")


@pytest.mark.django_db(transaction=True)
def test_a_logged_in_session_with_its_csrf_token_may_do_what_a_token_may():
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("alice"))
    client.get("/")
    token = client.cookies["csrftoken"].value
    assert call(client, "post", "/chat/sessions", **{"X-CSRFToken": token}).status_code == 201
    foreign = {"X-CSRFToken": token, "Origin": "https://elsewhere.example"}
    assert_error(call(client, "post", "/chat/sessions", **foreign), status=403, code="forbidden")
    assert call(client, "get", "/chat/sessions").json()["count"] == 1
    exported = call(client, "get", "/memory/export")  # what takes the strongest scope
    assert exported.status_code == 200
    exported.close()


@pytest.mark.django_db(transaction=True)
def test_what_is_open_to_everybody_is_named_here(subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("apps.core.health.PARTS", {"database": Database})  # no worker runs here
    expected = {**OPEN, **CLOSED_PAGES, **GUARDED}
    for route in list_routes():
        if route.methods:
            continue
        with subtests.test(name_call(route)):
            response = Client().get(path_of(route))
            assert response.status_code == expected[route.template]
            if expected[route.template] == 302 and route.template in CLOSED_PAGES:
                assert response["Location"].startswith("/login?next=")
