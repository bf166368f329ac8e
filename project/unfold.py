"""How the admin looks: the colours of the chat page, and a menu in the order in which people look for things."""

from __future__ import annotations

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def _item(title: Any, icon: str, view: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{view}_changelist")}


UNFOLD = {
    "SITE_TITLE": "Jiyi 记忆",
    "SITE_HEADER": "Jiyi 记忆",
    "SITE_URL": "/",
    "SITE_SYMBOL": "neurology",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("chat/mark.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_LANGUAGES": True,
    "COLORS": {
        "primary": {
            "50": "240 250 249",
            "100": "214 241 238",
            "200": "173 227 221",
            "300": "120 206 198",
            "400": "66 178 169",
            "500": "33 148 140",
            "600": "15 118 110",
            "700": "17 96 90",
            "800": "19 78 74",
            "900": "20 65 62",
            "950": "5 40 38",
        }
    },
    "SIDEBAR": {
        "show_search": True,
        "navigation": [
            {
                "title": _("Memory"),
                "items": [
                    _item(_("long-term memories"), "neurology", "memory_longtermmemory"),
                    _item(_("atomic memories"), "scatter_plot", "memory_atomicmemory"),
                    _item(_("working memories"), "memory", "memory_workingmemory"),
                    _item(_("shared contexts"), "folder_shared", "memory_sharedcontext"),
                    _item(_("user profiles"), "account_box", "profile_userprofile"),
                    _item(_("profile proposals"), "rate_review", "profile_profileproposal"),
                    _item(_("changes"), "history", "memory_change"),
                    _item(_("forgotten keys"), "backspace", "memory_forgottenkey"),
                ],
            },
            {
                "title": _("Conversations"),
                "items": [
                    _item(_("sessions"), "forum", "conversations_session"),
                    _item(_("messages"), "chat", "conversations_message"),
                    _item(_("turns"), "sync_alt", "chat_turn"),
                    _item(_("conversation embeddings"), "hub", "memory_conversationembedding"),
                    _item(_("embedding models"), "linked_services", "memory_embeddingmodel"),
                    _item(_("session summaries"), "summarize", "summaries_sessionsummary"),
                    _item(_("background work"), "pending_actions", "conversations_work"),
                ],
            },
            {
                "title": _("Behaviour"),
                "items": [
                    _item(_("reply strategies"), "mood", "chat_strategy"),
                    _item(_("settings"), "tune", "accounts_setting"),
                ],
            },
            {
                "title": _("Accounts"),
                "items": [
                    _item(_("users"), "person", "accounts_user"),
                    _item(_("API tokens"), "key", "accounts_apitoken"),
                ],
            },
        ],
    },
}
