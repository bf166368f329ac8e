"""The panel's pages that are not about one table. They are part of the admin site: ``admin:<name>``."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path

from apps.panel.erasure.pages import ErasurePage, ExportPage
from apps.panel.pages import PanelPage
from apps.panel.profiles.pages import ProfilePage, ProposalPage, RestorePage, SectionPage
from apps.panel.review.pages import ConsequencePage, DecidePage, EditorPage, ReviewPage, UndoPage
from apps.panel.settings.pages import SettingsPage
from apps.panel.undoing import UndoOperations
from apps.panel.work.queue import ProgressPage, ReplayPage

PAGES: tuple[tuple[str, type[PanelPage], str], ...] = (
    ("undo/", UndoOperations, "undo"),
    ("profile/", ProfilePage, "profile"),
    ("profile/section/", SectionPage, "profile_section"),
    ("profile/proposal/", ProposalPage, "profile_proposal"),
    ("profile/restore/", RestorePage, "profile_restore"),
    ("review/", ReviewPage, "review"),
    ("review/consequence/", ConsequencePage, "review_consequence"),
    ("review/editor/", EditorPage, "review_editor"),
    ("review/decide/", DecidePage, "review_decide"),
    ("review/undo/", UndoPage, "review_undo"),
    ("erasure/", ErasurePage, "erasure"),
    ("erasure/export/", ExportPage, "erasure_export"),
    ("settings/", SettingsPage, "settings"),
    ("work/progress/", ProgressPage, "work_progress"),
    ("work/replay/", ReplayPage, "work_replay"),
)
"""Address below the site's, page, name."""


def list_pages(site: AdminSite) -> list[URLPattern]:
    """The patterns of `PAGES`, each only for who is logged in."""
    return [path(address, site.admin_view(page.as_view()), name=name) for address, page, name in PAGES]
