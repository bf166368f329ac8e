"""Where an account is logged in: noted seldom, listed as far as it counts, ended one by one or all others at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from apps.accounts.models import LoginAttempt, LoginSession, User
from apps.accounts.services.erasure import count_rows, erase_user
from apps.accounts.services.login_lockout import admit_attempt
from apps.accounts.services.sessions import forget_ended_sessions, noted_sessions
from tests.accounts.conftest import RIGHT, SECURITY, enter_password, is_logged_in, open_browser

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except("test_a_login_is_noted_with_browser_and_address_and_its_use_once_in_a_few_minutes"),
]

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
