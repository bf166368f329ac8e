"""API tokens, the command that makes them, and the limit of their requests (T4)."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from redis.exceptions import ResponseError
from rest_framework.throttling import UserRateThrottle

from apps.accounts.models import ApiToken, User
from apps.accounts.services.limits import count_request, throttle_outage
from apps.accounts.services.people import create_token, ensure_first_account, find_token, read_jwt_secret
from apps.accounts.types import ALL_SCOPES, allows, complete_scopes, parse_limit
from apps.core.errors import InvalidInput
from tests.support.factories import UserFactory

pytestmark = pytest.mark.django_db


def run_command(*arguments: str) -> str:
    """What ``create_token`` prints, without the line's end."""
    output = io.StringIO()
    call_command("create_token", *arguments, stdout=output)
    return output.getvalue().removesuffix("\n")


def get_sessions(token: str) -> int:
    return Client().get("/chat/sessions", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_token_lasts_until_its_expiry_and_is_not_kept_in_clear():
    user = User.objects.create_user("alice")
    lasting = create_token(user=user, name="laptop")
    short = create_token(user=user, expiry=timedelta(hours=1))
    assert ApiToken.objects.get(name="laptop").expiry is None
    assert not ApiToken.objects.filter(digest=lasting).exists()
    assert (get_sessions(lasting), get_sessions(short), get_sessions(lasting + "x")) == (200, 200, 401)
    ApiToken.objects.filter(expiry__isnull=False).update(expiry=timezone.now() - timedelta(seconds=1))
    assert (get_sessions(short), get_sessions(lasting)) == (401, 200)
    User.objects.update(is_active=False)
    assert get_sessions(lasting) == 401


def test_the_command_prints_the_token_and_nothing_else():
    token = run_command("alice", "--create", "--name", "ci")
    assert token
    assert not set(token) & set(" \n")
    assert get_sessions(token) == 200
    stored = ApiToken.objects.get()
    assert (stored.user.username, stored.name) == ("alice", "ci")
    assert (stored.is_service, stored.scopes, stored.throttle, stored.expiry) == (False, [*ALL_SCOPES], "", None)


def test_the_command_makes_service_tokens():
    secret = "s" * 32
    token = run_command(
        "open-webui", "--create", "--service", "--scopes", "write, read", "--expires-days", "30",
        "--throttle", "60/min", "--jwt-secret", secret,
    )  # fmt: skip
    stored = find_token(token)
    assert stored is not None
    assert (stored.is_service, stored.scopes, stored.throttle) == (True, ["read", "write"], "60/min")
    assert stored.expiry is not None
    assert timedelta(days=29) < stored.expiry - timezone.now() < timedelta(days=31)
    assert read_jwt_secret(stored) == secret
    assert secret not in str(vars(stored))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "no user named 'alice'"),
        (["--create", "--scopes", "read,delete"], "scopes: Must be one or more of read, write, admin"),
        (["--create", "--scopes", ""], "scopes: "),
        (["--create", "--throttle", "60/fortnight"], "throttle: "),
        (["--create", "--expires-days", "0"], "expiry: "),
        (["--create", "--expires-days", "36501"], "expiry: "),
        (["--create", "--jwt-secret", "s" * 32], "jwt_secret: Only a service token"),
        (["--create", "--service", "--jwt-secret", "short"], "jwt_secret: Must have 32"),
    ],
)
def test_the_command_makes_nothing_unasked_or_unacceptable(options: list[str], reason: str):
    with pytest.raises(CommandError, match=reason):
        call_command("create_token", "alice", *options)
    assert not User.objects.exists()


def test_an_end_user_is_no_service():
    with pytest.raises(InvalidInput) as raised:
        create_token(user=UserFactory.create(service=UserFactory.create(), external_id="mei"), is_service=True)
    assert set(raised.value.fields) == {"is_service"}


def test_what_is_no_token_finds_none():
    assert [find_token(text) for text in ("", "x" * 10_000, "\ud800", "\x00", "记忆")] == [None] * 5


def test_it_is_found_with_its_owner_in_one_query_and_its_use_noted_once_a_minute(django_assert_num_queries: Any):
    text = create_token(user=UserFactory.create(username="alice"))
    start = datetime(2026, 11, 1, 12, tzinfo=UTC)
    assert ApiToken.objects.get().last_used_at is None
    for seconds, noted, queries in ((0, 0, 2), (59, 0, 1), (60, 60, 2), (61, 60, 1)):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False), django_assert_num_queries(queries):
            found = find_token(text)
            assert found is not None
            assert found.user.username == "alice"
        assert ApiToken.objects.get().last_used_at == start + timedelta(seconds=noted)


def test_scopes_include_the_weaker_ones():
    assert [allows(["write"], needed) for needed in ALL_SCOPES] == [True, True, False]
    assert [allows(["read"], needed) for needed in ALL_SCOPES] == [True, False, False]
    assert all(allows(["admin"], needed) for needed in ALL_SCOPES)
    assert not allows([], "read")
    assert complete_scopes(["admin"]) == ["read", "write", "admin"]
    assert complete_scopes(["write", "read"]) == ["read", "write"]


def test_a_limit_is_a_number_and_a_period():
    limits = [parse_limit(text) for text in ("1/sec", "60/min", "9/hour", "5/day")]
    assert [(limit.requests, limit.seconds) for limit in limits] == [(1, 1), (60, 60), (9, 3600), (5, 86_400)]
    for text in ("", "0/min", "-1/min", "60", "60/", "60/month", "60 / min", "٦/min", "99999999/min"):
        with pytest.raises(ValueError):
            parse_limit(text)


def test_the_first_account_is_made_once_and_its_password_told_once():
    username, password = ensure_first_account()
    assert password is not None
    user = User.objects.get(username=username)
    assert user.is_superuser
    assert user.check_password(password)
    assert ensure_first_account() == (username, None)
    assert User.objects.count() == 1


# A full minute.
START = 1_764_000_000.0


@pytest.fixture
def service(servers: None) -> User:
    throttle_outage.end()
    return UserFactory.create()


def make_token(service: User, throttle: str) -> tuple[str, ApiToken]:
    text = create_token(user=service, is_service=True, throttle=throttle)
    return text, ApiToken.objects.latest("created")


def call(token: str, end_user: str) -> Any:
    headers = {"Authorization": f"Bearer {token}", "X-End-User": end_user}
    return Client().get("/memory/settings", headers=headers)


@pytest.mark.spec("T4")
def test_all_end_users_of_a_token_share_its_limit(service: User):
    token, _stored = make_token(service, "2/day")
    other, _stored = make_token(service, "2/day")
    assert call(token, "mei")["RateLimit"].startswith('"token";r=1;t=')
    assert call(token, "lin").status_code == 200
    refused = call(token, "tang")
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "throttled"
    seconds = int(refused["Retry-After"])
    assert 1 <= seconds <= 86_400
    assert refused["RateLimit-Policy"] == '"token";q=2;w=86400'
    assert refused["RateLimit"] == f'"token";r=0;t={seconds}'
    assert call(other, "mei").status_code == 200
    unlimited, _stored = make_token(service, "")
    assert "RateLimit" not in call(unlimited, "mei")


@pytest.mark.django_db(transaction=True)
def test_async_views_are_limited_too(service: User):
    token, _stored = make_token(service, "1/day")
    headers = {"Authorization": f"Bearer {token}"}
    first, second = (Client().get("/memory/export", headers=headers) for _ in range(2))
    first.close()
    assert (first.status_code, second.status_code) == (200, 429)
    assert "RateLimit" in first
    assert int(second["Retry-After"]) >= 1


def test_a_new_period_begins_with_nothing_counted(service: User):
    _token, stored = make_token(service, "2/min")
    seen = [count_request(stored, now=START + seconds) for seconds in (0, 30, 59.5, 60)]
    assert all(seen)
    assert [(one.remaining, one.reset_seconds, one.is_exceeded) for one in seen if one] == [
        (1, 60, False),
        (0, 30, False),
        (0, 1, True),
        (1, 60, False),
    ]
    key = f"token_requests:{stored.pk[:32]}:{int(START // 60)}"
    assert 0 < cache._cache.get_client().ttl(cache.make_key(key)) <= 120  # type: ignore[attr-defined]
    assert stored.token_key not in key


def test_without_the_cache_nothing_is_refused_and_it_is_logged_once(
    service: User, settings: Any, caplog: pytest.LogCaptureFixture
):
    token, _stored = make_token(service, "1/day")
    working = settings.CACHES
    settings.CACHES = {"default": working["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}
    assert [call(token, "mei").status_code for _ in range(3)] == [200, 200, 200]
    events = [record.msg["event"] for record in caplog.records if isinstance(record.msg, dict)]
    assert [event for event in events if event.startswith("throttle")] == ["throttle.cache_unavailable"]
    settings.CACHES = working
    assert [call(token, "mei").status_code for _ in range(2)] == [200, 429]


def test_a_broker_on_a_full_disk_refuses_no_user(client: Client, monkeypatch: pytest.MonkeyPatch):
    """`THROTTLE_RATE` is counted there, too."""

    def refuse(*_arguments: object) -> None:
        raise ResponseError("MISCONF Errors writing to the AOF file: No space left on device")

    monkeypatch.setattr(UserRateThrottle, "THROTTLE_RATES", {"user": "1/day"})
    monkeypatch.setattr(type(cache), "set", refuse, raising=False)
    client.force_login(UserFactory.create())
    assert [client.get("/profile").status_code for _ in range(3)] == [200] * 3
