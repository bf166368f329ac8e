from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User

RIGHT = "correct horse 9"
SECURITY = "/admin/security/"


@pytest.fixture
def mei(db: None) -> User:
    """Somebody with an address and the password `RIGHT`."""
    return User.objects.create_user("mei", email="mei@example.org", password=RIGHT)


def enter_password(
    username: str = "mei", password: str = RIGHT, *, address: str = "127.0.0.1", client: Client | None = None
) -> Any:
    """Send the form of the log-in page."""
    return (client or Client()).post("/login", {"username": username, "password": password}, REMOTE_ADDR=address)


def open_browser(user: User, **options: Any) -> Client:
    """A browser in which somebody is logged in."""
    browser = Client(**options)
    browser.force_login(user)
    return browser


def is_logged_in(browser: Client) -> bool:
    """Whether the API takes the browser's session."""
    return browser.get("/chat/sessions").status_code == 200
