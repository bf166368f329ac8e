"""The items of a list: where each came from, and how often it was used since (M2)."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from apps.chat.models import Turn
from apps.core.text.json_text import readable_text
from apps.memory.models import Change, Status
from apps.panel.memories.detail.uses import MAX_TURNS

_USES = """
SELECT created_at FROM turn
WHERE user_id = %(user)s AND memories_used @> ANY (%(versions)s::jsonb[])
ORDER BY created_at DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list. ``source``: the change that added it, None where that is not recorded.

    ``turn_id``: the turn of the message that it was said in. ``uses``: turns that used the list since.
    """

    index: int
    text: str
    source: Change | None
    turn_id: UUID | None
    uses: int


def load_list_items(memory: Any, *, earlier: Collection[UUID]) -> list[ListItem]:
    """Return the items of a memory whose value is a list; ``earlier``: the memories that it took the place of.

    Three queries, none where the value is no list.
    """
    if not isinstance(memory.value, list):
        return []
    versions = [memory.pk, *earlier]
    texts = [readable_text(item) for item in memory.value]
    sources = _find_sources(memory, versions)
    times = _list_uses(memory, versions)
    messages = {source.message_id for source in sources.values() if source.message_id}
    turns = Turn.objects.filter(user=memory.user_id, user_message__in=messages)
    turn_ids: dict[UUID | None, UUID] = dict(turns.values_list("user_message", "pk"))
    items = []
    for index, text in enumerate(texts):
        source = sources.get(text)
        items.append(
            ListItem(
                index=index,
                text=text,
                source=source,
                turn_id=turn_ids.get(source.message_id) if source else None,
                uses=len(times) - bisect_left(times, source.created_at) if source else len(times),
            )
        )
    return items


def _find_sources(memory: Any, versions: Sequence[UUID]) -> dict[str, Change]:
    """The change that added each item: the first after which it was there and stayed."""
    changes = Change.objects.filter(
        user=memory.user_id, kind=Change.Kind.LONG_TERM, object_id__in=versions, after__status=Status.ACTIVE
    )
    sources: dict[str, Change] = {}
    for change in changes.select_related("actor").order_by("id"):
        value = (change.after or {}).get("value")
        there = {readable_text(item) for item in (value if isinstance(value, list) else [value])}
        sources = {text: sources.get(text, change) for text in there}
    return sources


def _list_uses(memory: Any, versions: Sequence[UUID]) -> list[datetime]:
    """When turns used the memory or one that it took the place of, the newest `MAX_TURNS`, in order."""
    used = [json.dumps([{"id": str(version)}]) for version in versions]
    with connection.cursor() as cursor:
        cursor.execute(_USES, {"user": memory.user_id, "versions": used, "limit": MAX_TURNS})
        return sorted(time for (time,) in cursor.fetchall())
