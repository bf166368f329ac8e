"""How the panel looks: the colours of the chat page. Its menu is `apps.panel.navigation`."""

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
    "SIDEBAR": {"show_search": False, "navigation": "apps.panel.navigation.list_navigation"},
    "DASHBOARD_CALLBACK": "apps.panel.dashboard.page.add_dashboard",
    "STYLES": [
        lambda request: static("panel/panel.css"),
        lambda request: static("panel/differences.css"),
    ],
    "SCRIPTS": [lambda request: static("chat/zone.js"), lambda request: static("panel/frame.js")],
}
