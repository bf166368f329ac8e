"""A new password for who forgot it: by mail, without telling who has an account, and by command."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services import passwords
from apps.accounts.services.identity import get_or_create_end_user

pytestmark = pytest.mark.django_db

OLD, NEW = "correct horse 9", "battery staple 12"


class Inline:
    """Sends at once, so that the test sees the database and the mail."""

    def submit(self, work: Any, **arguments: Any) -> None:
        passwords.send_now(**arguments)


@pytest.fixture(autouse=True)
def _mail(settings: Any, monkeypatch: pytest.MonkeyPatch, servers: None) -> None:
    settings.SENDS_MAIL = True
    monkeypatch.setattr(passwords, "_senders", Inline())
    cache.clear()


@pytest.fixture
def mei() -> User:
    return User.objects.create_user("mei", email="mei@example.org", password=OLD)


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
    User.objects.create_user("gone", email="gone@example.org", password=OLD, is_active=False)
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
    assert mei.check_password(OLD)


def test_a_link_is_void_once_its_owner_is_deactivated_or_has_logged_in(mei: User) -> None:
    ask("mei@example.org")
    User.objects.update(is_active=False)
    assert "This link does not work" in Client().get(read_link(), follow=True).content.decode()
    User.objects.update(is_active=True)
    Client().post("/login", {"username": "mei", "password": OLD})
    assert "This link does not work" in Client().get(read_link(), follow=True).content.decode()


def test_somebody_is_not_flooded_with_mail(mei: User) -> None:
    answers = {ask("mei@example.org").status_code for _ in range(passwords.MAILS_PER_PERSON + 3)}
    assert answers == {200}
    assert len(mail.outbox) == passwords.MAILS_PER_PERSON


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


def test_the_command_sets_a_generated_password(mei: User) -> None:
    browser, out = Client(), StringIO()
    browser.force_login(mei)
    call_command("reset_password", "mei", "--generate", stdout=out)
    mei.refresh_from_db()
    assert mei.check_password(out.getvalue().strip())
    assert browser.get("/chat/sessions").status_code == 401


def test_the_command_refuses_who_cannot_log_in(mei: User) -> None:
    end_user = get_or_create_end_user(service=mei, external_id="lin")
    for name in (end_user.username, "nobody"):
        with pytest.raises(CommandError):
            call_command("reset_password", name)
