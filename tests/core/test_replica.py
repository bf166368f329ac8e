"""Which database answers while a request only looks; a real standby is in `tests/deploy/test_replica.py`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test import RequestFactory
from django.urls import ResolverMatch

from apps.accounts.models import User
from apps.core import replica
from apps.core.replica import REPLICA, ReplicaRouter, choose_database, give_up, read_from
from apps.panel.middleware import PanelReplicaMiddleware

pytestmark = pytest.mark.long

ROUTER = ReplicaRouter()


@pytest.fixture(autouse=True)
def _not_avoided() -> Iterator[None]:
    yield
    replica._avoided_until = 0.0


def make_user(database: str | None) -> User:
    user = User(username="mei")
    user._state.db = database
    return user


def test_without_a_replica_nothing_is_routed() -> None:
    assert choose_database() == "default"
    assert ROUTER.db_for_read(User) is None
    with pytest.raises(MiddlewareNotUsed):
        PanelReplicaMiddleware(lambda _request: HttpResponse())


def test_reads_are_the_replicas_until_something_is_written() -> None:
    with read_from(REPLICA):
        assert ROUTER.db_for_read(User) == REPLICA
        assert ROUTER.db_for_read(User, instance=make_user("default")) == REPLICA
        assert ROUTER.db_for_write(User) is None
        assert ROUTER.db_for_read(User) is None
    with read_from("default"):
        assert ROUTER.db_for_read(User) is None
    assert ROUTER.db_for_read(User) is None


@pytest.mark.django_db
def test_a_transaction_reads_where_it_writes() -> None:
    with read_from(REPLICA), transaction.atomic():
        assert ROUTER.db_for_read(User) is None


def test_what_came_from_the_replica_is_written_to_the_primary() -> None:
    user = make_user(REPLICA)
    assert ROUTER.db_for_write(User, instance=user) == "default"
    assert ROUTER.db_for_read(User, instance=user) == "default"
    assert ROUTER.allow_relation(user, make_user("default"))


def test_other_databases_are_left_alone() -> None:
    elsewhere = make_user("shard_b")
    with read_from(REPLICA):
        assert ROUTER.db_for_read(User, instance=elsewhere) is None
        assert ROUTER.allow_relation(elsewhere, make_user(REPLICA)) is None
    assert ROUTER.db_for_write(User, instance=elsewhere) is None
    assert ROUTER.allow_migrate("shard_b", "accounts") is None
    assert ROUTER.allow_migrate(REPLICA, "accounts") is False


@pytest.fixture
def middleware(settings: object, monkeypatch: pytest.MonkeyPatch) -> PanelReplicaMiddleware:
    monkeypatch.setitem(settings.DATABASES, REPLICA, {})  # type: ignore[attr-defined]
    return PanelReplicaMiddleware(lambda _request: HttpResponse())


def make_request() -> HttpRequest:
    request = RequestFactory().get("/admin/")

    def page(_request: HttpRequest, *, name: str) -> SimpleTemplateResponse:
        template = engines["django"].from_string("{{ name }}")
        return SimpleTemplateResponse(template, {"name": f"{name} {ROUTER.db_for_read(User)}"})

    request.resolver_match = ResolverMatch(page, (), {"name": "again, from"})
    return request


def test_a_page_is_made_again_where_the_replica_failed(middleware: PanelReplicaMiddleware) -> None:
    request = make_request()
    with read_from(REPLICA):
        response = middleware.process_exception(request, OperationalError("the connection is closed"))
        assert response is not None
        assert response.content == b"again, from None"  # type: ignore[attr-defined]
        assert not give_up()
    assert choose_database() == "default"  # it is left alone for a while


@pytest.mark.parametrize("error", [OperationalError("gone"), ValueError("no database")], ids=["database", "other"])
def test_other_errors_stay_what_they_are(middleware: PanelReplicaMiddleware, error: Exception) -> None:
    with read_from("default" if isinstance(error, OperationalError) else REPLICA):
        assert middleware.process_exception(make_request(), error) is None


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("get", "/admin/memory/", True),
        ("head", "/admin/", True),
        ("post", "/admin/memory/", False),
        ("get", "/chat", False),
    ],
)
def test_only_pages_of_the_panel_that_look_ask_for_it(
    middleware: PanelReplicaMiddleware, monkeypatch: pytest.MonkeyPatch, method: str, path: str, asked: bool
) -> None:
    monkeypatch.setattr("apps.panel.middleware.choose_database", lambda: REPLICA)
    found = []
    middleware.get_response = lambda _request: found.append(ROUTER.db_for_read(User)) or HttpResponse()  # type: ignore[method-assign,func-returns-value]
    middleware(getattr(RequestFactory(), method)(path))
    assert found == [REPLICA if asked else None]
