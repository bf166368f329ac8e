"""Whose fault it is when a job fails, and what to call it: names and status codes, never text (R3)."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

from apps.conversations.queue.types import Blame
from apps.core.errors import JiyiError, ModelUnavailable
from apps.core.outages import is_storage_full

_AWAY = frozenset({"unreachable", "rate_limited", "no_model"})
_UNSURE = frozenset({"timeout", "dropped", "server_error"})
_LOCKED_OUT = frozenset({401, 402, 403, 404})
"""Statuses with which a server refuses every request: a wrong key, an unpaid bill, a wrong address or model."""


DATABASE_ERRORS = (OperationalError, InterfaceError)

_DATABASE_AWAY = ("08", "40", "53", "57P", "55P03")
"""SQLSTATEs, or their beginnings, of a database that is not there, is full, or has chosen another in a deadlock."""


def is_database_away(error: Exception) -> bool:
    """Whether a store is away or full, so that no work is to blame and the whole task is to be tried again.

    Not so where it was asked too much, such as a statement that was cancelled or is too complex.
    """
    if is_storage_full(error):
        return True
    if not isinstance(error, DATABASE_ERRORS):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(_DATABASE_AWAY)


def get_blame(error: Exception) -> Blame:
    """Return whether the server is away for everybody, may have choked on this work, or this work cannot be done."""
    if not isinstance(error, ModelUnavailable):
        return Blame.WORK
    reason = error.fields.get("reason")
    if reason in _AWAY or error.fields.get("status") in _LOCKED_OUT:
        return Blame.SERVER
    return Blame.UNSURE if reason in _UNSURE else Blame.WORK


def name_error(error: Exception) -> str:
    """Return a name for the log and the queue, such as ``model_unavailable: refused 400`` or ``ValueError``."""
    if not isinstance(error, JiyiError):
        return type(error).__name__
    details = [str(error.fields[name]) for name in ("reason", "status") if name in error.fields]
    return ": ".join([error.code, " ".join(details)]) if details else error.code
