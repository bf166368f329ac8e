"""What was said, over all conversations: the list, and search by meaning (V5)."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Case, FloatField, QuerySet, Value, When
from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.views import ChangeList

from apps.accounts.models import User
from apps.conversations.models import Message
from apps.core.errors import ModelUnavailable
from apps.memory.models import ConversationEmbedding
from apps.memory.vectors.queries import search_conversations
from apps.panel.owned import PartAdmin, sees_everybody
from apps.panel.templatetags.panel import emotion_chip

FOUND_AT_MOST = 50
LEAST_SIMILARITY = 0.3
LIST_CHARACTERS = 160


class NearestFirst(ChangeList):
    """What a search found is listed by how near it is."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        ordering: list[Any] = super().get_ordering(request, queryset)
        return ["-similarity", *ordering] if self.query.strip() else ordering


@admin.register(Message)
class MessageAdmin(PartAdmin):
    """What was said is not edited afterwards; a whole session can be deleted."""

    list_display = (
        "beginning",
        "similarity_bar",
        "role",
        "create_time",
        "conversation",
        "user",
        "shown_emotion",
        "marks",
    )
    list_select_related = ("user", "session")
    list_filter = ("role", "status", "is_collected", "create_time")
    search_fields = ("content",)
    search_help_text = _("Search messages by meaning")
    ordering = ("-create_time",)
    fields = readonly_fields = (
        "conversation", "user", "role", "content", "create_time", "shown_emotion", "status", "is_collected",
    )  # fmt: skip

    class Media:
        css = {"all": ["panel/conversations.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        rows: QuerySet[Message] = super().get_queryset(request)
        if getattr(request.resolver_match, "url_name", "") != "conversations_message_changelist":
            return rows
        return rows.defer("content").annotate(
            start=Left("content", LIST_CHARACTERS), similarity=Value(None, FloatField())
        )

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        shown = super().get_list_display(request)
        return shown if request.GET.get("q", "").strip() else tuple(name for name in shown if name != "similarity_bar")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        """The messages of one person nearest in meaning: of whom the list is narrowed to, else of who asks."""
        if not search_term.strip():
            return queryset, False
        try:
            found = search_conversations(
                user=self._whose(request), query=search_term, top_k=FOUND_AT_MOST, threshold=LEAST_SIMILARITY
            )
        except ModelUnavailable:
            self.message_user(request, _("The embedding model cannot be reached. Try again later."), messages.ERROR)
            return queryset.none(), False
        rows = ConversationEmbedding.objects.filter(id__in=[match.id for match in found])
        of = dict(rows.values_list("id", "message"))
        best: dict[Any, float] = {}
        for match in found:  # the most similar part of a long message comes first
            best.setdefault(of.get(match.id), match.similarity)
        best.pop(None, None)
        nearest = [When(pk=key, then=Value(similarity)) for key, similarity in best.items()]
        if not nearest:
            return queryset.none(), False
        ranked = queryset.filter(pk__in=best).annotate(similarity=Case(*nearest, output_field=FloatField()))
        return ranked, False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NearestFirst

    def _whose(self, request: HttpRequest) -> User:
        named = request.GET.get("user__id__exact", "")
        if sees_everybody(request) and named.isdecimal() and len(named) <= 18:
            return User.objects.filter(pk=int(named)).first() or request.user  # type: ignore[return-value]
        return request.user  # type: ignore[return-value]  # the site lets nobody in who is not logged in

    @admin.display(description=_("content"))
    def beginning(self, message: Message) -> SafeString:
        start = getattr(message, "start", "")
        return format_html(
            '<span class="said-start" dir="auto">{}{}</span>', start, "…" if len(start) == LIST_CHARACTERS else ""
        )

    @admin.display(description=_("similarity"))
    def similarity_bar(self, message: Message) -> SafeString:
        similarity = getattr(message, "similarity", None) or 0.0
        return format_html(
            '<span class="bar" style="--share: {}" aria-hidden="true"></span> {}',
            f"{similarity:.3f}",
            f"{similarity:.2f}",
        )

    @admin.display(description=_("conversation"))
    def conversation(self, message: Message) -> SafeString:
        url = reverse("admin:conversations_session_change", args=[message.session_id])
        title = message.session.title or _("Untitled conversation")
        return format_html('<a href="{}?at={}#message-{}" dir="auto">{}</a>', url, message.pk, message.pk, title)

    @admin.display(description=_("emotion"))
    def shown_emotion(self, message: Message) -> SafeString | str:
        if not message.emotion:
            return "–"
        return emotion_chip(message.emotion)

    @admin.display(description=_("labels"))
    def marks(self, message: Message) -> SafeString:
        star = format_html('<span class="star" title="{}">★</span> ', _("favourite")) if message.is_collected else ""
        if message.status == "complete":
            return format_html("{}", star)
        tone = "failed" if message.status == "failed" else "amber"
        return format_html('{}<span class="chip chip--{}">{}</span>', star, tone, message.get_status_display())
