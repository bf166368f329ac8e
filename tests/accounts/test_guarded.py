"""Who may read metrics and the API's description: a setting says so, and a proxy on this machine makes nobody local."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.core.access import Access
from tests.accounts.conftest import open_browser

PATHS = ["/metrics", "/api/docs", "/api/schema"]
HERE = {"host": "localhost:8000"}
ELSEWHERE = {"host": "jiyi.example.org"}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_served_hosts")]


@pytest.fixture
def _served_hosts(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", "jiyi.example.org"]


def get(path: str, *, address: str = "127.0.0.1", client: Client | None = None, **headers: str) -> Any:
    return (client or Client()).get(path, headers=headers, REMOTE_ADDR=address)


def assert_refused(response: Any, *, status: int, code: str) -> str:
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    assert response.json()["error"]["code"] == code
    return str(response.json()["error"]["message"])


@pytest.mark.parametrize("path", PATHS)
def test_programs_on_this_machine_may_read_without_an_account(path: str) -> None:
    for address, host in (("127.0.0.1", "localhost"), ("127.0.0.1", "127.0.0.1:8000"), ("::1", "[::1]:8000")):
        assert get(path, address=address, host=host).status_code == 200


FORWARDED = {
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "localhost",
    "x-real-ip": "127.0.0.1",
    "forwarded": "for=127.0.0.1",
    "via": "1.1 proxy",
    "cf-connecting-ip": "127.0.0.1",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_request_through_a_proxy_or_from_elsewhere_is_not_local(path: str) -> None:
    answers = [get(path, **{name: value}, **HERE) for name, value in FORWARDED.items()] + [get(path, **ELSEWHERE)]
    answers += [get(path, address=address, **HERE) for address in ("203.0.113.5", "10.0.0.7", "", "unix:")]
    for answer in answers:
        message = assert_refused(answer, status=401, code="unauthenticated")
        assert ("METRICS_ACCESS" if path == "/metrics" else "API_DOCS_ACCESS") in message


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("access", "staff", "user", "nobody", "local"),
    [
        ("closed", 404, 404, 404, 404),
        ("staff", 200, 403, 401, 401),
        ("local", 200, 403, 401, 200),
        ("users", 200, 200, 401, 200),
        ("open", 200, 200, 200, 200),
    ],
)
def test_the_setting_says_who_may_read(
    settings: Any, path: str, access: str, staff: int, user: int, nobody: int, local: int
) -> None:
    settings.METRICS_ACCESS = settings.API_DOCS_ACCESS = Access(access)
    for name, is_staff, expected in (("admin", True, staff), ("alice", False, user)):
        person = User.objects.create_user(name, is_staff=is_staff)
        assert get(path, client=open_browser(person), **ELSEWHERE).status_code == expected
        token = create_token(user=person)
        assert get(path, **ELSEWHERE, authorization=f"Bearer {token}").status_code == expected
    assert get(path, **ELSEWHERE).status_code == nobody
    assert get(path, **HERE).status_code == local


def test_a_scraper_elsewhere_reads_metrics_and_nothing_else_with_a_token_of_its_own(settings: Any) -> None:
    settings.METRICS_TOKEN = "scrape me"
    for access in (Access.STAFF, Access.LOCAL):
        settings.METRICS_ACCESS = settings.API_DOCS_ACCESS = access
        answer = get("/metrics", address="203.0.113.5", **ELSEWHERE, authorization="Bearer scrape me")
        assert answer.status_code == 200
        assert b"django_http_requests_before_middlewares_total" in answer.content
    for path, given in (("/api/schema", "scrape me"), ("/memory/settings", "scrape me"), ("/metrics", "scrape m")):
        response = get(path, **ELSEWHERE, authorization=f"Bearer {given}")
        assert_refused(response, status=401, code="unauthenticated")
    settings.METRICS_TOKEN = ""
    assert_refused(get("/metrics", **ELSEWHERE, authorization="Bearer "), status=401, code="unauthenticated")


def test_a_visitor_with_a_browser_is_sent_to_log_in() -> None:
    response = get("/api/docs", **ELSEWHERE, accept="text/html,*/*")
    assert (response.status_code, response["Location"]) == (302, "/login?next=/api/docs")


def test_a_value_that_means_nothing_stops_the_start() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"METRICS_ACCESS is 'everybody'.*closed, staff, local, users, open"):
        Access.read("METRICS_ACCESS", "everybody")
    assert Access.read("METRICS_ACCESS", " Staff ") is Access.STAFF
