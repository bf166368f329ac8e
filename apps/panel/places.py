"""The panel's pages by the entry of the menu that leads to them: its own page first, then what belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import ApiToken, EndUser, LoginAttempt, User
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message, Session, Work
from apps.doors.models import ConnectedApp
from apps.memory.models import (
    AtomicMemory,
    Change,
    ConversationEmbedding,
    EmbeddingModel,
    ForgottenKey,
    LongTermMemory,
    SharedContext,
    WorkingMemory,
)
from apps.panel.accounts.end_users import sees_services
from apps.panel.model_servers.pages import may_connect
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.profile.models import ProfileProposal, ProfileVersion, UserProfile
from apps.summaries.models import SessionSummary


@dataclass(frozen=True, slots=True)
class Place:
    """A page. ``person``: the parameter by which staff narrow it to one user; empty where there is none.

    ``parts``: addresses of pages that show a part of it, such as one kind of what it lists.
    """

    title: str
    icon: str
    address: str
    is_seen: Callable[[HttpRequest], bool]
    person: str = ""
    parts: tuple[str, ...] = ()

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
    """A page that is not about one table."""
    return Place(title, icon, reverse(f"admin:{name}"), lambda _request: True, person)


def make_table(model: Any, icon: str) -> Place:
    """The list of a table's rows."""
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


def make_memories() -> Place:
    """The list of both kinds of memories, with the lists of each kind."""
    parts = tuple(make_table(model, "").address for model in (LongTermMemory, AtomicMemory))
    return replace(make_page(_("Memories"), "neurology", "memories_changelist"), parts=parts)


def make_changes() -> Place:
    """The list of changes, with the list of those from one source."""
    return replace(make_table(Change, "history"), parts=(reverse("admin:sources"),))


def make_services() -> Place:
    """The end users of services; for staff and for the account of a service."""
    address = reverse(f"admin:accounts_{EndUser._meta.model_name}_changelist")
    return Place(_("Services"), "apps", address, sees_services)


def make_models() -> Place:
    """The models that answer; for who may connect them."""
    return Place(_("Models"), "smart_toy", reverse("admin:models"), may_connect)


def list_entries(request: HttpRequest) -> list[Entry]:
    """The entries that everybody has."""
    own_profile = make_page(_("Profile"), "account_box", "profile")
    profile = make_table(UserProfile, "account_box") if sees_everybody(request) else own_profile
    return [
        Entry("overview", _("Overview"), "dashboard", (make_page(_("Overview"), "dashboard", "index"),)),
        Entry(
            "memories",
            _("Memories"),
            "neurology",
            (make_memories(),),
        ),
        Entry("review", _("Review"), "inbox", (make_page(_("Review queue"), "inbox", "review"),)),
        Entry(
            "conversations",
            _("Conversations"),
            "forum",
            (
                make_table(Session, "forum"),
                make_table(Message, "chat"),
                make_table(Turn, "sync_alt"),
                make_table(SessionSummary, "summarize"),
                make_table(WorkingMemory, "memory"),
                make_table(SharedContext, "folder_shared"),
                make_table(ConversationEmbedding, "hub"),
            ),
        ),
        Entry("profile", _("Profile"), "account_box", (profile, make_table(ProfileProposal, "rate_review"))),
        Entry("playground", _("Playground"), "science", (make_page(_("Playground"), "science", "playground"),)),
        Entry(
            "changes",
            _("Changes"),
            "history",
            (make_changes(), make_page(_("Timeline"), "timeline", "timeline")),
        ),
        Entry(
            "settings",
            _("Settings"),
            "tune",
            (
                make_page(_("Settings"), "tune", "settings"),
                make_page(_("Login and security"), "shield_lock", "security", person=""),
                make_models(),
                make_page(_("Import and export"), "swap_vert", "transfer"),
                make_table(ApiToken, "key"),
                make_table(ConnectedApp, "extension"),
                make_services(),
                make_table(LoginAttempt, "lock_clock"),
                make_table(ForgottenKey, "backspace"),
                make_table(Work, "pending_actions"),
                make_table(Strategy, "mood"),
                make_table(EmbeddingModel, "linked_services"),
                make_page(_("Erase all data"), "delete_forever", "erasure"),
            ),
        ),
    ]


def list_people() -> list[Place]:
    """What staff have in the menu to look after accounts."""
    return [
        make_table(User, "person"),
        make_services(),
        make_table(ApiToken, "key"),
        make_table(ConnectedApp, "extension"),
        make_table(LoginAttempt, "lock_clock"),
    ]


def list_technical_tables() -> list[Place]:
    """What staff have in the menu to look into the tables behind the entries."""
    return [
        make_table(LongTermMemory, "neurology"),
        make_table(AtomicMemory, "scatter_plot"),
        make_table(ProfileProposal, "rate_review"),
        make_table(ProfileVersion, "manage_history"),
        make_table(Message, "chat"),
        make_table(Turn, "sync_alt"),
        make_table(SessionSummary, "summarize"),
        make_table(WorkingMemory, "memory"),
        make_table(SharedContext, "folder_shared"),
        make_table(ForgottenKey, "backspace"),
        make_table(Strategy, "mood"),
        make_table(ConversationEmbedding, "hub"),
        make_table(EmbeddingModel, "linked_services"),
        make_table(Work, "pending_actions"),
    ]
