"""Caches of what functions computed from people's texts, which an erasure can empty (R3).

Reading a text takes milliseconds, and comparing needs it for thousands of texts, so results are cached while a process
lives. What an erasure has deleted must not survive there. So nothing computed from a person's text is cached with
`functools.lru_cache`, which nobody could empty, but with `cache_texts`; a test looks for any that is. When the caches
are cleared is up to `apps.core.cache`. Pure, no Django.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

# `re` keeps the patterns that it has compiled, and some are made of people's words.
_clear_functions: list[Callable[[], None]] = [re.purge]


def cache_texts(size: int) -> Callable[[F], F]:
    """Decorate a pure function of texts so that its newest `size` results are cached until `clear_text_caches`."""

    def decorate(function: F) -> F:
        cached = lru_cache(maxsize=size)(function)
        register_cache(cached.cache_clear)
        return cached  # type: ignore[return-value]  # it is called as the function is

    return decorate


def register_cache(clear: Callable[[], None]) -> None:
    """Have `clear_text_caches` call `clear` as well: for a cache of another kind."""
    _clear_functions.append(clear)


def clear_text_caches() -> None:
    """Clear everything that this process has cached of texts. Safe in any thread, and while others read texts."""
    for clear in _clear_functions:
        clear()
