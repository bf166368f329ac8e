"""A conversation as a file to keep."""

from __future__ import annotations

from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest
from django.utils import timezone

from apps.conversations.export import ExportFormat, answer_export
from apps.conversations.models import Session
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage


class SessionDownload(PanelPage):
    """GET ``format``: markdown, which is the default, or json."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest, session_id: UUID) -> FileResponse:
        """Answer with the file; 404 for none, and for one that who asks does not see."""
        seen = Session.objects.all() if sees_everybody(request) else Session.objects.filter(user=request.user.pk)
        session = seen.filter(pk=session_id).first()
        asked = request.GET.get("format", ExportFormat.MARKDOWN)
        if session is None or asked not in list(ExportFormat):
            raise Http404
        return answer_export(session, ExportFormat(asked), zone=timezone.get_current_timezone())
