from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from django.core.cache import cache

from apps.accounts.models import User
from tests.support.http_server import HttpServer
from tests.support.oauth import App, make_browser


@pytest.fixture(autouse=True)
def _no_registrations_before(servers: None) -> None:
    cache.clear()


@pytest.fixture
def mei(http_server: HttpServer) -> User:
    return User.objects.create_user("mei")


@pytest.fixture
def window(http_server: HttpServer, mei: User) -> Iterator[httpx2.Client]:
    """Mei's browser."""
    with make_browser(http_server.url, mei) as client:
        yield client


@pytest.fixture
def app(http_server: HttpServer) -> Iterator[App]:
    """An application that has registered."""
    with httpx2.Client(base_url=http_server.url, timeout=200) as client:
        app = App(client)
        app.register().raise_for_status()
        yield app
