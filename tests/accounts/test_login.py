"""Who logs in with a password, how often one may guess, and where an account is logged in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth import authenticate
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import timezone

from apps.accounts.models import LoginAttempt, LoginSession, User
from apps.accounts.services.erasure import count_rows, erase_user
from apps.accounts.services.login_lockout import (
    KEPT_FOR,
    admit_attempt,
    find_lock,
    forget_old_attempts,
    forgive_attempts,
)
from apps.accounts.services.people import get_or_create_end_user
from apps.accounts.services.sessions import forget_ended_sessions, noted_sessions
from tests.accounts.conftest import RIGHT, SECURITY, enter_password, is_logged_in, open_browser

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_while_it_is_locked_a_right_password_is_answered_like_a_wrong_one",
        "test_an_end_user_does_not_log_in",
        "test_a_name_that_nobody_can_have_is_refused",
        "test_a_login_is_noted_with_browser_and_address_and_its_use_once_in_a_few_minutes",
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


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
NEW = "battery staple 12"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    noted_sessions.clear()


def log_in(user_agent: str = "curl/8", **options: Any) -> Client:
    browser = Client(headers={"User-Agent": user_agent})
    assert enter_password(client=browser, **options).status_code == 302
    return browser


def count_listed(page: Any) -> int:
    return page.content.decode().count('class="sessions__what"')


def test_a_login_is_noted_with_browser_and_address_and_its_use_once_in_a_few_minutes(mei: User) -> None:
    browser = log_in(FIREFOX, address="2001:db8:1:2:3::4")
    row = LoginSession.objects.get()
    assert (row.user, row.user_agent) == (mei, FIREFOX)
    assert (row.address, row.network) == ("2001:db8:1:2:3::4", "2001:db8:1:2::")
    LoginSession.objects.update(last_used_at=timezone.now() - timedelta(hours=1))
    is_logged_in(browser)
    assert LoginSession.objects.get().last_used_at < timezone.now() - timedelta(minutes=59)
    noted_sessions.clear()  # minutes later
    browser.get("/chat/sessions", REMOTE_ADDR="203.0.113.5")
    row = LoginSession.objects.get()
    assert row.last_used_at > timezone.now() - timedelta(minutes=1)
    assert row.address == "203.0.113.5"


def test_requests_cost_no_query_more(mei: User, django_assert_num_queries: Any) -> None:
    browser = log_in()
    with django_assert_num_queries(3):  # session, account, count
        browser.get("/chat/sessions")


def test_the_page_lists_what_counts(mei: User) -> None:
    browser, phone = log_in(FIREFOX), log_in()
    log_in().logout()
    open_browser(User.objects.create_user("lin"))
    page = browser.get(SECURITY).content.decode()
    assert page.count("<code>127.0.0.1</code>") == 2
    assert "Firefox on Linux" in page
    assert "Unknown browser" in page
    assert page.count("This session") == 1
    mei.set_password("somebody else knew it")  # as an administrator does
    mei.save()
    assert not is_logged_in(phone)
    assert count_listed(open_browser(mei).get(SECURITY)) == 1


def test_one_session_is_ended(mei: User) -> None:
    browser, phone = log_in(), log_in()
    row = LoginSession.objects.get(session_key=phone.session.session_key)
    page = browser.post(f"{SECURITY}session/", {"session": row.pk}, follow=True)
    assert "The session was ended." in page.content.decode()
    assert is_logged_in(browser)
    assert not is_logged_in(phone)


def test_all_others_are_ended_those_that_were_never_noted_too(mei: User) -> None:
    browser, others = log_in(), [log_in(), log_in()]
    LoginSession.objects.filter(session_key=others[0].session.session_key).delete()
    page = browser.post(f"{SECURITY}session/", {"others": "yes"}, follow=True)
    assert "You were logged out everywhere else." in page.content.decode()
    assert count_listed(page) == 1
    assert is_logged_in(browser)
    assert [is_logged_in(other) for other in others] == [False, False]
    assert is_logged_in(log_in())


def test_nobody_ends_a_session_of_somebody_else(mei: User) -> None:
    browser = log_in()
    other = open_browser(User.objects.create_superuser("tang"))
    for named in (LoginSession.objects.get(user=mei).pk, "", "x", "9" * 30, "１"):
        page = other.post(f"{SECURITY}session/", {"session": named}, follow=True)
        assert "has ended already" in page.content.decode()
    assert is_logged_in(browser)


def change(browser: Client, old: str) -> str:
    body = {"old_password": old, "new_password1": NEW, "new_password2": NEW}
    return browser.post(f"{SECURITY}password/", body, follow=True).content.decode()


def test_one_changes_one_s_password_and_is_logged_out_elsewhere(mei: User) -> None:
    browser, other = log_in(), log_in()
    assert "Your password was changed." in change(browser, RIGHT)
    mei.refresh_from_db()
    assert mei.check_password(NEW)
    assert is_logged_in(browser)
    assert not is_logged_in(other)
    assert browser.get("/admin/password_change/").url == SECURITY


def test_the_present_password_is_not_to_be_guessed_there(mei: User) -> None:
    browser = log_in()
    pages = [change(browser, f"wrong {number}") for number in range(6)]
    assert "This password is not correct." in pages[0]
    assert "Try again in 15 minutes." in pages[-1]
    assert "Try again in 15 minutes." in change(browser, RIGHT)
    mei.refresh_from_db()
    assert mei.check_password(RIGHT)


def test_an_erasure_deletes_them_and_the_attempts_too(mei: User) -> None:
    browser = log_in()
    admit_attempt(username="mei", address="203.0.113.5", now=timezone.now())
    assert count_rows(mei)["accounts_loginsession"] == 1
    assert erase_user(user=mei).verified
    assert not LoginSession.objects.exists()
    assert not LoginAttempt.objects.exists()
    assert is_logged_in(browser)
    assert count_listed(browser.get(SECURITY)) == 1


def test_what_has_ended_is_forgotten_after_a_while(mei: User) -> None:
    log_in()
    now = timezone.now()
    Session.objects.update(expire_date=now - timedelta(days=1))
    forget_ended_sessions(now=now)
    assert (Session.objects.count(), LoginSession.objects.count()) == (0, 1)
    forget_ended_sessions(now=now + timedelta(days=31))
    assert LoginSession.objects.count() == 0
