"""A new password for who forgot it, by mail or by command; a second factor, whose codes are good once."""

from __future__ import annotations

import re
import time
from io import StringIO
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import LoginAttempt, User
from apps.accounts.services import credentials
from apps.accounts.services.credentials import begin_setup, find_two_factor, switch_on, verify_code
from apps.accounts.services.people import get_or_create_end_user
from tests.accounts.conftest import RIGHT, SECURITY, is_logged_in, open_browser

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_who_has_an_account_is_not_told",
        "test_the_link_sets_a_password_once_and_ends_all_sessions",
        "test_the_mail_is_in_the_language_of_who_asks",
        "test_the_command_sets_a_generated_password_and_unlocks_the_account",
    ),
]

NEW = "battery staple 12"
VOID = "This link does not work"


class Inline:
    """Sends at once, so that the test sees the database and the mail."""

    def submit(self, work: Any, **arguments: Any) -> None:
        credentials.send_now(**arguments)


@pytest.fixture(autouse=True)
def _mail(settings: Any, monkeypatch: pytest.MonkeyPatch, servers: None) -> None:
    settings.SENDS_MAIL = True
    monkeypatch.setattr(credentials, "mail_sender", Inline())
    cache.clear()


def ask(email: str, **headers: str) -> Any:
    return Client(headers=headers).post("/login/reset", {"email": email}, follow=True)


def set_password(client: Client, link: str) -> Any:
    page = client.get(link, follow=True)
    return client.post(page.request["PATH_INFO"], {"new_password1": NEW, "new_password2": NEW}, follow=True)


def test_who_has_an_account_is_not_told(mei: User) -> None:
    end_user = get_or_create_end_user(service=User.objects.create_user("shop"), external_id="lin")
    User.objects.filter(pk=end_user.pk).update(email="lin@example.org")
    User.objects.create_user("gone", email="gone@example.org", password=RIGHT, is_active=False)
    User.objects.create_user("single", email="single@example.org")  # signs in elsewhere, without a password
    strangers = [f"{name}@example.org" for name in ("nobody", "lin", "gone", "single")]
    pages = {re.sub(r'value="\w{64}"', "", ask(email).content.decode()) for email in ["mei@example.org", *strangers]}
    assert len(pages) == 1
    assert [message.to for message in mail.outbox] == [["mei@example.org"]]


def test_the_link_sets_a_password_once_and_ends_all_sessions(mei: User) -> None:
    other = open_browser(mei)
    ask("MEI@example.org")
    assert mail.outbox[0].subject == "Set a new password for Jiyi"
    found = re.search(r"http://testserver(/login/reset/\S+)", str(mail.outbox[0].body))
    assert found
    User.objects.update(is_active=False)
    assert VOID in Client().get(found[1], follow=True).content.decode()
    User.objects.update(is_active=True)
    done = set_password(Client(), found[1])
    assert "Your password was changed" in done.content.decode()
    assert "_auth_user_id" not in done.client.session
    mei.refresh_from_db()
    assert mei.check_password(NEW)
    assert not is_logged_in(other)
    assert VOID in Client().get(found[1], follow=True).content.decode()


def test_the_mail_is_in_the_language_of_who_asks(mei: User, settings: Any) -> None:
    settings.PUBLIC_URL = "https://jiyi.example.org"
    ask("mei@example.org", **{"Accept-Language": "zh-Hans"})
    assert mail.outbox[0].subject == "为 Jiyi 设置新密码"
    assert "https://jiyi.example.org/login/reset/" in mail.outbox[0].body


def test_somebody_is_not_flooded_with_mail(mei: User) -> None:
    answers = {ask("mei@example.org").status_code for _ in range(credentials.MAILS_PER_PERSON + 3)}
    assert answers == {200}
    assert len(mail.outbox) == credentials.MAILS_PER_PERSON


def test_without_a_mail_server_the_pages_say_who_helps(mei: User, settings: Any) -> None:
    settings.SENDS_MAIL = False
    assert 'href="/login/reset"' not in Client().get("/login").content.decode()
    assert "manage.py reset_password" in ask("mei@example.org").content.decode()
    assert mail.outbox == []


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue().strip()


def test_the_command_prints_a_link(mei: User) -> None:
    link = run("reset_password", "mei", "--url", "http://testserver/")
    assert link.startswith("http://testserver/login/reset/")
    set_password(Client(), link.removeprefix("http://testserver"))
    mei.refresh_from_db()
    assert mei.check_password(NEW)


def test_the_command_sets_a_generated_password_and_unlocks_the_account(mei: User) -> None:
    LoginAttempt.objects.create(username="mei", failures_since_start=5, attempt_time=timezone.now())
    browser = open_browser(mei)
    password = run("reset_password", "mei", "--generate")
    mei.refresh_from_db()
    assert mei.check_password(password)
    assert not is_logged_in(browser)
    assert not LoginAttempt.objects.exists()
    end_user = get_or_create_end_user(service=mei, external_id="lin")
    for name in (end_user.username, "nobody"):
        with pytest.raises(CommandError):
            run("reset_password", name)


# The second factor


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


def give_password() -> Client:
    browser = Client()
    answer = browser.post("/login?next=/admin/", {"username": "mei", "password": RIGHT, "next": "/admin/"})
    assert answer.url == "/login/code"
    return browser


def read_codes(page: Any) -> list[str]:
    return re.findall(r"<li><code>(\d{4} \d{4})</code>", page.content.decode())


def test_the_owner_switches_it_on(mei: User) -> None:
    browser = open_browser(mei)
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
    codes = read_codes(browser.post(f"{SECURITY}two-factor/", body))
    assert len(codes) == 10
    assert "10 recovery codes are left." in browser.get(SECURITY).content.decode()
    assert browser.get(f"{SECURITY}two-factor/").status_code == 302
    stored = str(list(Authenticator.objects.values()))
    assert not [text for text in (secret, *codes) if text in stored]
    new = read_codes(browser.post(f"{SECURITY}two-factor/codes/", {"proof": RIGHT}))
    assert not verify_code(user=mei, code=codes[3]), "new ones make the old ones void"
    assert verify_code(user=mei, code=new[3])


def test_a_password_alone_lets_nobody_in(mei: User) -> None:
    secret, _codes = set_up(mei)
    assert Client().get("/login/code").url == "/login"
    browser = give_password()
    assert not is_logged_in(browser)
    wrong = browser.post("/login/code", {"code": "123456"})
    assert "This code is not correct" in wrong.content.decode()
    assert not is_logged_in(browser)
    assert browser.post("/login/code", {"code": make_code(secret)}).url == "/admin/"
    assert is_logged_in(browser)
    assert not LoginAttempt.objects.exists()
    assert browser.get("/login/code").url == "/"


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


def test_who_was_deactivated_between_the_steps_is_not_let_in(mei: User) -> None:
    secret, _codes = set_up(mei)
    browser = give_password()
    User.objects.update(is_active=False)
    browser.post("/login/code", {"code": make_code(secret)})
    assert not is_logged_in(browser)


@pytest.mark.parametrize("has_password", [True, False])
def test_the_owner_switches_it_off_with_the_password_or_a_code(mei: User, has_password: bool) -> None:
    secret, _codes = set_up(mei)
    if not has_password:
        mei.set_unusable_password()
        mei.save()
    browser = open_browser(mei)
    assert browser.post(f"{SECURITY}two-factor/off/", {"proof": "123456"}).status_code == 400
    assert find_two_factor(mei)
    browser.post(f"{SECURITY}two-factor/off/", {"proof": RIGHT if has_password else make_code(secret)})
    assert find_two_factor(mei) is None
    assert not Authenticator.objects.exists()


def test_another_s_sealed_secret_is_none(mei: User) -> None:
    setup = begin_setup(User.objects.create_user("lin"))
    assert switch_on(user=mei, sealed=setup.sealed, code=make_code(setup.secret)) is None


def test_superusers_remove_somebody_s_and_nobody_else_does(mei: User) -> None:
    set_up(mei)
    action, page = f"/admin/accounts/user/{mei.pk}/two_factor/", f"/admin/accounts/user/{mei.pk}/change/"
    for user in (User.objects.create_user("lin"), User.objects.create_user("tang", is_staff=True)):
        assert open_browser(user).post(action).status_code == 403
    assert find_two_factor(mei)
    browser = open_browser(User.objects.create_superuser("root"))
    assert "Turn off two-factor authentication" in browser.get(page).content.decode()
    assert browser.post(action, follow=True).status_code == 200
    assert find_two_factor(mei) is None
    assert "Turn off two-factor" not in browser.get(page).content.decode()


def test_the_command_removes_it(mei: User) -> None:
    set_up(mei)
    assert "is off" in run("remove_two_factor", "mei")
    for name in ("mei", "nobody"):
        with pytest.raises(CommandError):
            run("remove_two_factor", name)
