"""What browsers are told with every answer: pages run our own files and nothing else, and the rest nothing at all.

The panel's pages are looked at in tests/panel/test_access.py, and in a browser in tests/e2e, where nothing that a
policy blocked goes unnoticed.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from health_check.checks import Database

from apps.accounts.models import User
from apps.core.access import Access
from project import urls
from tests.contracts.routes import list_routes, name_call
from tests.contracts.test_access import path_of
from tests.support.page_policy import list_faults, read_policy


def break_down(_request: HttpRequest) -> HttpResponse:
    raise RuntimeError("as a mistake of ours would")


# The product's addresses, and one whose view breaks down.
urlpatterns = [*urls.urlpatterns, path("broken", break_down)]
handler400, handler404, handler500 = urls.handler400, urls.handler404, urls.handler500

PAGES = {"/", "/s/{session_id}", "/login", "/api/docs", "/oauth/authorize"}


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_every_answer_has_a_policy_and_no_page_needs_more(
    subtests: pytest.Subtests, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.core.health.PARTS", {"database": Database})  # no worker runs here
    settings.METRICS_ACCESS = settings.API_DOCS_ACCESS = Access.OPEN
    visitor, person = Client(), Client()
    person.force_login(User.objects.create_user("mei"))
    for route in list_routes():
        with subtests.test(name_call(route)):
            kinds = set()
            for browser in (visitor, person):
                response = browser.get(path_of(route))
                kinds.add(response["Content-Type"].partition(";")[0])
                assert list_faults(response) == []
                response.close()
            if route.template in PAGES:
                assert "text/html" in kinds


@pytest.mark.django_db
@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize(
    ("method", "address", "status"),
    [("get", "/nothing", 404), ("get", "/broken", 500), ("post", "/login", 403), ("get", "/static/nothing.js", 404)],
)
def test_error_pages_have_it_too(method: str, address: str, status: int) -> None:
    response = getattr(Client(enforce_csrf_checks=True, raise_request_exception=False), method)(address)
    assert response.status_code == status
    assert response["Content-Type"].startswith("text/html")
    assert list_faults(response) == []


@pytest.mark.django_db
def test_files_and_streams_are_no_documents() -> None:
    for address in ("/static/chat/mark.svg", "/static/chat/main.js"):
        response = Client().get(address)
        assert response.status_code == 200
        assert list_faults(response) == []
        response.close()


@pytest.mark.long
@pytest.mark.django_db
def test_only_pages_that_lead_back_to_an_application_have_forms_that_lead_elsewhere() -> None:
    client = Client()
    assert "form-action" not in read_policy(response := client.get("/login"))
    assert list_faults(response) == []
    client.force_login(User.objects.create_user("mei"))
    assert "form-action" not in read_policy(client.get("/oauth/authorize"))
    for address in ("/", "/admin/"):
        assert read_policy(client.get(address))["form-action"] == ["'self'"]


def test_other_headers_that_close_what_we_do_not_use() -> None:
    for address in ("/login", "/memory/settings"):
        headers = Client().get(address).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "clipboard-write=(self)" in headers["Permissions-Policy"]
        assert "microphone=()" in headers["Permissions-Policy"]
