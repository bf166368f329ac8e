"""The panel's pages that are not about one table. They are part of the admin site: ``admin:<name>``."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, URLResolver, path

from apps.panel.accounts.users import ErasurePage, ExportPage
from apps.panel.changes import UndoOperations
from apps.panel.conversations import SessionDownload
from apps.panel.costs import CostExport, CostPage, CostPlanPage
from apps.panel.jobs import ProgressPage, ReplayPage
from apps.panel.memories.lists import include_memories
from apps.panel.model_servers import (
    DefaultPage,
    EmbeddingsPage,
    ModelsPage,
    RemovePage,
    ServerPage,
    TestPage,
    TryModelPage,
)
from apps.panel.pages import PanelPage
from apps.panel.pasted import PastePage
from apps.panel.playground import PlaygroundPage, SavePage, TryPage
from apps.panel.profiles import ProfilePage, ProposalPage, RestorePage, SectionPage
from apps.panel.review.pages import ConsequencePage, DecidePage, EditorPage, ReviewPage
from apps.panel.security import (
    ConnectPage,
    DisconnectPage,
    EndSessionPage,
    PasswordPage,
    RecoveryCodesPage,
    SecurityPage,
    TwoFactorOffPage,
    TwoFactorPage,
)
from apps.panel.settings import SettingsPage
from apps.panel.sources import SourcePage
from apps.panel.tidying import SeeTidying, StartTidying, TidyingPage, UndoTidying
from apps.panel.timeline import TimelinePage
from apps.panel.transfer import ConfirmPage, DownloadPage, PreviewPage, TransferPage

# Address below the site's, page, name.
PAGES: tuple[tuple[str, type[PanelPage], str], ...] = (
    ("undo/", UndoOperations, "undo"),
    ("timeline/", TimelinePage, "timeline"),
    ("tidying/", TidyingPage, "tidying"),
    ("tidying/start/", StartTidying, "tidying_start"),
    ("tidying/seen/<uuid:run_id>/", SeeTidying, "tidying_seen"),
    ("tidying/undo/<uuid:run_id>/", UndoTidying, "tidying_undo"),
    ("sources/", SourcePage, "sources"),
    ("conversations/export/<uuid:session_id>/", SessionDownload, "session_export"),
    ("transfer/", TransferPage, "transfer"),
    ("transfer/download/", DownloadPage, "transfer_download"),
    ("transfer/preview/", PreviewPage, "transfer_preview"),
    ("transfer/confirm/", ConfirmPage, "transfer_confirm"),
    ("transfer/paste/", PastePage, "paste"),
    ("embeddings/", EmbeddingsPage, "embeddings"),
    ("cost/", CostPage, "cost"),
    ("cost/plan/", CostPlanPage, "cost_plan"),
    ("cost/export/", CostExport, "cost_export"),
    ("profile/", ProfilePage, "profile"),
    ("profile/section/", SectionPage, "profile_section"),
    ("profile/proposal/", ProposalPage, "profile_proposal"),
    ("profile/restore/", RestorePage, "profile_restore"),
    ("playground/", PlaygroundPage, "playground"),
    ("playground/try/", TryPage, "playground_try"),
    ("playground/save/", SavePage, "playground_save"),
    ("review/", ReviewPage, "review"),
    ("review/consequence/", ConsequencePage, "review_consequence"),
    ("review/editor/", EditorPage, "review_editor"),
    ("review/decide/", DecidePage, "review_decide"),
    ("erasure/", ErasurePage, "erasure"),
    ("erasure/export/", ExportPage, "erasure_export"),
    ("settings/", SettingsPage, "settings"),
    ("security/", SecurityPage, "security"),
    ("security/password/", PasswordPage, "security_password"),
    ("security/two-factor/", TwoFactorPage, "security_two_factor"),
    ("security/two-factor/codes/", RecoveryCodesPage, "security_codes"),
    ("security/two-factor/off/", TwoFactorOffPage, "security_two_factor_off"),
    ("security/connect/", ConnectPage, "security_connect"),
    ("security/disconnect/", DisconnectPage, "security_disconnect"),
    ("security/session/", EndSessionPage, "security_session"),
    ("models/", ModelsPage, "models"),
    ("models/server/", ServerPage, "models_server"),
    ("models/test/", TestPage, "models_test"),
    ("models/try/", TryModelPage, "models_try"),
    ("models/default/", DefaultPage, "models_default"),
    ("models/remove/", RemovePage, "models_remove"),
    ("work/progress/", ProgressPage, "work_progress"),
    ("work/replay/", ReplayPage, "work_replay"),
)


def list_pages(site: AdminSite) -> list[URLPattern | URLResolver]:
    """The patterns of `PAGES` and of the list of memories, each only for who is logged in."""
    return [
        include_memories(site),
        *(path(address, site.admin_view(page.as_view()), name=name) for address, page, name in PAGES),
    ]
