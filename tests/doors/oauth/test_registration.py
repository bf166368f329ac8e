"""Who may register an application, and as what (RFC 7591; client ID metadata documents)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher
from oauth2_provider.models import Application

from apps.doors.mcp.oauth_views import MetadataFetcher, find_redirect_problem
from tests.support.http_server import HttpServer
from tests.support.oauth import CALLBACK, App

pytestmark = [
    pytest.mark.spec("T2"),
    pytest.mark.long_except(
        "test_where_an_application_may_send_people",
        "test_where_it_may_not",
        "test_a_client_becomes_a_public_one_whatever_it_asks_for",
        "test_no_document_is_fetched_from_this_network",
    ),
]

DOCUMENT = "https://agent.example/client.json"


def test_where_an_application_may_send_people() -> None:
    hosts = ("https://claude.ai/api/mcp/auth_callback", "http://localhost:1234/callback", "http://127.0.0.1/callback")
    schemes = ("http://[::1]:7/", "cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/callback")
    assert not [uri for uri in hosts + schemes if find_redirect_problem(uri)]


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.org/callback", "http://localhost.evil.example/", "javascript:alert(1)", "data:text/html,x",
        "file:///etc/passwd", "https://user@example.org/", "https://example.org/#x", "https:///x",
        "https://exa mple.org", "ftp://example.org/", "x", "", None, 7, ["https://example.org"], "https://[", "https://例子.example/",
        "https://example.org/" + "x" * 2_000, "https://example.org\\@evil.example/", "https://example.org:port/",
    ],
)  # fmt: skip
def test_where_it_may_not(uri: object) -> None:
    assert find_redirect_problem(uri)


def test_a_client_becomes_a_public_one_whatever_it_asks_for(app: App) -> None:
    answer = app.register(token_endpoint_auth_method="client_secret_basic", client_uri="https://example.org", scope="x")
    assert answer.status_code == 201
    body = answer.json()
    assert body["token_endpoint_auth_method"] == "none"
    assert body["grant_types"] == ["authorization_code", "refresh_token"]
    assert (body["client_name"], body["redirect_uris"]) == ("Notebook", [CALLBACK])
    assert "client_secret" not in body
    stored = Application.objects.get(client_id=body["client_id"])
    assert (stored.client_type, stored.user, stored.skip_authorization) == ("public", None, False)


@pytest.mark.parametrize(
    ("given", "name"),
    [(" A\n B\u202e\u0000\u200b ", "A B"), ("x" * 300, "x" * 100), (None, "localhost"), ("记事本", "记事本")],
)
def test_a_name_is_text_that_can_be_seen(app: App, given: str | None, name: str) -> None:
    assert app.register(client_name=given).json()["client_name"] == name


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://example.org/"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["trae://some.extension/oauth/callback", "javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [CALLBACK] * 11}, "invalid_redirect_uri"),
        ({"client_name": 7}, "invalid_client_metadata"),
        ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"response_types": ["token"]}, "invalid_client_metadata"),
        ({"client_name": "x" * 20_000}, "invalid_client_metadata"),
    ],
)
def test_metadata_that_are_not_acceptable_register_nothing(app: App, metadata: dict[str, Any], error: str) -> None:
    answer = app.register(**metadata)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.json()["error_description"]
    assert Application.objects.count() == 1


GRANTS = ["authorization_code", "refresh_token"]
VSCODE = [
    "https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect", "http://localhost/", "http://127.0.0.1/",
    "http://localhost:33418/", "http://127.0.0.1:33418/",
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "uris"),
    [
        ({"grant_types": [*GRANTS, "urn:x"], "redirect_uris": VSCODE, "application_type": "native"}, VSCODE),
        ({"redirect_uris": [*VSCODE[-1:], "trae://some.extension/oauth/callback"]}, VSCODE[-1:]),
        ({"redirect_uris": ["http://10.0.0.1/", 7, *VSCODE[:1]]}, VSCODE[:1]),
        ({"grant_types": ["implicit", "authorization_code"], "response_types": ["code", "token", "none"]}, [CALLBACK]),
        ({"grant_types": [], "response_types": None}, [CALLBACK]),
    ],
)
def test_what_is_not_supported_is_left_out_of_the_answer(app: App, asked: dict[str, Any], uris: list[str]) -> None:
    answer = app.register(**asked)
    assert answer.status_code == 201
    told = answer.json()
    assert told["redirect_uris"] == uris
    assert (told["grant_types"], told["response_types"]) == (GRANTS, ["code"])
    assert Application.objects.get(client_id=told["client_id"]).redirect_uris.split() == uris


@pytest.mark.parametrize("path", ["/register", "/oauth/register"])
def test_a_client_that_has_read_no_metadata_registers_too(app: App, path: str) -> None:
    answer = app.http.post(path, json={"redirect_uris": [CALLBACK]})
    assert answer.status_code == 201
    assert app.http.get("/authorize?client_id=x&state=y").headers["location"] == "/oauth/authorize?client_id=x&state=y"
    refused = app.http.post("/token", data={"grant_type": GRANTS[0], "client_id": answer.json()["client_id"]})
    assert refused.json()["error"] == "invalid_request"


def test_registrations_are_limited(app: App, settings: Any) -> None:
    settings.OAUTH_REGISTRATIONS_PER_HOUR = 3
    assert [app.register().status_code for _ in range(3)] == [201, 201, 429]
    assert app.register().headers["retry-after"] == "3600"
    assert app.http.get("/oauth/register").status_code == 405


def test_a_page_of_any_origin_may_register_and_fetch_tokens_but_lends_no_cookie(app: App) -> None:
    for path in ("/oauth/register", "/oauth/token", "/oauth/revoke"):
        answer = app.http.options(
            path, headers={"Origin": "https://tool.example", "Access-Control-Request-Method": "POST"}
        )
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, "*")
        assert "access-control-allow-credentials" not in answer.headers


# Client ID metadata documents


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the document at `DOCUMENT` says; the network stands in for nothing else."""
    metadata: dict[str, Any] = {"client_id": DOCUMENT, "client_name": "Agent", "redirect_uris": [CALLBACK]}
    monkeypatch.setattr(SafeMetadataFetcher, "fetch", lambda _self, _url: (metadata, 300))
    return metadata


def test_a_client_is_named_by_the_address_of_its_metadata(
    app: App, window: httpx2.Client, document: dict[str, Any]
) -> None:
    app.client_id = DOCUMENT
    assert "Connect Agent (agent.example) to your memory?" in window.get(app.authorization()).text
    assert app.connect(window)["scope"] == "read write"


def test_a_document_is_fetched_for_nobody_who_is_not_logged_in(
    app: App, http_server: HttpServer, document: dict[str, Any]
) -> None:
    app.client_id = DOCUMENT
    assert app.redeem("code").status_code in (400, 401)
    httpx2.get(http_server.url + app.authorization())
    assert not Application.objects.filter(client_id=DOCUMENT).exists()


def test_a_document_is_held_to_what_a_registration_is_held_to(document: dict[str, Any]) -> None:
    document["redirect_uris"] = ["http://example.org/"]
    with pytest.raises(CIMDError, match="must be one of this machine"):
        MetadataFetcher().fetch(DOCUMENT)


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1/x", "https://localhost/x", "http://agent.example/x", "https://[::1]/x"]
)
def test_no_document_is_fetched_from_this_network(url: str) -> None:
    with pytest.raises(CIMDError):
        MetadataFetcher().fetch(url)
