"""Who logs in with a password: everybody but the end users of a service (T4)."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.identity import get_or_create_end_user

pytestmark = pytest.mark.django_db


def log_in(username: str) -> bool:
    """Whether somebody with this name and the password of these tests is let in."""
    client = Client()
    client.post("/login", {"username": username, "password": "correct horse 9"})
    return "_auth_user_id" in client.session


@pytest.mark.long
@pytest.mark.spec("T4")
def test_an_end_user_does_not_log_in_even_with_a_password():
    service = User.objects.create_user("shop", password="correct horse 9")
    end_user = get_or_create_end_user(service=service, external_id="mei")
    assert log_in("shop")
    assert not end_user.has_usable_password()
    end_user.set_password("correct horse 9")
    end_user.save()
    assert not log_in(end_user.username)


def test_a_session_of_an_end_user_is_none():
    service = User.objects.create_user("shop")
    client = Client()
    client.force_login(service)
    assert client.get("/chat/sessions").status_code == 200
    client.force_login(get_or_create_end_user(service=service, external_id="mei"))
    assert client.get("/chat/sessions").status_code == 401


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"username": "m" * 300, "password": "x"}, 400),
        ({"username": "美" * 151, "password": "x"}, 400),
        ({"username": "m" * 100_000, "password": "x"}, 400),
        ({"username": "me\0i", "password": "x"}, 400),
        ({"username": "mei", "password": "x\0"}, 400),
        ({"username": "m" * 150, "password": "x"}, 200),
        ({"username": "", "password": "x"}, 200),
    ],
)
def test_a_name_that_nobody_can_have_is_refused(sent: dict[str, str], status: int):
    answer = Client().post("/login", sent)
    assert answer.status_code == status
    assert "_auth_user_id" not in answer.wsgi_request.session
