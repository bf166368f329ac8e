"""The limit of a token's requests (T4): counted for all its end users together, refused with when to come back."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis.exceptions import ResponseError
from rest_framework.throttling import UserRateThrottle

from apps.accounts.models import ApiToken, User
from apps.accounts.services.limits import count_request, throttle_outage
from apps.accounts.services.people import create_token
from tests.support.factories import UserFactory

pytestmark = pytest.mark.django_db

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
