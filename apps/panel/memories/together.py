"""The list of both kinds of memories, which the menu leads to."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, URLResolver, include, path
from django.utils.translation import gettext as _

from apps.panel.memories.bulk import BulkPages
from apps.panel.memories.kinds import BOTH
from apps.panel.memories.lists import BOTH_NAME


class AllMemories(BulkPages):
    """Both kinds by what they have in common. A row's own addresses, such as its editor's, are those of its kind."""

    kinds = BOTH
    list_name = BOTH_NAME

    def __init__(self, admin_site: AdminSite) -> None:
        self.admin_site = admin_site

    @property
    def list_title(self) -> str:
        return _("Memories")

    def list_patterns(self) -> list[URLPattern]:
        """The addresses of the list and its parts."""
        view = self.admin_site.admin_view
        return [path("", view(self.list_view), name=f"{BOTH_NAME}_changelist"), *self.list_parts()]


def include_memories(site: AdminSite) -> URLResolver:
    """What is below ``memories/``."""
    return path("memories/", include(AllMemories(site).list_patterns()))
