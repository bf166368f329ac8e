"""What the directory says to a shard about who asks, and what a shard makes of it (`services.placement`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import jwt
import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from rest_framework.views import APIView

from apps.accounts.authentication import RelayedAuthentication
from apps.accounts.models import ApiToken, User
from apps.accounts.services import create_token, keep_account, placement, update_settings
from apps.accounts.services.identity import get_or_create_end_user
from apps.accounts.services.placement import PERSON_HEADER, Moved, choose_shard, read_note, write_note
from apps.core.errors import Unauthenticated
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.long]

SHARDS = {
    "b": {"database": "postgresql://b", "url": "http://b"},
    "c": {"database": "postgresql://c", "url": "http://c"},
}


@pytest.fixture
def directory(settings: Any) -> Any:
    settings.SHARDS = SHARDS
    return settings


@pytest.fixture
def shard(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """This server is the shard b, as the settings make it at the start."""
    settings.SHARD = "b"
    settings.SESSION_COOKIE_NAME = "shard_session"
    classes = [RelayedAuthentication, *APIView.authentication_classes]
    monkeypatch.setattr(APIView, "authentication_classes", classes)
    return settings


def place(user: User, shard: str = "b") -> User:
    User.objects.filter(pk=user.pk).update(shard=shard)
    user.refresh_from_db()
    return user


# At the directory


def call(token: str, path: str = "/chat/sessions", **headers: str) -> Any:
    return Client().get(path, headers={"Authorization": f"Bearer {token}", **headers})


def test_a_request_of_somebody_elsewhere_is_for_the_proxy_to_pass_on(directory: Any) -> None:
    mei = place(UserFactory.create(username="mei"))
    response = call(create_token(user=mei, scopes=["read"], name="an app"))
    assert response.status_code == 421
    assert response.json()["error"]["code"] == "misdirected"
    assert response["X-Accel-Redirect"] == "@shard_b"
    directory.SHARD = "b"
    relayed = read_note(response[PERSON_HEADER])
    assert (relayed.user, relayed.via_session) == (mei, False)
    assert relayed.token is not None
    assert (relayed.token.name, relayed.token.scopes) == ("an app", ["read"])
    assert relayed.program == f"token:{relayed.token.token_key}"


def test_whoever_is_at_the_directory_is_answered(directory: Any) -> None:
    assert call(create_token(user=UserFactory.create())).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_an_end_user_is_passed_on_by_every_name(directory: Any) -> None:
    service = UserFactory.create(username="service")
    token = create_token(user=service, is_service=True)
    place(get_or_create_end_user(service=service, external_id="小美"), "c")
    assert call(token).status_code == 200
    assert call(token, **{"X-End-User": "%E5%B0%8F%E7%BE%8E"})["X-Accel-Redirect"] == "@shard_c"
    body = {"model": "jiyi", "user": "小美", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().post("/v1/chat/completions", body, content_type="application/json", headers=headers)
    assert (answer.status_code, answer["X-Accel-Redirect"]) == (421, "@shard_c")
    assert answer.json()["error"]["code"] == "misdirected"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers |= {"X-End-User": "%E5%B0%8F%E7%BE%8E", "Accept": "application/json, text/event-stream"}
    assert Client().post("/mcp", message, content_type="application/json", headers=headers)["X-Accel-Redirect"]


def test_a_browser_is_passed_on_but_for_its_account(directory: Any) -> None:
    mei = place(UserFactory.create(username="mei"))
    client = Client()
    client.force_login(mei)
    for path in ("/", "/chat/sessions", "/admin/memories/"):
        assert client.get(path)["X-Accel-Redirect"] == "@shard_b"
    note = client.get("/")[PERSON_HEADER]
    for path in ("/login", "/admin/security/", "/admin/accounts/apitoken/", "/static/chat/mark.svg", "/livez"):
        assert "X-Accel-Redirect" not in client.get(path)
    directory.SHARD = "b"
    assert read_note(note).via_session


def test_who_is_being_moved_is_told_to_come_again(directory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.accounts.services.placement.HOLD_SECONDS", 0.0)
    mei = UserFactory.create(username="mei", moving_until=timezone.now() + timedelta(minutes=1))
    response = call(create_token(user=mei))
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert response.json()["error"]["code"] == "moved"
    User.objects.filter(pk=mei.pk).update(moving_until=timezone.now())
    assert call(create_token(user=mei)).status_code == 200


def test_new_end_users_begin_on_a_shard_that_is_open_for_them(directory: Any) -> None:
    service = UserFactory.create(username="service")
    assert get_or_create_end_user(service=service, external_id="before").shard == ""
    directory.SHARDS_FOR_NEW_PEOPLE = ["b", "c"]
    people = [get_or_create_end_user(service=service, external_id=str(number)) for number in range(20)]
    assert {person.shard for person in people} == {"b", "c"}
    assert all(person.shard == choose_shard(person.external_id) for person in people)


# At a shard


def note_of(settings: Any, user: User, **values: Any) -> str:
    """A note of the directory."""
    settings.SHARD = ""
    note = write_note(user, **values)
    settings.SHARD = "b"
    return note


def test_a_shard_answers_whom_the_directory_names(shard: Any) -> None:
    mei = place(UserFactory.create(username="mei"))
    note = note_of(shard, mei, token=ApiToken(user=mei, scopes=["read"], digest="d" * 128, token_key="key"))
    headers = {PERSON_HEADER: note, "Authorization": "Bearer of-the-directory"}
    assert Client().get("/chat/sessions", headers=headers).status_code == 200
    assert Client().post("/chat/sessions", headers=headers).status_code == 403  # no scope for it
    assert Client().get("/chat/sessions", headers={"Authorization": "Bearer of-the-directory"}).status_code == 401


def test_a_browser_needs_its_csrf_token_here_too(shard: Any) -> None:
    mei = place(UserFactory.create(username="mei"))
    headers = {PERSON_HEADER: note_of(shard, mei, via_session=True)}
    client = Client(enforce_csrf_checks=True)
    page = client.get("/", headers=headers)
    assert page.status_code == 200
    assert "shard_session" not in page.cookies
    assert client.post("/chat/sessions", {}, content_type="application/json", headers=headers).status_code == 403
    headers["X-CSRFToken"] = client.cookies["csrftoken"].value
    assert client.post("/chat/sessions", {}, content_type="application/json", headers=headers).status_code == 201


def test_the_account_is_copied_without_its_password_and_kept_up_to_date(shard: Any) -> None:
    service = UserFactory.create(username="service")
    mei = place(get_or_create_end_user(service=service, external_id="mei"))
    note = note_of(shard, mei)
    known = {"username": mei.username, "date_joined": mei.date_joined, "service_id": service.pk}
    User.objects.filter(pk__in=[mei.pk, service.pk]).delete()  # what another server knows of them
    copied = read_note(note).user
    assert copied == mei
    assert {name: getattr(copied, name) for name in known} == known
    assert not copied.has_usable_password()
    assert User.objects.filter(pk=service.pk, shard="").exists()
    mei.is_active = False
    mei.username = "renamed"
    assert read_note(note_of(shard, mei)).user.username == "renamed"
    assert not User.objects.get(pk=mei.pk).is_active


def test_a_name_that_somebody_else_has_by_now_is_theirs(shard: Any) -> None:
    first, second = UserFactory.create(username="mei"), UserFactory.build(username="mei", pk=4_711, shard="b")
    assert read_note(note_of(shard, second)).user == second
    assert User.objects.get(pk=first.pk).username == f"-{first.pk}"


@pytest.mark.parametrize("change", ["shard", "key", "time", "text"])
def test_a_note_that_is_not_the_directorys_is_refused(shard: Any, change: str) -> None:
    mei = place(UserFactory.create(username="mei"), "c" if change == "shard" else "b")
    note = note_of(shard, mei)
    if change == "key":
        shard.SECRET_KEY = "another"
    elif change == "time":
        claims = jwt.decode(note, options={"verify_signature": False})
        note = jwt.encode({**claims, "exp": 1}, placement._key(shard.SECRET_KEY), algorithm="HS256")
    elif change == "text":
        note = "not a note"
    with pytest.raises(Unauthenticated):
        read_note(note)
    assert Client().get("/chat/sessions", headers={PERSON_HEADER: note}).status_code == 401
    assert Client().get("/", headers={PERSON_HEADER: note}).status_code == 401


def test_an_older_key_is_believed_while_it_is_a_fallback(shard: Any) -> None:
    mei = place(UserFactory.create(username="mei"))
    note = note_of(shard, mei)
    shard.SECRET_KEY_FALLBACKS = [shard.SECRET_KEY]
    shard.SECRET_KEY = "newer"
    assert read_note(note).user == mei


def test_nothing_is_written_for_somebody_who_has_gone(shard: Any) -> None:
    mei = UserFactory.create(username="mei")
    with pytest.raises(Moved), transaction.atomic():
        keep_account(mei)
    with pytest.raises(Moved):
        update_settings(user=mei, changes={"memory.timezone": "Asia/Shanghai"})
    place(mei)
    with transaction.atomic():
        keep_account(mei)
