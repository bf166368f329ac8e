"""Ways between pages that belong together: tabs above each of them, and a block of links on the settings."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest

from apps.panel.owned import sees_everybody
from apps.panel.places import Entry, Place, list_entries


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to a page."""

    place: Place
    link: str
    is_current: bool


def list_tabs(request: HttpRequest) -> list[Tab]:
    """The pages of the menu's entry that this page belongs to; none above a row, and where there is only one."""
    entry = _find_entry(request)
    # The settings list their pages themselves.
    if entry is None or (entry.name == "settings" and request.path == entry.places[0].address):
        return []
    tabs = [
        Tab(place, _link(place, request), is_current=request.path in place.addresses)
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
    return next((entry for entry in entries if any(request.path in place.addresses for place in entry.places)), None)


def _link(place: Place, request: HttpRequest) -> str:
    """The page, for staff about the person whom this one is about."""
    person = _find_person(request)
    return f"{place.address}?{urlencode({place.person: person})}" if person and place.person else place.address


def _find_person(request: HttpRequest) -> str:
    named = request.GET.get("user") or request.GET.get("user__id__exact") or ""
    return named if sees_everybody(request) and named.isdecimal() and len(named) <= 18 else ""
