"""Work on texts of people and models away from the event loop, which serves everybody.

A thread takes turns with the event loop every few milliseconds, as long as no single call into C takes long: what reads
texts is linear in their length (tests/linear).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

R = TypeVar("R")

SHORT: Final = 8_000
"""Characters, or bytes, that are read in a few milliseconds: sooner than a thread is worth it."""


async def read_apart(func: Callable[[], R], *, size: int) -> R:
    """Return what `func` returns, in a thread where it reads more than `SHORT` characters. It asks no database."""
    return func() if size <= SHORT else await asyncio.to_thread(func)
