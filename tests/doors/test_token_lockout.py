"""Guessing tokens is answered 429 without asking the database; who sends a valid token is never shut out."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from apps.accounts.models import User
from apps.accounts.services import limits
from apps.accounts.services.people import create_token

pytestmark = [pytest.mark.django_db, pytest.mark.long_except("test_many_wrong_tokens_are_refused_without_a_query")]

LIMIT = 5


@pytest.fixture(autouse=True)
def _few(settings: Any, servers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TOKEN_FAILURES_PER_MINUTE = LIMIT
    cache.clear()
    limits.guessing_outage.end()
    limits.known_tokens.clear()
    monkeypatch.setattr(limits, "LOOKED_UP_ALL_THE_SAME", 2)
    monkeypatch.setattr(limits.time, "time", lambda: 1_764_000_001.0)


def ask(token: str, path: str = "/memory/settings", **options: Any) -> Any:
    return Client(headers={"Authorization": f"Bearer {token}"}).get(path, **options)


def guess(times: int, path: str = "/memory/settings") -> list[int]:
    return [ask(f"{number:064x}", path).status_code for number in range(times)]


def test_many_wrong_tokens_are_refused_without_a_query(django_assert_num_queries: Any) -> None:
    assert guess(LIMIT + 2) == [401] * (LIMIT + 2)
    with django_assert_num_queries(0):
        answer = ask("f" * 64)
    assert answer.status_code == 429
    assert answer["Retry-After"] == "59"
    assert answer.json() == {
        "error": {
            "code": "throttled",
            "message": "Too many requests with a wrong token came from your address. Try again in 59 seconds.",
            "fields": {},
        }
    }


def test_a_valid_token_is_let_through() -> None:
    token = create_token(user=User.objects.create_user("mei"))
    guess(LIMIT + 3)
    assert ask(token).status_code == 200
    limits.known_tokens.clear()  # another process
    assert ask(token).status_code == 200
    cache.clear()  # even one that nobody knows any more, as long as not too many are unknown
    limits.known_tokens.clear()
    guess(LIMIT)
    assert ask(token).status_code == 200


def test_others_are_let_in_meanwhile() -> None:
    guess(LIMIT + 3)
    assert ask("0" * 64, REMOTE_ADDR="203.0.113.5").status_code == 401
    assert Client().get("/memory/settings").status_code == 401


def test_every_door_answers_in_its_own_shape() -> None:
    guess(LIMIT + 3)
    assert ask("e" * 64, "/v1/models").json()["error"]["code"] == "rate_limit_exceeded"
    assert ask("jiyi_at_x", "/mcp").json()["error"]["code"] == "throttled"


def test_oauth_codes_and_refresh_tokens_count_too(django_assert_num_queries: Any) -> None:
    body = {"grant_type": "refresh_token", "refresh_token": "jiyi_rt_x", "client_id": "x"}
    answers = [Client().post("/oauth/token", body) for _ in range(LIMIT + 1)]
    assert {answer.status_code for answer in answers[:LIMIT]} <= {400, 401}
    assert answers[-1].status_code == 429
    assert answers[-1].json()["error"] == "temporarily_unavailable"
    with django_assert_num_queries(0):
        assert Client().post("/oauth/token", body)["Retry-After"] == "59"


def test_a_revoked_token_is_known_no_more() -> None:
    user = User.objects.create_user("mei")
    token = create_token(user=user)
    user.auth_token_set.all().delete()
    assert ask(token).status_code == 401
    guess(LIMIT + 2)
    assert ask(token).status_code == 429


def test_without_a_broker_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_arguments: Any, **_options: Any) -> Any:
        raise RedisConnectionError

    for name in ("get", "add", "incr", "set"):
        monkeypatch.setattr(limits.cache, name, fail)
    assert guess(LIMIT + 4) == [401] * (LIMIT + 4)
    events = [record.msg["event"] for record in caplog.records if isinstance(record.msg, dict)]
    assert events.count("token_guessing.cache_unavailable") == 1


async def test_the_async_doors_are_held_to_it_too(async_client: Any) -> None:
    answers = [
        await async_client.get("/chat/sessions", headers={"Authorization": f"Bearer {number:064x}"})
        for number in range(LIMIT + 3)
    ]
    assert [answer.status_code for answer in answers] == [401] * (LIMIT + 2) + [429]
