"""What the descriptions of lists and searches of memories have in common."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter

from apps.conversations.types import MAX_CONTENT_CHARS
from apps.core.openapi.types import NOT_BLANK, Problem, query
from apps.memory.models import Status

_ONE = f"({'|'.join(Status.values)})"
STATUS = query(
    "status",
    f"Comma-separated: {', '.join(f'`{status}`' for status in Status.values)}; or `all`.",
    {"type": "string", "default": Status.ACTIVE.value, "pattern": f"^(all|{_ONE}(,{_ONE})*)$"},
)
MUTED = query("muted", "Only muted memories, or only others.", bool)
SEARCH = query("search", "Only memories that contain these words.")
CONFIRM = query("confirm", "Must be `all`, to confirm.", {"type": "string", "enum": ["all"]}, required=True)

AS_OF = query(
    "as_of",
    "What was known then: a date (its end in `memory.timezone`) or an ISO 8601 time. The other filters apply to what "
    "the memories were, `ordering` to what they are now. What was deleted for good since is not there, nor what a "
    "memory said before a text of it was deleted. `last_accessed` and `access_count` are those of now.",
    {"type": "string", "anyOf": [{"type": "string", "format": form} for form in ("date", "date-time")]},
)

Q = query("q", "A message or keywords.", {"type": "string", "pattern": NOT_BLANK}, required=True)
Q_TOO_LONG = Problem("`q` is too long", "too_large", f"q has over {MAX_CONTENT_CHARS:,} characters.")


def time_limit(name: str, meaning: str) -> OpenApiParameter:
    """A parameter with a time."""
    return query(
        name, f"{meaning} An ISO 8601 time; without an offset it is UTC.", {"type": "string", "format": "date-time"}
    )


def not_pending(status: str = "active") -> Problem:
    """Only what is pending can be accepted or rejected."""
    return Problem(
        "It is not pending",
        "conflict",
        f"Only a pending memory can be accepted or rejected; this one is {status}.",
    )


HISTORY = Problem(
    "It is history: superseded, rejected or evicted",
    "conflict",
    "Only active and pending memories can be changed; this one is superseded.",
)
