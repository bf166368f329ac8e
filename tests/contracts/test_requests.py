"""What no endpoint takes: bodies that are too large, no JSON, or not what their type says; hosts of others."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.conversations.models import Session
from tests.contracts.test_access import assert_error

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def headers() -> dict[str, str]:
    """Those of a user with a token."""
    return {"Authorization": f"Bearer {create_token(user=User.objects.create_user('alice'))}"}


def post(path: str, body: bytes, headers: dict[str, str], content_type: str = "application/json") -> Any:
    """Send these very bytes."""
    return Client().post(path, data=body, content_type=content_type, headers=headers)


@pytest.mark.parametrize("path", ["/chat/sessions", f"/chat/messages/{uuid.UUID(int=0)}/retry"])
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"title": NaN}',
        b'{"title": "a\\u0000"}',
        b'{"title": "\\ud800"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5000,
    ],
    ids=["cut", "NaN", "U+0000", "lone surrogate", "no UTF-8", "deep", "huge number"],
)
def test_a_body_that_is_no_plain_json_is_refused(path: str, body: bytes, headers: dict[str, str]):
    assert_error(post(path, body, headers), status=400, code="invalid")
    assert not Session.objects.exists()


def test_a_body_over_the_limit_is_refused_however_it_is_read(headers: dict[str, str], settings: Any):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    fits, passes = (b'{"title": "' + b"x" * length + b'"}' for length in (87, 88))
    assert post("/chat/sessions", fits, headers).status_code == 201
    assert_error(post("/chat/sessions", passes, headers), status=413, code="too_large")
    assert Session.objects.count() == 1


def test_only_json_is_read_however_its_type_is_spelt(headers: dict[str, str]):
    for content_type in ("application/json", "Application/JSON; charset=UTF-8"):
        assert post("/chat/sessions", b'{"title": "x"}', headers, content_type).status_code == 201
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        response = post("/chat/sessions", b'{"title": "x"}', headers, content_type)
        assert_error(response, status=415, code="unsupported_media_type")


def test_what_django_itself_refuses_has_the_one_shape_too(headers: dict[str, str]):
    client = Client()
    assert_error(
        client.get("/memory/settings", headers={**headers, "Host": "evil.example"}), status=400, code="invalid"
    )
    too_many = "&".join(f"p{number}=1" for number in range(1001))
    assert_error(client.get(f"/memory/long-term?{too_many}", headers=headers), status=400, code="invalid")
    page = client.get("/login", headers={"Host": "evil.example"})
    assert (page.status_code, page["Content-Type"]) == (400, "text/html; charset=utf-8")


def test_nothing_at_a_path_of_the_api_has_the_one_shape_and_elsewhere_a_page():
    for path in ("/chat", "/chat/", "/chat/sessions/", "/memory", "/api", "/healthz/", "/.well-known/x"):
        assert_error(Client().get(path), status=404, code="not_found")
    for path in ("/nothing", "/chats", "/profiles/x"):
        response = Client().get(path)
        assert (response.status_code, response["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_nothing_at_a_path_of_openais_api_has_its_shape(headers: dict[str, str]):
    missing = Client().get("/v1/nothing")
    assert (missing.status_code, missing.json()["error"]) == (
        404, {"message": "There is nothing here.", "type": "invalid_request_error", "param": None, "code": "not_found"},
    )  # fmt: skip
    refused = Client().get("/v1/models", headers={**headers, "Host": "evil.example"})
    assert (refused.status_code, set(refused.json()["error"])) == (400, {"message", "type", "param", "code"})
