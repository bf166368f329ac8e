"""How the panel looks: the colours of the chat page. Its menu is `apps.panel.menu`."""

from __future__ import annotations

from django.templatetags.static import static

UNFOLD = {
    "SITE_TITLE": "Jiyi 记忆",
    "SITE_HEADER": "Jiyi 记忆",
    "SITE_URL": "/",
    "SITE_SYMBOL": "neurology",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("chat/mark.svg")}],
    "SHOW_HISTORY": True,
    "SHOW_LANGUAGES": True,
    "SIDEBAR": {"show_search": False, "navigation": "apps.panel.menu.list_navigation"},
    "DASHBOARD_CALLBACK": "apps.panel.overview.add_dashboard",
    "STYLES": [
        lambda request: static("panel/panel.css"),
        lambda request: static("panel/differences.css"),
    ],
    "SCRIPTS": [lambda request: static("chat/zone.js"), lambda request: static("panel/frame.js")],
}
