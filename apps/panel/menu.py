"""The panel's menu: entries, the pages that belong to each as tabs, and for staff the people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import ApiToken, EndUser, LoginAttempt, Space, User
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message, Session, Work
from apps.doors.models import ConnectedApp
from apps.memory.models import AtomicMemory, Change, LongTermMemory, SharedContext, WorkingMemory
from apps.panel.accounts.services import sees_services
from apps.panel.model_servers import may_connect
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.review.waiting import count_pending
from apps.panel.texts import read_number
from apps.profile.models import UserProfile
from apps.summaries.models import SessionSummary
from apps.tidying.services import find_unseen
from apps.webhooks.models import Webhook

MOST_SHOWN = 99


@dataclass(frozen=True, slots=True)
class Place:
    """A page. ``person``: the parameter by which staff narrow it to one user; empty where there is none.

    ``parts``: addresses of pages that show a part of it, such as one kind of what it lists. ``is_new``: whether it
    has something that who asks has not seen.
    """

    title: str
    icon: str
    address: str
    is_seen: Callable[[HttpRequest], bool]
    person: str = ""
    parts: tuple[str, ...] = ()
    is_new: Callable[[HttpRequest], bool] = lambda _request: False

    @property
    def addresses(self) -> tuple[str, ...]:
        """The page's own and those of its parts."""
        return (self.address, *self.parts)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the menu: its name, and its places, of which it leads to the first."""

    name: str
    title: str
    icon: str
    places: tuple[Place, ...]


def make_page(title: str, icon: str, name: str, *, person: str = "user") -> Place:
    return Place(title, icon, reverse(f"admin:{name}"), lambda _request: True, person)


def make_table(model: Any, icon: str) -> Place:
    title = str(model._meta.verbose_name_plural)
    page = admin.site.get_model_admin(model)
    owned = isinstance(page, OwnedAdmin) and page.owner == "user"
    return Place(
        title=title[:1].upper() + title[1:],
        icon=icon,
        address=reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"),
        is_seen=page.has_view_permission,
        person="user__id__exact" if owned else "",
    )


def list_entries(request: HttpRequest) -> list[Entry]:
    """Return the entries that everybody has."""
    own_profile = make_page(_("Profile"), "account_box", "profile")
    memories = make_page(_("Memories"), "neurology", "memories_changelist")
    tidying = make_page(_("Tidying up"), "cleaning_services", "tidying")
    kinds = tuple(make_table(model, "").address for model in (LongTermMemory, AtomicMemory))
    return [
        Entry("overview", _("Overview"), "dashboard", (make_page(_("Overview"), "dashboard", "index"),)),
        Entry("memories", _("Memories"), "neurology", (replace(memories, parts=kinds),)),
        Entry(
            "review",
            _("Review"),
            "inbox",
            (
                make_page(_("Review queue"), "inbox", "review"),
                replace(tidying, is_new=has_new_letter),
            ),
        ),
        Entry(
            "conversations",
            _("Conversations"),
            "forum",
            (
                make_table(Session, "forum"),
                make_table(Space, "workspaces"),
                make_table(Message, "chat"),
                make_table(Turn, "sync_alt"),
                make_table(SessionSummary, "summarize"),
                make_table(WorkingMemory, "memory"),
                make_table(SharedContext, "folder_shared"),
                make_page(_("Embeddings"), "hub", "embeddings"),
            ),
        ),
        Entry(
            "profile",
            _("Profile"),
            "account_box",
            (make_table(UserProfile, "account_box") if sees_everybody(request) else own_profile,),
        ),
        Entry("playground", _("Playground"), "science", (make_page(_("Playground"), "science", "playground"),)),
        Entry(
            "changes",
            _("Changes"),
            "history",
            (make_table(Change, "history"), make_page(_("Timeline"), "timeline", "timeline")),
        ),
        Entry("cost", _("Cost"), "payments", (make_page(_("Cost"), "payments", "cost"),)),
        Entry(
            "settings",
            _("Settings"),
            "tune",
            (
                make_page(_("Settings"), "tune", "settings"),
                make_page(_("Login and security"), "shield_lock", "security", person=""),
                Place(_("Models"), "smart_toy", reverse("admin:models"), may_connect),
                make_page(_("Import and export"), "swap_vert", "transfer"),
                *list_people()[1:],
                make_table(Webhook, "webhook"),
                make_table(Work, "pending_actions"),
                make_table(Strategy, "mood"),
                make_page(_("Erase all data"), "delete_forever", "erasure"),
            ),
        ),
    ]


def list_people() -> list[Place]:
    services = reverse(f"admin:accounts_{EndUser._meta.model_name}_changelist")
    return [
        make_table(User, "person"),
        Place(_("Services"), "apps", services, sees_services),
        make_table(ApiToken, "key"),
        make_table(ConnectedApp, "extension"),
        make_table(LoginAttempt, "lock_clock"),
    ]


def list_navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the groups of the menu for who asks, as django-unfold takes them."""
    entries = list_entries(request)
    people = list_people() if sees_everybody(request) else []
    # An item of its own comes before the entry that a page belongs to.
    owners = {
        address: entry.places[0].address for entry in entries for place in entry.places for address in place.addresses
    }
    owners |= {place.address: place.address for place in people}
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
    return groups


def count_badge(request: HttpRequest) -> dict[str, Any]:
    """Return the badge of the review queue as django-unfold takes it; empty while nothing waits. Two queries.

    A letter that who asks has not seen counts as one.
    """
    owner = None if sees_everybody(request) else cast(User, request.user)
    count = sum(count_pending(owner).values()) + has_new_letter(request)
    if not count:
        return {}
    return {"badge": str(count) if count <= MOST_SHOWN else f"{MOST_SHOWN}+", "badge_variant": "primary"}


def has_new_letter(request: HttpRequest) -> bool:
    """Whether a letter about what was tidied up waits for who asks, on any page but that of letters. One query."""
    if request.path == reverse("admin:tidying"):
        return False
    known: bool | None = getattr(request, "has_new_letter", None)
    if known is None:
        known = find_unseen(cast(User, request.user)) is not None
        request.has_new_letter = known  # type: ignore[attr-defined]  # the menu and the tabs ask
    return known


def _find_address(request: HttpRequest, addresses: dict[str, str]) -> str:
    """Return which of the pages is asked for, or the one that a page below it belongs to."""
    index = reverse("admin:index")
    above = [
        address
        for address in addresses
        if request.path == address or (address != index and request.path.startswith(address))
    ]
    return max(above, key=len, default="")


def list_tabs(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the pages of the menu's entry that this page belongs to; none above a row, and where there is only one."""
    entry = _find_entry(request)
    # The settings list their pages themselves.
    if entry is None or (entry.name == "settings" and request.path == entry.places[0].address):
        return []
    tabs = _make_tabs(entry, request)
    return tabs if len(tabs) > 1 else []


def list_more(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the other pages of the entry that this page belongs to."""
    entry = _find_entry(request)
    return [tab for tab in _make_tabs(entry, request) if tab["place"].address != request.path] if entry else []


def _make_tabs(entry: Entry, request: HttpRequest) -> list[dict[str, Any]]:
    named = request.GET.get("user") or request.GET.get("user__id__exact") or ""
    person = named if sees_everybody(request) and read_number(named) is not None else ""
    return [
        {
            "place": place,
            "link": f"{place.address}?{urlencode({place.person: person})}"
            if person and place.person
            else place.address,
            "is_current": request.path in place.addresses,
            "is_new": place.is_new(request),
        }
        for place in entry.places
        if place.is_seen(request)
    ]


def _find_entry(request: HttpRequest) -> Entry | None:
    entries = list_entries(request)
    return next((entry for entry in entries if any(request.path in place.addresses for place in entry.places)), None)
