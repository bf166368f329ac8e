"""What sessions were about, as cards; of each, what was summarised inside it, with what that covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from apps.conversations.models import Message, Role
from apps.core.text.citations import find_citation_spans
from apps.panel.owned import OwnedAdmin, column
from apps.panel.pages import CardList
from apps.panel.spaces import SessionSpaceFilter
from apps.panel.templatetags.panel import link_conversation
from apps.summaries.models import SessionSummary
from apps.summaries.services import delete_session_summary, update_session_summary

# Of one session on its page, the newest.
MAX_CONVERSATION_SUMMARIES = 50


@admin.register(SessionSummary)
class SessionSummaryAdmin(CardList, OwnedAdmin):
    """They can be edited and deleted, by the services that the API calls."""

    never = ("add",)
    card_template = "panel/summaries/card.html"
    empty = (
        "summarize",
        _("No summaries yet"),
        _("Each conversation gets a summary after the first reply, so later conversations know what it was about."),
        "",
        "",
    )
    change_form_after_template = "panel/summaries/conversation.html"
    list_display = ("title", "user", "created_at", "updated_at")
    list_select_related = ("user", "session__space")
    list_filter = (SessionSpaceFilter, "edited", "created_at")
    search_fields = ("title", "snippet")
    search_help_text = _("Search summaries")
    fields = ("title", "snippet", "user", "conversation", "edited", "created_at", "updated_at")
    readonly_fields = ("user", "conversation", "edited", "created_at", "updated_at")

    conversation = column(_("conversation"), lambda summary: link_conversation(summary.session))

    def get_queryset(self, request: HttpRequest) -> QuerySet[SessionSummary]:
        return super().get_queryset(request).filter(deleted=False)

    def describe_cards(self, request: HttpRequest, rows: Sequence[SessionSummary]) -> list[dict[str, Any]]:
        """How many parts of the conversation of each were summarised, too."""
        inside = dict(
            Message.objects.filter(session__in=[row.session_id for row in rows], role=Role.SUMMARY)
            .values("session")
            .annotate(count=Count("id"))
            .values_list("session", "count")
        )
        return [
            {"row": row, "snippet": mark_citations(row.snippet), "inside": inside.get(row.session_id, 0)}
            for row in rows
        ]

    def describe_form(self, request: HttpRequest, row: SessionSummary) -> dict[str, Any]:
        return {"parts": list_parts(row)}

    def save_model(self, request: HttpRequest, obj: SessionSummary, form: ModelForm[Any], change: bool) -> None:
        changes = {name: form.cleaned_data[name] for name in form.changed_data}
        if changes:
            update_session_summary(user=obj.user, summary_id=obj.id, changes=changes, now=timezone.now())

    def delete_model(self, request: HttpRequest, obj: SessionSummary) -> None:
        delete_session_summary(user=obj.user, summary_id=obj.id, now=timezone.now())


def list_parts(summary: SessionSummary) -> list[tuple[Message, SafeString]]:
    """The summaries inside the conversation that a session's summary is about (S4), newest first.

    ``covered``: how many messages each stands for.
    """
    messages = (
        Message.objects.filter(session=summary.session_id, user=summary.user_id, role=Role.SUMMARY)
        .annotate(covered=Count("covers"))
        .order_by("-position")[:MAX_CONVERSATION_SUMMARIES]
    )
    return [(row, mark_citations(row.content)) for row in messages]


def mark_citations(text: str) -> SafeString:
    """`text` as HTML with what it cites marked: statutes and the like stand in a summary word for word (S3)."""
    marked, done = SafeString(""), 0
    for start, end in find_citation_spans(text):
        marked += format_html('{}<mark class="found">{}</mark>', text[done:start], text[start:end])
        done = end
    return marked + format_html("{}", text[done:])
