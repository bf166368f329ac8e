"""The panel's pages that are not about one table. They are part of the admin site: ``admin:<name>``."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path

from apps.panel.pages import PanelPage

PAGES: tuple[tuple[str, type[PanelPage], str], ...] = ()
"""Address below the site's, page, name."""


def list_pages(site: AdminSite) -> list[URLPattern]:
    """The patterns of `PAGES`, each only for who is logged in."""
    return [path(address, site.admin_view(page.as_view()), name=name) for address, page, name in PAGES]
