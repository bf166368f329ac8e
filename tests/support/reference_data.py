"""Rows that migrations put in must be there for every test, also after one that emptied all tables."""

from __future__ import annotations

from collections.abc import Generator
from importlib import import_module

import pytest
from django.apps import apps
from pytest_django.plugin import blocking_manager_key


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Put the default strategies back after a test with real transactions, once its tables were emptied."""
    yield
    marker = item.get_closest_marker("django_db")
    emptied = "transactional_db" in getattr(item, "fixturenames", ()) or (marker and marker.kwargs.get("transaction"))
    if emptied and nextitem is not None:  # after the last test the database itself is gone
        with item.config.stash[blocking_manager_key].unblock():
            if not apps.get_model("chat", "Strategy").objects.exists():  # a test that was skipped emptied nothing
                import_module("apps.chat.migrations.0002_default_strategies").add_defaults(apps, None)
