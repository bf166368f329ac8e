"""Background work: what is queued, what failed and why, and trying it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import capfirst
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.accounts.models import User
from apps.conversations.models import Work
from apps.conversations.queue import WORKER_LOST, count_backlog, list_failed_ids, replay_failed
from apps.costs.budgets import find_paused
from apps.panel.owned import PartAdmin, column, sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.templatetags.panel import chip, link_conversation


@dataclass(frozen=True, slots=True)
class Explanation:
    """In words: what happened, and what to do."""

    meaning: str
    advice: str


_AGAIN = gettext_lazy("Try again, because a model's answers vary.")

# What the reason of a failed call of a model means, and what to do about it.
_REASONS = {
    "key": (
        gettext_lazy("The model server rejected the API key."),
        gettext_lazy("Check the API key in Settings › Models, or OPENAI_API_KEY, then try again."),
    ),
    "payment": (
        gettext_lazy("The model provider requires payment."),
        gettext_lazy("Check your account with the provider, then try again."),
    ),
    "no_model": (
        gettext_lazy("The model server does not know this model or URL."),
        gettext_lazy("Check the model in Settings › Models, or OPENAI_BASE_URL and CHAT_MODEL, then try again."),
    ),
    "unreachable": (
        gettext_lazy("The model server could not be reached."),
        gettext_lazy("Start it, or check its URL in Settings › Models or OPENAI_BASE_URL, then try again."),
    ),
    "rate_limited": (
        gettext_lazy("The model server received too many requests."),
        gettext_lazy("Wait a while or raise the limit, then try again."),
    ),
    "timeout": (
        gettext_lazy("The model took too long to answer."),
        gettext_lazy("Try again when it is less busy, or use a faster model."),
    ),
    "dropped": (
        gettext_lazy("The model server cut off its answer."),
        gettext_lazy("Check the model server's log, then try again."),
    ),
    "cut_off": (
        gettext_lazy("The model's answer reached its limit of tokens."),
        gettext_lazy("Raise BACKGROUND_MAX_TOKENS, then try again."),
    ),
    "only_reasoning": (
        gettext_lazy("The model gave only reasoning, and no answer."),
        gettext_lazy("Turn reasoning off or choose another model, then try again."),
    ),
    "reasoning_limit": (
        gettext_lazy("The model spent its limit of tokens on reasoning."),
        gettext_lazy("Turn reasoning off, or raise CHAT_MAX_TOKENS and BACKGROUND_MAX_TOKENS, then try again."),
    ),
    "refused": (
        gettext_lazy("The model server refused the request."),
        gettext_lazy("The text is often too long for the model. Use a model with a longer context, then try again."),
    ),
}
_STATUSES = {"401": "key", "403": "key", "402": "payment", "404": "no_model"}
_SAME = {"server_error": "dropped", "too_long": "refused"}

# What other errors of the queue mean.
_ERRORS = {
    WORKER_LOST: (
        gettext_lazy("The worker was killed each time, most likely because it ran out of memory."),
        gettext_lazy("Add memory to the server or use a smaller model, then try again."),
    ),
    "invalid": (
        gettext_lazy("The result was not a valid memory."),
        gettext_lazy("Try again, because a model's answers vary. If it keeps failing, check the message itself."),
    ),
}
_UNEXPECTED = (
    gettext_lazy("An unexpected error occurred."),
    gettext_lazy("Try again. If it keeps failing, look for this name in the server log and report the bug."),
)


def explain_error(error: str) -> Explanation | None:
    """Return the words for an error, such as ``model_unavailable: refused 400``; None where there is none."""
    if not error:
        return None
    code, _colon, details = error.partition(": ")
    if code == "model_unavailable":
        reason, _space, status = details.partition(" ")
        named = _STATUSES.get(status) or _SAME.get(reason, reason)
        meaning, advice = _REASONS.get(named, (gettext_lazy("The model's answer could not be used."), _AGAIN))
    else:
        meaning, advice = _ERRORS.get("invalid" if code == "too_large" else code, _UNEXPECTED)
    return Explanation(str(meaning), str(advice))


LABELS = {
    Work.Kind.EMBED: gettext_lazy("Creating embeddings"),
    Work.Kind.EXTRACT: gettext_lazy("Extracting memories"),
    Work.Kind.SUMMARIZE: gettext_lazy("Summarising conversations"),
}


@dataclass(frozen=True, slots=True)
class Progress:
    """The whole backlog: of each kind of work its label and how much is ``due``, ``claimed`` and ``failed``.

    ``paused``: what is said where it waits for a budget (Q2), or "".
    """

    kinds: list[dict[str, Any]]
    paused: str = ""

    @property
    def left(self) -> int:
        return sum(kind["due"] + kind["claimed"] for kind in self.kinds)

    @property
    def failed(self) -> int:
        """What is not tried again unless somebody asks for it."""
        return sum(kind["failed"] for kind in self.kinds)


def summarize_backlog(user: User | None) -> Progress:
    """Return a person's backlog, None: everybody's. Two queries, a third with a budget now and then."""
    kinds = [
        {**numbers, "kind": kind, "label": str(LABELS[Work.Kind(kind)])}
        for kind, numbers in count_backlog(user=user).items()
    ]
    paused = find_paused(now=timezone.now())
    if paused.covers(user) if user is not None else paused.everybody:
        return Progress(kinds, _("Paused until next month, or until the budget is raised. Replies go on."))
    if user is None and paused:
        count = len(paused.accounts)
        text = ngettext(
            "%(count)s account is paused by its budget.", "%(count)s accounts are paused by their budgets.", count
        )
        return Progress(kinds, text % {"count": count})
    return Progress(kinds)


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

    what = column(gettext_lazy("kind"), lambda work: capfirst(work.get_kind_display()), ordering="kind")

    @admin.display(description=gettext_lazy("state"), ordering="state")
    def shown_state(self, work: Work) -> SafeString:
        if work.state == Work.State.FAILED:
            return chip(work.get_state_display(), "failed")
        if work.lease_until and work.lease_until >= timezone.now():
            return chip(_("running"), "teal")
        tone = "amber" if work.error else "grey"
        return chip(work.get_state_display(), tone)

    @admin.display(description=gettext_lazy("problem"), ordering="error")
    def problem(self, work: Work) -> SafeString | str:
        explained = explain_error(work.error)
        if explained is None:
            return ""
        text = '<div class="work-problem"><span>{}</span> <span class="muted">{}</span> <code>{}</code></div>'
        return format_html(text, explained.meaning, explained.advice, work.error)

    conversation = column(gettext_lazy("conversation"), lambda work: link_conversation(work.session, work.message_id))
    tries = column(gettext_lazy("attempts"), lambda work: max(work.attempts, work.postponements), ordering="attempts")

    @admin.display(description=gettext_lazy("next attempt"), ordering="due_at")
    def next_try(self, work: Work) -> str:
        if work.state == Work.State.FAILED:
            return "–"
        now = timezone.now()
        return _("now") if work.due_at <= now else _("in %(time)s") % {"time": timeuntil(work.due_at, now)}

    @admin.display(description=gettext_lazy("age"), ordering="created_at")
    def age(self, work: Work) -> SafeString:
        exact = work.created_at.isoformat(timespec="seconds")
        return format_html('<time datetime="{0}" title="{0}">{1}</time>', exact, timesince(work.created_at))

    @admin.action(description=gettext_lazy("Retry failed work"), permissions=["replay"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[Work]) -> None:
        _report(request, replay_failed(ids=list(queryset.values_list("id", flat=True))))

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def describe_list(self, request: HttpRequest, rows: Sequence[Work]) -> dict[str, Any]:
        return {"progress": summarize_backlog(None if sees_everybody(request) else cast(User, request.user))}


class ProgressPage(PanelPage):
    """How far the work is, alone, for the pages that show it live."""

    title = gettext_lazy("Background work")
    template_name = "panel/work/progress.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        everybody = sees_everybody(request) and "user" not in request.GET
        return self.render(request, progress=summarize_backlog(None if everybody else self.owner))


class ReplayPage(PanelPage):
    """Tries everything again that has failed: of who asks, and for staff everybody's."""

    title = gettext_lazy("Background work")

    def post(self, request: HttpRequest) -> HttpResponse:
        user = None if sees_everybody(request) else self.owner
        _report(request, replay_failed(ids=list_failed_ids(user=user)))
        return HttpResponseRedirect(reverse("admin:conversations_work_changelist"))


def _report(request: HttpRequest, replayed: int) -> None:
    text = ngettext("%(count)d task was queued again.", "%(count)d tasks were queued again.", replayed)
    messages.success(request, text % {"count": replayed})
