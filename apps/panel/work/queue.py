"""The queue in the panel: what is still to be done, what failed and why, and trying it again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import capfirst
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.conversations.models import Work
from apps.conversations.queue import list_failed_ids, replay_failed
from apps.panel.owned import PartAdmin, sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.work.errors import explain_error
from apps.panel.work.progress import summarize_backlog


@admin.register(Work)
class WorkAdmin(PartAdmin):
    """What is still to be done, and what failed for good and can be tried again. It goes with its message only."""

    list_before_template = "panel/work/before.html"
    list_display = ("what", "shown_state", "problem", "tries", "user", "next_try", "age")
    list_select_related = ("user",)
    list_filter = ("state", "kind", "error")
    search_fields = ("user__username", "session__id", "message__id", "error")
    ordering = ("-id",)
    fields = readonly_fields = (
        "what", "shown_state", "problem", "tries", "user", "conversation", "due_at", "created_at",
    )  # fmt: skip
    actions = ("try_again",)

    class Media:
        css = {"all": ("panel/work.css",)}

    @admin.display(description=_("kind"), ordering="kind")
    def what(self, work: Work) -> str:
        return capfirst(work.get_kind_display())

    @admin.display(description=_("state"), ordering="state")
    def shown_state(self, work: Work) -> SafeString:
        if work.state == Work.State.FAILED:
            return format_html('<span class="chip chip--failed">{}</span>', work.get_state_display())
        if work.lease_until and work.lease_until >= timezone.now():
            return format_html('<span class="chip chip--teal">{}</span>', _("running"))
        tone = "amber" if work.error else "grey"
        return format_html('<span class="chip chip--{}">{}</span>', tone, work.get_state_display())

    @admin.display(description=_("problem"), ordering="error")
    def problem(self, work: Work) -> SafeString | str:
        explained = explain_error(work.error)
        if explained is None:
            return ""
        text = '<div class="work-problem"><span>{}</span> <span class="muted">{}</span> <code>{}</code></div>'
        return format_html(text, explained.meaning, explained.advice, work.error)

    @admin.display(description=_("conversation"))
    def conversation(self, work: Work) -> SafeString:
        url = reverse("admin:conversations_session_change", args=[work.session_id])
        title = work.session.title or _("Untitled conversation")
        return format_html(
            '<a href="{}?at={}#message-{}" dir="auto">{}</a>', url, work.message_id, work.message_id, title
        )

    @admin.display(description=_("attempts"), ordering="attempts")
    def tries(self, work: Work) -> int:
        return max(work.attempts, work.postponements)

    @admin.display(description=_("next attempt"), ordering="due_at")
    def next_try(self, work: Work) -> str:
        if work.state == Work.State.FAILED:
            return "–"
        now = timezone.now()
        return str(_("now")) if work.due_at <= now else str(_("in %(time)s")) % {"time": timeuntil(work.due_at, now)}

    @admin.display(description=_("age"), ordering="created_at")
    def age(self, work: Work) -> SafeString:
        exact = work.created_at.isoformat(timespec="seconds")
        return format_html('<time datetime="{0}" title="{0}">{1}</time>', exact, timesince(work.created_at))

    @admin.action(description=_("Retry failed work"), permissions=["replay"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Work]) -> None:
        _report(request, replay_failed(ids=list(queryset.values_list("id", flat=True))))

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        progress = summarize_backlog(None if sees_everybody(request) else request.user)  # type: ignore[arg-type]
        page: HttpResponse = super().changelist_view(request, {**(extra_context or {}), "progress": progress})
        return page


class ProgressPage(PanelPage):
    """How far the work is, alone, for the pages that show it live."""

    title = _("Background work")
    template_name = "panel/work/progress.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        everybody = sees_everybody(request) and "user" not in request.GET
        return self.render(request, progress=summarize_backlog(None if everybody else self.owner))


class ReplayPage(PanelPage):
    """Tries everything again that has failed: of who asks, and for staff everybody's."""

    title = _("Background work")

    def post(self, request: HttpRequest) -> HttpResponse:
        user = None if sees_everybody(request) else self.owner
        _report(request, replay_failed(ids=list_failed_ids(user=user)))
        return HttpResponseRedirect(reverse("admin:conversations_work_changelist"))


def _report(request: HttpRequest, replayed: int) -> None:
    text = ngettext("%(count)d task was queued again.", "%(count)d tasks were queued again.", replayed)
    messages.success(request, text % {"count": replayed})
