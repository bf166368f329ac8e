"""Who logs in with a password; guessing is limited per account and address, per account and per address."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth import authenticate
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone

from apps.accounts.models import LoginAttempt, User
from apps.accounts.services.login_lockout import (
    KEPT_FOR,
    admit_attempt,
    find_lock,
    forget_old_attempts,
    forgive_attempts,
)
from apps.accounts.services.people import get_or_create_end_user
from tests.accounts.conftest import RIGHT, enter_password, is_logged_in, open_browser

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_while_it_is_locked_a_right_password_is_answered_like_a_wrong_one",
        "test_an_end_user_does_not_log_in",
        "test_a_name_that_nobody_can_have_is_refused",
    ),
]


def test_of_25_wrong_passwords_5_are_looked_at(mei: User) -> None:
    statuses = [enter_password("mei", f"wrong {number}").status_code for number in range(25)]
    assert statuses == [200] * 4 + [429] * 21
    assert LoginAttempt.objects.get().failures_since_start == 5
    assert enter_password(address="203.0.113.5").status_code == 302, "the owner logs in elsewhere meanwhile"


@pytest.mark.parametrize("username", ["mei", "nobody"])
def test_while_it_is_locked_a_right_password_is_answered_like_a_wrong_one(mei: User, username: str) -> None:
    for _ in range(5):
        enter_password(username, "wrong")
    pages = []
    for password in ("wrong", RIGHT):
        client = Client()
        response = enter_password(username, password, client=client)
        assert response.status_code == 429
        assert 14 * 60 < int(response["Retry-After"]) <= 15 * 60
        assert "_auth_user_id" not in client.session
        pages.append(response.content.decode().split("csrfmiddlewaretoken")[0])
    assert pages[0] == pages[1]
    assert "Try again in 15 minutes." in pages[0]
    chinese = enter_password(username, "wrong", client=Client(headers={"Accept-Language": "zh-Hans"}))
    assert "失败次数过多，请在 15 分钟后重试。" in chinese.content.decode()


def test_the_lock_ends_however_often_somebody_tries_meanwhile(mei: User, settings: Any) -> None:
    settings.LOGIN_FAILURE_LIMIT, settings.LOGIN_COOL_OFF_MINUTES = 2, 3
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert [enter_password("mei", "wrong").status_code for _ in range(2)] == [200, 429]
        for _ in range(2):
            clock.shift(timedelta(minutes=1))
            assert enter_password("mei", "wrong").status_code == 429
        clock.shift(timedelta(minutes=1, seconds=1))
        assert enter_password().status_code == 302


def test_who_logs_in_is_forgiven_for_oneself_alone(mei: User) -> None:
    User.objects.create_user("mallory", password=RIGHT)
    for _ in range(2):
        for _ in range(4):
            assert enter_password("mei", "wrong").status_code == 200
        assert enter_password().status_code == 302
    assert not LoginAttempt.objects.exists()
    for _ in range(4):
        enter_password("mei", "wrong")
    assert enter_password("mallory").status_code == 302
    assert enter_password("mei", "wrong").status_code == 429


def test_one_address_does_not_try_account_after_account(settings: Any) -> None:
    settings.LOGIN_FAILURE_LIMIT_ADDRESS = 3
    assert [enter_password(f"person{number}").status_code for number in range(5)] == [200] * 2 + [429] * 3
    assert enter_password("person0", address="203.0.113.5").status_code == 200


def test_addresses_together_do_not_guess_for_ever_but_keep_the_owner_out_of_nowhere(mei: User) -> None:
    enter_password(address="192.0.2.1")  # where the account is used
    now = timezone.now()
    for number in range(50):
        assert admit_attempt(username="mei", address=f"203.0.113.{number}", now=now) is None
    lock = admit_attempt(username="mei", address="192.0.2.2", now=now)
    assert lock is not None
    assert lock.minutes(now) == 15
    assert admit_attempt(username="mei", address="192.0.2.1", now=now) is None
    assert find_lock(username="mei", address="192.0.2.2", now=now + timedelta(minutes=15)) is None


def test_attempts_of_long_ago_are_shown_but_not_counted() -> None:
    now = timezone.now()
    for _ in range(4):
        admit_attempt(username="mei", address=None, now=now - timedelta(hours=1))
    assert admit_attempt(username="mei", address=None, now=now) is None
    assert LoginAttempt.objects.get().failures_since_start == 1
    assert forget_old_attempts(now=now + KEPT_FOR) == 0
    assert forget_old_attempts(now=now + KEPT_FOR + timedelta(seconds=1)) == 1


def test_without_a_request_no_password_is_looked_at(mei: User) -> None:
    with pytest.raises(Exception, match="requires a request"):
        authenticate(None, username="mei", password=RIGHT)
    assert authenticate(RequestFactory().post("/login"), username="mei", password=RIGHT) == mei


@pytest.mark.django_db(transaction=True)
def test_attempts_at_once_are_counted_one_after_the_other() -> None:
    def try_once(_number: int) -> bool:
        try:
            return admit_attempt(username="mei", address="198.51.100.7", now=timezone.now()) is None
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=8) as threads:
        assert sum(threads.map(try_once, range(24))) == 5
    forgive_attempts(username="mei", address="198.51.100.7")
    assert not LoginAttempt.objects.exists()


@pytest.mark.spec("T4")
def test_an_end_user_does_not_log_in(mei: User) -> None:
    end_user = get_or_create_end_user(service=mei, external_id="lin")
    assert not end_user.has_usable_password()
    end_user.set_password(RIGHT)
    end_user.save()
    assert enter_password(end_user.username).status_code == 200
    assert is_logged_in(open_browser(mei))
    assert not is_logged_in(open_browser(end_user))


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"username": "美" * 151, "password": "x"}, 400),
        ({"username": "me\0i", "password": "x"}, 400),
        ({"username": "mei", "password": "x\0"}, 400),
        ({"username": "m" * 150, "password": "x"}, 200),
        ({"username": "", "password": "x"}, 200),
    ],
)
def test_a_name_that_nobody_can_have_is_refused(sent: dict[str, str], status: int) -> None:
    answer = Client().post("/login", sent)
    assert answer.status_code == status
    assert "_auth_user_id" not in answer.wsgi_request.session
