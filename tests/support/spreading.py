"""Of very many like cases the quick run takes some, and the long one the others. A plugin of pytest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

_ALL_LONG = re.compile(r"^pytestmark = .*\bpytest\.mark\.long\b(?!_)", re.MULTILINE)


def take_one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a `parametrize`: the first of each `number` as it is, the others marked long.

    A case of several values is a tuple.
    """
    marked: list[Any] = []
    for place, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=pytest.mark.long) if place % number else case)
    return marked


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import modules of long tests alone where none is wanted; importing takes most of the time of a start."""
    named = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if named and "not long" in config.option.markexpr and _ALL_LONG.search(collection_path.read_text("utf-8")):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as long all tests of a module but those that its ``long_except("test_a", …)`` names."""
    for item in items:
        marker = item.get_closest_marker("long_except")
        if marker is not None and isinstance(item, pytest.Function):
            for name in marker.args:
                if not hasattr(item.module, name):
                    raise pytest.UsageError(f"{item.nodeid}: long_except names {name}, which is not there.")
            if item.originalname not in marker.args:
                item.add_marker(pytest.mark.long)
