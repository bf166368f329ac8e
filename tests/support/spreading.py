"""Of very many like cases the quick run takes some, and the long one the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def take_one_in(number: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a `parametrize`: the first of each `number` as it is, the others marked long.

    A case of several values is a tuple.
    """
    marked: list[Any] = []
    for place, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=pytest.mark.long) if place % number else case)
    return marked
