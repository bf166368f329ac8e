"""Addresses of the chat page: ``/`` starts a conversation, ``/s/<uuid>`` opens one."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import JavaScriptCatalog

from apps.chat.page import show_chat_page

urlpatterns = [
    path("", show_chat_page, name="chat"),
    path("s/<uuid:session_id>", show_chat_page, name="chat-session"),
    path("texts.js", JavaScriptCatalog.as_view(packages=["apps.chat"]), name="texts"),
]
