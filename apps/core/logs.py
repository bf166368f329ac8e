"""How logs look: one line an event, for people or as JSON for machines; the level decides how much.

PostgreSQL's errors quote the values they are about (`DETAIL: Key (...)=(...)`, `invalid input syntax for ...: "..."`):
these are taken out, as logs hold IDs, never text (R3).
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping
from typing import Any

import psycopg
import structlog
from django.db import Error as DjangoDatabaseError

from apps.core.outages import list_causes
from apps.core.tracing import get_ids

# The class of SQLSTATEs whose first line may quote a value; that of others names constraints, columns and tables.
_DATA_EXCEPTION = "22"


def leave_out_values(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Say of database errors only what quotes no value, in what is logged of an exception (a structlog processor)."""
    given = event.get("exc_info")
    error = given[1] if isinstance(given, tuple) else sys.exc_info()[1] if given is True else given
    if not isinstance(error, BaseException):
        return event
    rendered = structlog.processors.format_exc_info(_logger, _method, event)
    for found in list_causes(error, with_contexts=True):
        if isinstance(found, psycopg.Error | DjangoDatabaseError):
            for shown, safe in ((str(found), _describe(found)), (repr(found), f"{type(found).__name__}(...)")):
                for name in ("event", "exception"):
                    if shown and isinstance(rendered.get(name), str):
                        rendered[name] = rendered[name].replace(shown, safe)
    return rendered


def _describe(error: BaseException) -> str:
    """Return the first line of a database error, or its SQLSTATE where that line may quote a value."""
    source = error.__cause__ if isinstance(error, DjangoDatabaseError) and error.__cause__ else error
    state = getattr(source, "sqlstate", None) or ""
    if state.startswith(_DATA_EXCEPTION):
        return f"SQLSTATE {state}"
    return str(error).partition("\n")[0]


def add_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the trace and the span in which something is logged, where this is traced (a structlog processor)."""
    if found := get_ids():
        event["trace_id"], event["span_id"] = found
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    add_trace,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso"),
    leave_out_values,
    structlog.processors.format_exc_info,
]


def make_logging(*, level: str, as_json: bool) -> dict[str, Any]:
    """Configure structlog and return Django's ``LOGGING``: both end in the same handler, in the same format."""
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            # What a client did wrong is the client's to know; it was answered.
            "django.request": {"level": "ERROR"},
            "httpx2": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
            # In detail they would log every message and every token.
            "mcp": {"level": "WARNING"},
            "oauthlib": {"level": "WARNING"},
            "oauth2_provider": {"level": "WARNING"},
        },
    }
