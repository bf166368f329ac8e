"""The panel's menu: what everybody looks for, and for staff the people and, folded, the tables behind it all."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.panel.owned import sees_everybody
from apps.panel.places import Place, list_entries, list_people, list_technical_tables
from apps.panel.review.badge import count_badge


def list_navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of the menu for who asks, as django-unfold takes them."""
    entries = list_entries(request)
    people, tables = (list_people(), list_technical_tables()) if sees_everybody(request) else ([], [])
    # An item of its own comes before the entry that a page belongs to.
    owners = {
        address: entry.places[0].address for entry in entries for place in entry.places for address in place.addresses
    }
    owners |= {place.address: place.address for place in (*people, *tables)}
    current = owners.get(_find_address(request, owners), "")

    def show(title: str, icon: str, address: str) -> dict[str, Any]:
        return {"title": title, "icon": icon, "link": address, "active": address == current}

    def show_place(place: Place) -> dict[str, Any]:
        # A function: the menu is copied in depth, with the site of a method.
        return show(place.title, place.icon, place.address) | {"permission": lambda request: place.is_seen(request)}

    badges = {"review": count_badge(request)}
    items = [show(entry.title, entry.icon, entry.places[0].address) | badges.get(entry.name, {}) for entry in entries]
    groups: list[dict[str, Any]] = [{"items": items}]
    if people:
        groups.append({"title": _("People"), "items": [show_place(place) for place in people]})
        groups.append(
            {"title": _("Technical tables"), "collapsible": True, "items": [show_place(place) for place in tables]}
        )
    return groups


def _find_address(request: HttpRequest, addresses: dict[str, str]) -> str:
    """Which of the pages is asked for, or the one that a page below it belongs to."""
    index = reverse("admin:index")
    above = [
        address
        for address in addresses
        if request.path == address or (address != index and request.path.startswith(address))
    ]
    return max(above, key=len, default="")
