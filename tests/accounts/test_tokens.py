"""API tokens and the command that makes them."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import ApiToken, User
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
