from __future__ import annotations

from django.urls import path

from apps.chat import api, session_api

urlpatterns = [
    path("models", session_api.ModelsView.as_view(), name="models"),
    path("sessions", session_api.SessionsView.as_view(), name="sessions"),
    path("search", session_api.SearchView.as_view(), name="search"),
    path("sessions/<str:session_id>", session_api.SessionView.as_view(), name="session"),
    path("sessions/<str:session_id>/export", session_api.SessionExportView.as_view(), name="session-export"),
    path("sessions/<str:session_id>/messages", api.MessagesView.as_view(), name="messages"),
    path("sessions/<str:session_id>/turns", api.TurnsView.as_view(), name="turns"),
    path("sessions/<str:session_id>/context", session_api.ContextView.as_view(), name="context"),
    path("sessions/<str:session_id>/hitl-forms", api.FormsView.as_view(), name="forms"),
    path("sessions/<str:session_id>/attachments", session_api.AttachmentsView.as_view(), name="attachments"),
    path("attachments/<str:attachment_id>", session_api.AttachmentView.as_view(), name="attachment"),
    path("messages/<str:message_id>", api.MessageView.as_view(), name="message"),
    path("messages/<str:message_id>/retry", api.RetryView.as_view(), name="retry"),
    path("messages/<str:message_id>/regenerate", api.RegenerateView.as_view(), name="regenerate"),
    path("messages/<str:message_id>/edit", api.EditView.as_view(), name="edit"),
    path("messages/<str:message_id>/edit/undo", api.UndoEditView.as_view(), name="undo-edit"),
    path("sessions/<str:session_id>/edits", api.EditsView.as_view(), name="edits"),
    path("messages/<str:message_id>/stop", api.StopView.as_view(), name="stop"),
    path(
        "messages/<str:message_id>/candidates/<str:candidate_id>/forget",
        api.CandidateView.as_view(),
        name="forget-candidate",
    ),
    path("messages/<str:message_id>/turn", api.TurnView.as_view(), name="turn"),
]
