"""Ways between pages that belong together: tabs above each of them, and a block of links on the settings."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count, F, Value
from django.http import HttpRequest

from apps.memory.models import AtomicMemory, LongTermMemory, Status
from apps.panel.owned import sees_everybody
from apps.panel.places import Entry, Place, list_entries


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to a page; ``count``: how many rows it has, None where that is not said."""

    place: Place
    link: str
    is_current: bool
    count: int | None = None


def list_tabs(request: HttpRequest) -> list[Tab]:
    """The pages of the menu's entry that this page belongs to; none above a row, and where there is only one."""
    entry = _find_entry(request)
    # The settings list their pages themselves.
    if entry is None or (entry.name == "settings" and request.path == entry.places[0].address):
        return []
    counts = _count_memories(request, entry) if entry.name == "memories" else {}
    tabs = [
        Tab(place, _link(place, request), place.address == request.path, counts.get(place.address))
        for place in entry.places
        if place.is_seen(request)
    ]
    return tabs if len(tabs) > 1 else []


def list_more(request: HttpRequest) -> list[Tab]:
    """The other pages of the entry that this page belongs to."""
    entry = _find_entry(request)
    places = entry.places if entry else ()
    return [
        Tab(place, _link(place, request), is_current=False)
        for place in places
        if place.address != request.path and place.is_seen(request)
    ]


def _find_entry(request: HttpRequest) -> Entry | None:
    entries = list_entries(request)
    return next((entry for entry in entries if any(place.address == request.path for place in entry.places)), None)


def _link(place: Place, request: HttpRequest) -> str:
    """The page, for staff about the person whom this one is about."""
    person = _find_person(request)
    return f"{place.address}?{urlencode({place.person: person})}" if person and place.person else place.address


def _find_person(request: HttpRequest) -> str:
    named = request.GET.get("user") or request.GET.get("user__id__exact") or ""
    return named if sees_everybody(request) and named.isdecimal() and len(named) <= 18 else ""


def _count_memories(request: HttpRequest, entry: Entry) -> dict[str, int]:
    """How many memories of each kind are in use, in one query; of everybody's nothing is counted."""
    person = _find_person(request) or ("" if sees_everybody(request) else str(request.user.pk))
    if not person:
        return {}
    numbered = enumerate((LongTermMemory, AtomicMemory))
    counted = [
        model._default_manager.filter(user=int(person), status=Status.ACTIVE)
        .order_by()
        .annotate(kind=Value(number))
        .values_list(F("kind"))
        .annotate(n=Count("*"))
        for number, model in numbered
    ]
    found = dict(counted[0].union(counted[1], all=True))
    return {place.address: found.get(number, 0) for number, place in enumerate(entry.places)}
