"""Through which program a request comes: an API token or a connected app. Said at the door, not in every signature."""

from __future__ import annotations

from contextvars import ContextVar

MAX_PROGRAM_CHARS = 60

_program: ContextVar[str] = ContextVar("program", default="")


def act_through(program: str) -> None:
    """Note for the rest of this request that it comes through ``token:<key>`` or ``app:<ID>``; "" for a person."""
    _program.set(program[:MAX_PROGRAM_CHARS])


def get_program() -> str:
    """Return the program that asks, "" for a person at the page and for background work."""
    return _program.get()
