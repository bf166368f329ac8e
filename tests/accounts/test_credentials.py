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

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_the_owner_switches_it_on",
        "test_a_password_alone_lets_nobody_in",
        "test_a_code_is_good_once",
        "test_who_has_an_account_is_not_told",
        "test_the_link_sets_a_password_once_and_ends_all_sessions",
        "test_the_mail_is_in_the_language_of_who_asks",
        "test_the_command_sets_a_generated_password_and_unlocks_the_account",
    ),
]

RIGHT, NEW = "correct horse 9", "battery staple 12"
SECURITY = "/admin/security/"


class Inline:
    """Sends at once, so that the test sees the database and the mail."""

    def submit(self, work: Any, **arguments: Any) -> None:
        credentials.send_now(**arguments)


@pytest.fixture(autouse=True)
def _mail(settings: Any, monkeypatch: pytest.MonkeyPatch, servers: None) -> None:
    settings.SENDS_MAIL = True
    monkeypatch.setattr(credentials, "mail_sender", Inline())
    cache.clear()


@pytest.fixture
def mei() -> User:
    return User.objects.create_user("mei", email="mei@example.org", password=RIGHT)


def ask(email: str, **headers: str) -> Any:
    return Client(headers=headers).post("/login/reset", {"email": email}, follow=True)


def read_link() -> str:
    found = re.search(r"http://testserver(/login/reset/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def set_password(client: Client, link: str, password: str = NEW) -> Any:
    page = client.get(link, follow=True)
    return client.post(page.request["PATH_INFO"], {"new_password1": password, "new_password2": password}, follow=True)


def test_who_has_an_account_is_not_told(mei: User) -> None:
    service = User.objects.create_user("shop")
    end_user = get_or_create_end_user(service=service, external_id="lin")
    User.objects.filter(pk=end_user.pk).update(email="lin@example.org")
    User.objects.create_user("gone", email="gone@example.org", password=RIGHT, is_active=False)
    User.objects.create_user("single", email="single@example.org")  # signs in elsewhere, without a password
    strangers = [f"{name}@example.org" for name in ("nobody", "lin", "gone", "single")]
    pages = {re.sub(r'value="\w{64}"', "", ask(email).content.decode()) for email in ["mei@example.org", *strangers]}
    assert len(pages) == 1
    assert [message.to for message in mail.outbox] == [["mei@example.org"]]


def test_the_link_sets_a_password_once_and_ends_all_sessions(mei: User) -> None:
    other = Client()
    other.force_login(mei)
    ask("MEI@example.org")
    assert mail.outbox[0].subject == "Set a new password for Jiyi"
    link = read_link()
    done = set_password(Client(), link)
    assert "Your password was changed" in done.content.decode()
    assert "_auth_user_id" not in done.client.session
    mei.refresh_from_db()
    assert mei.check_password(NEW)
    assert other.get("/chat/sessions").status_code == 401
    assert "This link does not work" in Client().get(link, follow=True).content.decode()


def test_the_mail_is_in_the_language_of_who_asks(mei: User) -> None:
    ask("mei@example.org", **{"Accept-Language": "zh-Hans"})
    assert mail.outbox[0].subject == "为 Jiyi 设置新密码"
    assert "mei" in mail.outbox[0].body


def test_a_weak_password_is_refused(mei: User) -> None:
    ask("mei@example.org")
    refused = set_password(Client(), read_link(), "123")
    assert "too short" in refused.content.decode()
    mei.refresh_from_db()
    assert mei.check_password(RIGHT)


def test_a_link_is_void_once_its_owner_is_deactivated_or_has_logged_in(mei: User) -> None:
    ask("mei@example.org")
    User.objects.update(is_active=False)
    assert "This link does not work" in Client().get(read_link(), follow=True).content.decode()
    User.objects.update(is_active=True)
    Client().post("/login", {"username": "mei", "password": RIGHT})
    assert "This link does not work" in Client().get(read_link(), follow=True).content.decode()


def test_somebody_is_not_flooded_with_mail(mei: User) -> None:
    answers = {ask("mei@example.org").status_code for _ in range(credentials.MAILS_PER_PERSON + 3)}
    assert answers == {200}
    assert len(mail.outbox) == credentials.MAILS_PER_PERSON


def test_the_public_address_is_linked_to(mei: User, settings: Any) -> None:
    settings.PUBLIC_URL = "https://jiyi.example.org"
    ask("mei@example.org")
    assert "https://jiyi.example.org/login/reset/" in mail.outbox[0].body


def test_without_a_mail_server_the_pages_say_who_helps(mei: User, settings: Any) -> None:
    settings.SENDS_MAIL = False
    assert 'href="/login/reset"' not in Client().get("/login").content.decode()
    page = ask("mei@example.org").content.decode()
    assert "manage.py reset_password" in page
    assert mail.outbox == []


def test_the_command_prints_a_link(mei: User) -> None:
    out = StringIO()
    call_command("reset_password", "mei", "--url", "http://testserver/", stdout=out)
    link = out.getvalue().strip()
    assert link.startswith("http://testserver/login/reset/")
    set_password(Client(), link.removeprefix("http://testserver"))
    mei.refresh_from_db()
    assert mei.check_password(NEW)


def test_the_command_sets_a_generated_password_and_unlocks_the_account(mei: User) -> None:
    browser, out = Client(), StringIO()
    LoginAttempt.objects.create(username="mei", failures_since_start=5, attempt_time=timezone.now())
    browser.force_login(mei)
    call_command("reset_password", "mei", "--generate", stdout=out)
    mei.refresh_from_db()
    assert mei.check_password(out.getvalue().strip())
    assert browser.get("/chat/sessions").status_code == 401
    assert not LoginAttempt.objects.exists()


def test_the_command_refuses_who_cannot_log_in(mei: User) -> None:
    end_user = get_or_create_end_user(service=mei, external_id="lin")
    for name in (end_user.username, "nobody"):
        with pytest.raises(CommandError):
            call_command("reset_password", name)


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
