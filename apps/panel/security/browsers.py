"""What a browser calls itself, in words by which its owner knows it."""

from __future__ import annotations

import re

_BROWSERS = (
    ("Edge", r"Edge?A?(?:iOS)?/"),
    ("Opera", r"OPR/|Opera"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("WeChat", r"MicroMessenger/"),
    ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"Chrome/|CriOS/|Chromium/"),
    ("Safari", r"Version/\S+.* Safari/"),
)
_SYSTEMS = (
    ("iPhone", r"iPhone"),
    ("iPad", r"iPad"),
    ("Android", r"Android"),
    ("Windows", r"Windows"),
    ("macOS", r"Mac OS X|Macintosh"),
    ("ChromeOS", r"CrOS"),
    ("Linux", r"Linux|X11"),
)
"""Names and how they are recognised, in this order: most call themselves what others do, too."""


def name_browser(user_agent: str) -> str:
    """Return the browser's name; empty for one that is not known."""
    return _find(_BROWSERS, user_agent)


def name_system(user_agent: str) -> str:
    """Return what the browser runs on; empty where that is not known."""
    return _find(_SYSTEMS, user_agent)


def _find(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for name, pattern in names if re.search(pattern, text[:500])), "")
