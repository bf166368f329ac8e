"""Two-factor authentication: switched on by its owner, asked for at log-in, good once, removed by who may."""

from __future__ import annotations

import re
import time
from io import StringIO
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import LoginAttempt, User
from apps.accounts.services.two_factor import begin_setup, find_two_factor, switch_on, verify_code

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_the_owner_switches_it_on",
        "test_a_password_alone_lets_nobody_in",
        "test_a_code_is_good_once",
    ),
]

RIGHT = "correct horse 9"
SECURITY = "/admin/security/"


@pytest.fixture
def mei() -> User:
    return User.objects.create_user("mei", password=RIGHT)


def make_code(secret: str, periods: int = 0) -> str:
    """What the app shows, or showed so many periods ago."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + periods))


def set_up(user: User) -> tuple[str, list[str]]:
    """Two-factor authentication of a minute ago: its secret and the recovery codes."""
    setup = begin_setup(user)
    with time_machine.travel(time.time() - 60, tick=False):
        codes = switch_on(user=user, sealed=setup.sealed, code=make_code(setup.secret))
    assert codes is not None
    return setup.secret, codes


def give_password(**options: Any) -> Client:
    browser = Client(**options)
    answer = browser.post("/login?next=/admin/", {"username": "mei", "password": RIGHT, "next": "/admin/"})
    assert answer.url == "/login/code"
    return browser


def is_logged_in(browser: Client) -> bool:
    return browser.get("/chat/sessions").status_code == 200


def test_the_owner_switches_it_on(mei: User) -> None:
    browser = Client()
    browser.force_login(mei)
    page = browser.get(f"{SECURITY}two-factor/").content.decode()
    secret, sealed = (
        re.search(pattern, page)[1] for pattern in (r'totp-secret">(\w+)<', r'name="sealed" value="([^"]+)"')
    )  # type: ignore[index]
    assert "<svg" in page
    body = {"sealed": sealed, "code": make_code(secret), "proof": RIGHT}
    wrong = browser.post(f"{SECURITY}two-factor/", {**body, "code": "000000"})
    assert (wrong.status_code, secret in wrong.content.decode()) == (400, True)
    assert browser.post(f"{SECURITY}two-factor/", {**body, "proof": "wrong"}).status_code == 400
    assert find_two_factor(mei) is None
    done = browser.post(f"{SECURITY}two-factor/", body).content.decode()
    codes = re.findall(r"<li><code>(\d{4} \d{4})</code>", done)
    assert len(codes) == 10
    assert "10 recovery codes are left." in browser.get(SECURITY).content.decode()
    assert browser.get(f"{SECURITY}two-factor/").status_code == 302
    assert verify_code(user=mei, code=codes[3])


def test_the_secret_is_stored_encrypted(mei: User) -> None:
    secret, codes = set_up(mei)
    stored = str(list(Authenticator.objects.values()))
    assert secret not in stored
    assert not [code for code in codes if code in stored]


def test_a_password_alone_lets_nobody_in(mei: User) -> None:
    secret, _codes = set_up(mei)
    browser = give_password()
    assert not is_logged_in(browser)
    wrong = browser.post("/login/code", {"code": "123456"})
    assert "This code is not correct" in wrong.content.decode()
    assert not is_logged_in(browser)
    assert browser.post("/login/code", {"code": make_code(secret)}).url == "/admin/"
    assert is_logged_in(browser)
    assert not LoginAttempt.objects.exists()


def test_a_code_is_good_once(mei: User) -> None:
    secret, codes = set_up(mei)
    for code in (make_code(secret), codes[0]):
        assert give_password().post("/login/code", {"code": code}).status_code == 302
        assert give_password().post("/login/code", {"code": code}).status_code == 200


def test_a_phone_may_be_half_a_minute_off_but_not_more(mei: User) -> None:
    secret, _codes = set_up(mei)
    with time_machine.travel(time.time(), tick=False):
        assert not verify_code(user=mei, code=make_code(secret, -3))
        assert not verify_code(user=mei, code=make_code(secret, 2))
        assert verify_code(user=mei, code=make_code(secret, 1))
        assert not verify_code(user=mei, code=make_code(secret))  # older than one that was used


def test_codes_are_guessed_no_more_than_passwords(mei: User) -> None:
    secret, _codes = set_up(mei)
    browser = give_password()
    statuses = [browser.post("/login/code", {"code": f"{number:06}"}).status_code for number in range(8)]
    assert statuses == [200] * 3 + [429] * 5
    right = browser.post("/login/code", {"code": make_code(secret)})
    assert right.status_code == 429
    assert "Try again in 15 minutes." in right.content.decode()
    assert not is_logged_in(browser)


def test_the_page_of_the_code_is_for_who_gave_a_password(mei: User) -> None:
    assert Client().get("/login/code").url == "/login"
    browser = Client()
    browser.force_login(mei)
    assert browser.get("/login/code").url == "/"


def test_who_was_deactivated_between_the_steps_is_not_let_in(mei: User) -> None:
    secret, _codes = set_up(mei)
    browser = give_password()
    User.objects.update(is_active=False)
    browser.post("/login/code", {"code": make_code(secret)})
    assert not is_logged_in(browser)


def test_the_owner_switches_it_off_with_the_password(mei: User) -> None:
    set_up(mei)
    browser = Client()
    browser.force_login(mei)
    assert browser.post(f"{SECURITY}two-factor/off/", {"proof": "wrong"}).status_code == 400
    assert find_two_factor(mei)
    browser.post(f"{SECURITY}two-factor/off/", {"proof": RIGHT})
    assert find_two_factor(mei) is None
    assert not Authenticator.objects.exists()


def test_who_has_no_password_proves_themselves_with_a_code(mei: User) -> None:
    secret, _codes = set_up(mei)
    mei.set_unusable_password()
    mei.save()
    browser = Client()
    browser.force_login(mei)
    assert browser.post(f"{SECURITY}two-factor/off/", {"proof": "123456"}).status_code == 400
    browser.post(f"{SECURITY}two-factor/off/", {"proof": make_code(secret)})
    assert find_two_factor(mei) is None


def test_new_recovery_codes_make_the_old_ones_void(mei: User) -> None:
    _secret, codes = set_up(mei)
    browser = Client()
    browser.force_login(mei)
    page = browser.post(f"{SECURITY}two-factor/codes/", {"proof": RIGHT}).content.decode()
    new = re.findall(r"<li><code>(\d{4} \d{4})</code>", page)
    assert not verify_code(user=mei, code=codes[0])
    assert verify_code(user=mei, code=new[0])


def test_another_s_sealed_secret_is_none(mei: User) -> None:
    setup = begin_setup(User.objects.create_user("lin"))
    assert switch_on(user=mei, sealed=setup.sealed, code=make_code(setup.secret)) is None


@pytest.mark.long
def test_superusers_remove_somebody_s_and_nobody_else_does(mei: User) -> None:
    set_up(mei)
    address = f"/admin/accounts/user/{mei.pk}/two_factor/"
    for user in (User.objects.create_user("lin"), User.objects.create_user("tang", is_staff=True)):
        browser = Client()
        browser.force_login(user)
        assert browser.post(address).status_code == 403
    assert find_two_factor(mei)
    browser = Client()
    browser.force_login(User.objects.create_superuser("root"))
    assert (
        "Turn off two-factor authentication" in browser.get(f"/admin/accounts/user/{mei.pk}/change/").content.decode()
    )
    assert browser.post(address, follow=True).status_code == 200
    assert find_two_factor(mei) is None
    assert "Turn off two-factor" not in browser.get(f"/admin/accounts/user/{mei.pk}/change/").content.decode()


def test_the_command_removes_it(mei: User) -> None:
    set_up(mei)
    out = StringIO()
    call_command("remove_two_factor", "mei", stdout=out)
    assert "is off" in out.getvalue()
    for name in ("mei", "nobody"):
        with pytest.raises(CommandError):
            call_command("remove_two_factor", name)
