"""API tokens and the command that makes them."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.services import create_token, ensure_first_account

pytestmark = pytest.mark.django_db


def get_sessions(token: str) -> int:
    return Client().get("/chat/sessions", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_token_lasts_until_its_expiry_and_is_not_kept_in_clear(django_assert_num_queries):
    user = User.objects.create_user("alice")
    lasting = create_token(user=user, name="laptop")
    short = create_token(user=user, expiry=timedelta(hours=1))
    assert ApiToken.objects.get(name="laptop").expiry is None
    assert not ApiToken.objects.filter(digest=lasting).exists()
    assert (get_sessions(lasting), get_sessions(short), get_sessions(lasting + "x")) == (200, 200, 401)
    ApiToken.objects.filter(expiry__isnull=False).update(expiry=timezone.now() - timedelta(seconds=1))
    assert (get_sessions(short), get_sessions(lasting)) == (401, 200)
    assert ApiToken.objects.get().name == "laptop"


def test_a_token_of_a_deactivated_user_is_refused():
    user = User.objects.create_user("alice")
    token = create_token(user=user)
    User.objects.update(is_active=False)
    assert get_sessions(token) == 401


def test_the_command_prints_the_token_and_nothing_else():
    output = io.StringIO()
    call_command("create_token", "alice", "--create", "--name", "ci", stdout=output)
    token = output.getvalue().removesuffix("\n")
    assert token
    assert not set(token) & set(" \n")
    assert get_sessions(token) == 200
    assert ApiToken.objects.get().user.username == "alice"


def test_the_command_makes_no_user_unasked():
    with pytest.raises(CommandError, match="no user named 'alice'"):
        call_command("create_token", "alice")
    assert not User.objects.exists()


def test_the_first_account_is_made_once_and_its_password_told_once():
    username, password = ensure_first_account()
    assert password is not None
    user = User.objects.get(username=username)
    assert user.is_superuser
    assert user.check_password(password)
    assert ensure_first_account() == (username, None)
    assert User.objects.count() == 1
