"""The panel's menu, in the order in which people look for things. Whoever may not see a page is not shown its item."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import ApiToken, User
from apps.chat.models import Strategy, Turn
from apps.conversations.models import Message, Session, Work
from apps.gateway.models import ConnectedApp
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
from apps.panel.owned import sees_everybody
from apps.panel.review.badge import count_badge
from apps.profile.models import ProfileProposal, UserProfile
from apps.summaries.models import SessionSummary


def list_navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of the menu for who asks, as django-unfold takes them."""

    def page(title: str, icon: str, name: str) -> dict[str, Any]:
        return {"title": title, "icon": icon, "link": reverse(f"admin:{name}")}

    def table(model: Any, icon: str) -> dict[str, Any]:
        link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        title = str(model._meta.verbose_name_plural)
        seen = admin.site.get_model_admin(model).has_view_permission(request)
        return {"title": title[:1].upper() + title[1:], "icon": icon, "link": link, "permission": lambda _: seen}

    own_profile = page(_("Profile"), "account_box", "profile")
    own_profile["active"] = request.path == own_profile["link"]  # and not below it, where the proposals are
    return [
        {
            "items": [page(_("Overview"), "dashboard", "index")],
        },
        {
            "title": _("Memory"),
            "items": [
                table(LongTermMemory, "neurology"),
                table(AtomicMemory, "scatter_plot"),
                page(_("Review queue"), "inbox", "review") | count_badge(request),
                page(_("Playground"), "science", "playground"),
                table(UserProfile, "account_box") if sees_everybody(request) else own_profile,
                table(ProfileProposal, "rate_review"),
                table(WorkingMemory, "memory"),
                table(SharedContext, "folder_shared"),
                table(SessionSummary, "summarize"),
                table(Change, "history"),
                page(_("Import and export"), "swap_vert", "transfer"),
                table(ForgottenKey, "backspace"),
            ],
        },
        {
            "title": _("Conversations"),
            "items": [
                table(Session, "forum"),
                table(Message, "chat"),
                table(Turn, "sync_alt"),
                table(ConversationEmbedding, "hub"),
                table(EmbeddingModel, "linked_services"),
                table(Work, "pending_actions"),
            ],
        },
        {
            "title": _("Behaviour"),
            "items": [page(_("Settings"), "tune", "settings"), table(Strategy, "mood")],
        },
        {
            "title": _("Accounts"),
            "items": [
                table(User, "person"),
                table(ApiToken, "key"),
                page(_("Services"), "apps", "accounts_enduser_changelist") | {"permission": sees_services},
                table(ConnectedApp, "extension"),
                page(_("Erase all data"), "delete_forever", "erasure"),
            ],
        },
    ]
