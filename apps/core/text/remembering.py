"""What functions have read of people's texts, remembered so that it is not read again, and forgotten at a word (R3).

Reading what a memory says takes milliseconds, and comparing needs it of thousands: it is kept while a process works.
But what an erasure has deleted must not live on there. So nothing that is made from a person's text is kept by
`functools.lru_cache`, which nobody could empty, but by `remember_texts`: a test looks for any that is. When it is
forgotten is `apps.core.forgetting`'s matter. Pure, no Django.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

_forgetting: list[Callable[[], None]] = [re.purge]
"""`re` keeps the patterns that it has compiled, and some are made of people's words."""


def remember_texts(size: int) -> Callable[[F], F]:
    """Decorate a pure function of texts so that its newest `size` results are kept until `forget_texts`."""

    def remember(function: F) -> F:
        remembering = lru_cache(maxsize=size)(function)
        forget_too(remembering.cache_clear)
        return remembering  # type: ignore[return-value]  # it is called as the function is

    return remember


def forget_too(forget: Callable[[], None]) -> None:
    """Have `forget_texts` call `forget`, too: for what is kept in another way."""
    _forgetting.append(forget)


def forget_texts() -> None:
    """Forget all that this process remembers of texts. Safe in any thread, and while others read texts."""
    for forget in _forgetting:
        forget()
