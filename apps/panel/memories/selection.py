"""Which memories a person means: those with a tick, or all that the list shows, on every page of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime

from apps.panel.memories.kinds import MemoryKind
from apps.panel.memories.query import ListQuery, knows_words, narrow


@dataclass(frozen=True, slots=True)
class Selection:
    """``ids``, or with ``until`` everything in the list that was stored by then: what came later was not seen.

    ``by_index``: how a search found it when it was selected. Once all of that is deleted, the same search would find
    parts of words, which nobody selected.
    """

    ids: tuple[UUID, ...] = ()
    until: datetime | None = None
    by_index: bool | None = None

    def pick(self, memories: QuerySet[Any], query: ListQuery, kind: MemoryKind, *, now: datetime) -> QuerySet[Any]:
        """Return the selected ones of `memories`, which who asks may see."""
        if self.until is None:
            return memories.filter(pk__in=self.ids)
        return narrow(memories, query, kind, now=now, by_index=self.by_index).filter(
            **{f"{kind.made_at}__lte": self.until}
        )

    def settle(
        self, parts: Sequence[tuple[MemoryKind, QuerySet[Any]]], query: ListQuery, *, now: datetime
    ) -> Selection:
        """Return the selection with ``by_index`` as it is now, unless it is known already or makes no difference."""
        if self.until is None or self.by_index is not None:
            return self
        return replace(self, by_index=knows_words(parts, query, now=now))

    @property
    def fields(self) -> Mapping[str, Any]:
        """What a form repeats so that it means the same."""
        if self.until is None:
            return {"selected": [str(memory_id) for memory_id in self.ids]}
        found = {} if self.by_index is None else {"by_index": "1" if self.by_index else "0"}
        return {"all": "1", "until": self.until.isoformat(), **found}


def read_selection(request: HttpRequest, *, now: datetime) -> Selection:
    """Return what a form names in ``selected`` (IDs), or with ``all`` the list as it was at ``until``, or now."""
    if request.POST.get("all") == "1":
        try:
            until = parse_datetime(request.POST.get("until", ""))
        except ValueError:
            until = None
        by_index = {"1": True, "0": False}.get(request.POST.get("by_index", ""))
        return Selection(until=min(until, now) if until is not None and until.tzinfo else now, by_index=by_index)
    ids = []
    for text in request.POST.getlist("selected"):
        try:
            ids.append(UUID(text))
        except ValueError:
            continue
    return Selection(ids=tuple(dict.fromkeys(ids)))
