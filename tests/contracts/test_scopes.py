"""What a token may do (T4): the operation of every method names its scope, and a weaker token is refused there."""

from __future__ import annotations

import pytest
from django.test import Client, RequestFactory
from django.urls import resolve
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.authentication import HasScope
from apps.accounts.models import User
from apps.accounts.services.people import create_token
from apps.accounts.types import ALL_SCOPES, Scope
from tests.contracts.document import get_document
from tests.contracts.routes import Route, list_api_calls, name_call
from tests.contracts.test_access import assert_error, call, path_of

CALLS = list_api_calls()

# What clears everything of a kind, changes settings, takes everything along.
ADMINS = {
    ("memories", "delete"),
    ("atomic-memories", "delete"),
    ("profile", "delete"),
    ("settings", "patch"),
    ("export", "get"),
    ("erase", "post"),
    ("space", "delete"),
    # What goes on when a token is revoked.
    ("webhooks", "post"),
    ("webhook", "patch"),
    ("webhook", "delete"),
    ("webhook_rotate_secret", "post"),
    ("webhook_test", "post"),
}

# What reads by other methods than GET.
SEARCHES = {("conversations-search", "post"), ("openai-embeddings", "post")}


def get_scope(route: Route, method: str) -> Scope:
    """What the method's operation asks for."""
    handler = getattr(resolve(path_of(route)).func.cls, method)  # type: ignore[attr-defined]
    return Scope(handler.operation.scope)


@pytest.fixture
def clients(transactional_db: None) -> dict[Scope, dict[str, str]]:
    """The headers of a token for each scope."""
    user = User.objects.create_user("alice")
    return {scope: {"Authorization": f"Bearer {create_token(user=user, scopes=[scope])}"} for scope in ALL_SCOPES}


def test_who_reads_needs_read_who_changes_needs_write_and_the_rest_is_named_here():
    for route, method in CALLS:
        key = (route.name, method)
        reads = method == "get" or key in SEARCHES
        expected = Scope.ADMIN if key in ADMINS else Scope.READ if reads else Scope.WRITE
        assert get_scope(route, method) == expected, key
        assert HasScope in resolve(path_of(route)).func.cls.permission_classes, key  # type: ignore[attr-defined]
        requirements = get_document()["paths"][route.template][method]["security"]
        assert {"token": [expected]} in requirements, key


@pytest.mark.long
@pytest.mark.spec("T4")
def test_a_weaker_token_is_refused_and_told_the_scope(
    subtests: pytest.Subtests, clients: dict[Scope, dict[str, str]]
) -> None:
    for route, method in CALLS:
        needed = get_scope(route, method)
        for scope, headers in clients.items():
            with subtests.test(name_call(route), method=method, scope=scope):
                response = call(Client(), method, path_of(route), **headers)
                if ALL_SCOPES.index(scope) >= ALL_SCOPES.index(needed):
                    assert response.status_code not in (401, 403)
                    response.close()  # a file, maybe
                    continue
                assert response.status_code == 403
                error = response.json()["error"]
                assert error["code"] == "forbidden"
                assert f"scope {needed}" in error["message"]
                if not route.template.startswith("/v1/"):  # OpenAI's errors have no fields
                    assert error["fields"] == {"scope": [needed]}


def test_a_method_without_an_operation_needs_admin(clients: dict[Scope, dict[str, str]]):
    class Undescribed(APIView):
        def get(self, _request: Request) -> Response:
            return Response()

    requests = [RequestFactory().get("/undescribed", headers=headers) for headers in clients.values()]
    assert [Undescribed.as_view()(request).status_code for request in requests] == [403, 403, 200]


def test_head_is_get_options_is_open_and_what_there_is_not_is_405(clients: dict[Scope, dict[str, str]]):
    read, write = clients[Scope.READ], clients[Scope.WRITE]
    assert Client().head("/memory/settings", headers=read).status_code == 200
    assert Client().head("/memory/export", headers=write).status_code == 403
    assert Client().options("/memory/erase", headers=read).status_code == 200
    assert_error(call(Client(), "put", "/memory/settings", **read), status=405, code="method_not_allowed")
