"""Which tests the quick run leaves to the long one. A plugin of pytest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

QUICK_CASES = 3
"""Of each parameter of a test the quick run takes so many values, the first ones."""

_ALL_LONG = re.compile(r"^pytestmark = .*\bpytest\.mark\.long\b(?!_)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules of long tests alone where none is wanted; importing takes most of the time of a start."""
    named = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if named and "not long" in config.option.markexpr and _ALL_LONG.search(collection_path.read_text("utf-8")):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long all tests of a module but those that its ``long_except("test_a", …)`` names, and most cases."""
    for item in items:
        case = getattr(item, "callspec", None)
        if case is not None and any(place >= QUICK_CASES for place in case.indices.values()):
            item.add_marker(pytest.mark.long)
        marker = item.get_closest_marker("long_except")
        if marker is not None and isinstance(item, pytest.Function):
            for name in marker.args:
                if not hasattr(item.module, name):
                    raise pytest.UsageError(f"{item.nodeid}: long_except names {name}, which is not there.")
            if item.originalname not in marker.args:
                item.add_marker(pytest.mark.long)
