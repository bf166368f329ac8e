"""What htmx gets beside the page: a toast with Undo, and the news that the list has changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.http import HttpResponse

UNPROCESSABLE = 422
"""The status of a form that is shown again with what is wrong."""


def tell(
    response: HttpResponse,
    text: Any,
    *,
    operations: Iterable[UUID] = (),
    together: bool = False,
    is_error: bool = False,
    reload: bool = False,
    close: bool = False,
) -> HttpResponse:
    """Let the page show a toast; with ``operations`` it offers to undo them. ``reload``: the list is to be read again.

    ``together``: each covers all that was done in its request. This is sent in a header, and proxies refuse long
    ones: thousands of IDs do not belong there. ``close``: the dialog is done with.
    """
    events: dict[str, Any] = {
        "panel:toast": {
            "text": str(text),
            "operations": ",".join(map(str, operations)),
            **({"together": True} if together else {}),
            "error": is_error,
        }
    }
    if reload:
        events["panel:reload"] = True
    if close:
        events["panel:close"] = True
    response.headers["HX-Trigger"] = json.dumps(events)
    return response


def is_partial(request: Any) -> bool:
    """Whether htmx asks, for a part of a page."""
    return bool(request.headers.get("HX-Request") == "true")
