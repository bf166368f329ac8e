"""Addresses of the panel's pages, narrowed to what a figure counts or a text names."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse

from apps.accounts.models import User
from apps.memory.kinds import KINDS, get_kind


def link_list(model: type[Model], *, user: User | None = None, **filters: Any) -> str:
    """The list of a table's rows with these filters; for staff, of one person with `user`."""
    for kind in KINDS:  # which share one list
        if kind.model is model:
            return link_page("memories_changelist", user=user, kind=kind.name, **filters)
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    chosen = {**filters, **({"user__id__exact": user.pk} if user else {})}
    return f"{address}?{urlencode(chosen)}" if chosen else address


def link_memory(kind: str, memory_id: Any) -> str:
    """Return the page of a memory; `kind`: "long_term" or "atomic"."""
    return reverse(f"admin:memory_{get_kind(kind).model._meta.model_name}_change", args=[memory_id])


def link_message(session_id: Any, message_id: Any) -> str:
    """Return the conversation, at the message; empty for what came from none, or one that is gone."""
    if session_id is None or message_id is None:
        return ""
    address = reverse("admin:conversations_session_change", args=[session_id])
    return f"{address}?at={message_id}#message-{message_id}"


def link_page(name: str, *, user: User | None = None, **parameters: Any) -> str:
    """A page that is not about one table; for staff, about `user`."""
    address = reverse(f"admin:{name}")
    chosen = {**({"user": user.pk} if user else {}), **parameters}
    return f"{address}?{urlencode(chosen)}" if chosen else address
