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
    transactional = "transactional_db" in getattr(item, "fixturenames", ()) or (
        marker and marker.kwargs.get("transaction")
    )
    # After a test that was skipped there may be no test database yet: this would connect to the one that is no test's.
    # After the last test it is gone.
    was_run = bool(getattr(item, "funcargs", None))
    if transactional and was_run and nextitem is not None:
        with item.config.stash[blocking_manager_key].unblock():
            import_module("apps.chat.migrations.0002_default_strategies").add_defaults(apps, None)
