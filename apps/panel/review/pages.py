"""The review queue (M6): what waits for a decision, each card by itself, selected ones together, and taking back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.core.errors import JiyiError, NotFound
from apps.core.http import read_uuid
from apps.memory.models import Category
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.reasons import translate_reason
from apps.panel.review.deciding import Decision, decide, join_decisions, read_step, take_back
from apps.panel.review.editing import read_fields, write_fields
from apps.panel.review.items import describe_atomic_acceptance, load_items
from apps.panel.review.queue import Kind, Order, Selection, Waiting, count_pending, list_rows, list_waiting

PAGE = 20
MOST_SHOWN = 200
MOST_STEPS = 20
"""Decisions that the page can take back, the newest."""

MOST_PEOPLE = 200
"""In the filter of the staff."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What just happened."""

    text: str
    failed: bool = False
    can_undo: bool = False


class QueuePage(PanelPage):
    """The queue as a whole page, and by itself for htmx."""

    title = gettext_lazy("Review queue")
    template_name = "panel/review/page.html"

    @property
    def scope(self) -> User | None:
        """Whose things may be decided here: for staff everybody's (None)."""
        return None if sees_everybody(self.request) else self.owner

    def render_queue(
        self,
        given: QueryDict,
        *,
        steps: Sequence[str] = (),
        decided: int = 0,
        notice: Notice | None = None,
        whole: bool = False,
    ) -> HttpResponse:
        """Answer with the queue; `whole`: with the page around it. `given` says which part of it is looked at."""
        selection = self._read_selection(given)
        limit = min(_read_count(given.get("show", "")) or PAGE, MOST_SHOWN)
        waiting, more = list_waiting(selection, limit=limit)
        counts = count_pending(selection.owner)
        done = max(_read_count(given.get("done", "")) + decided, 0)
        left = sum(counts.values())
        return self.render(
            self.request,
            template="panel/review/page.html" if whole else "panel/review/queue.html",
            selection=selection,
            items=load_items(waiting, owner=selection.owner),
            more=min(limit + PAGE, MOST_SHOWN) if more and limit < MOST_SHOWN else None,
            show=limit,
            left=left,
            done=done,
            share=done / (done + left) if left else 1,
            kinds=[(kind, _name_kind(kind), counts[kind]) for kind in Kind],
            categories=Category.choices,
            orders=[(order, _name_order(order)) for order in Order],
            people=self._list_people(),
            steps=list(steps)[-MOST_STEPS:],
            notice=notice,
        )

    def _read_selection(self, given: QueryDict) -> Selection:
        kind, category, order = (given.get(name, "") for name in ("kind", "category", "order"))
        everybody = sees_everybody(self.request) and not given.get("user")
        return Selection(
            owner=None if everybody else choose_owner(self.request),
            kind=Kind(kind) if kind in set(Kind) else None,
            category=Category(category) if category in Category.values else None,
            order=Order(order) if order in set(Order) else Order.NEWEST,
        )

    def _list_people(self) -> list[User]:
        """For staff: whose things wait."""
        if not sees_everybody(self.request):
            return []
        owners = [list_rows(kind, None).values("user") for kind in Kind]
        return list(User.objects.filter(id__in=owners[0].union(*owners[1:])).order_by("username")[:MOST_PEOPLE])

    def find(self, reference: str) -> tuple[Kind, Any]:
        """The row that a form names, if it is pending and may be decided here; raises `NotFound`."""
        kind, _colon, found = reference.partition(":")
        if kind not in set(Kind):
            raise NotFound(_("This item does not exist."))
        row = list_rows(Kind(kind), self.scope).select_related("user").filter(id=read_uuid(found)).first()
        if row is None:
            raise NotFound(_("This item has already been reviewed."))
        return Kind(kind), row


class ReviewPage(QueuePage):
    """GET: the queue."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_queue(request.GET, whole="HX-Request" not in request.headers)


class ConsequencePage(QueuePage):
    """GET: what accepting an atomic memory would do."""

    template_name = "panel/review/consequence.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            kind, row = self.find(request.GET.get("reference", ""))
        except NotFound as error:
            return self.render(request, problem=error.message, status=error.status)
        (item,) = load_items([Waiting(kind=kind, id=row.id)], owner=self.scope)
        consequence = item.consequence or describe_atomic_acceptance(row)
        return self.render(request, consequence=consequence)


class EditorPage(QueuePage):
    """GET: the editor of a card."""

    template_name = "panel/review/editor.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            kind, row = self.find(request.GET.get("reference", ""))
        except NotFound as error:
            return self.render(request, problem=error.message, status=error.status)
        return self.render_editor(kind, row, typed=write_fields(kind, row), errors={})

    def render_editor(
        self, kind: Kind, row: Any, *, typed: Mapping[str, str], errors: Mapping[str, Sequence[str]]
    ) -> HttpResponse:
        """Answer with the fields as `typed`, and what is wrong with each."""
        return self.render(
            self.request,
            template="panel/review/editor.html",
            kind=kind,
            row=row,
            reference=f"{kind}:{row.id}",
            typed=typed,
            errors=errors,
            other_errors=[reason for name, reasons in errors.items() if name not in typed for reason in reasons],
            categories=Category.choices,
        )


class DecidePage(EditorPage):
    """POST: accept or reject what the form names (`reference`, any number), a single one with edits."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        given = request.POST
        steps = given.getlist("step")
        if given.get("decision") not in set(Decision):
            return self.render_queue(given, steps=steps, notice=Notice(_("Accept or reject?"), failed=True))
        decision = Decision(given["decision"])
        references = list(dict.fromkeys(given.getlist("reference")))[:MOST_SHOWN]
        if given.get("edited") and len(references) == 1:
            return self._accept_edited(given, references[0])
        done: list[list[UUID]] = []
        problems: list[str] = []
        for reference in references:
            try:
                kind, row = self.find(reference)
                done.append(decide(kind=kind, row=row, decision=decision, now=timezone.now()))
            except JiyiError as error:
                problems.append(translate_reason(error.message))
        return self._answer(given, decision, done=done, problems=problems)

    def _accept_edited(self, given: QueryDict, reference: str) -> HttpResponse:
        try:
            kind, row = self.find(reference)
        except NotFound as error:
            return self._answer(given, Decision.ACCEPT, done=[], problems=[error.message])
        try:
            edits = read_fields(kind, given)
            parts = decide(kind=kind, row=row, decision=Decision.ACCEPT, now=timezone.now(), edits=edits)
        except JiyiError as error:
            typed = {name: given.get(name, "") for name in write_fields(kind, row)}
            found = {name: reasons for name, reasons in error.fields.items() if isinstance(reasons, list)}
            found = found or {"": [error.message]}
            errors = {name: [translate_reason(reason) for reason in reasons] for name, reasons in found.items()}
            response = self.render_editor(kind, row, typed=typed, errors=errors)
            response.headers["HX-Retarget"] = f"#editor-{row.id}"
            response.headers["HX-Reswap"] = "innerHTML"
            return response
        return self._answer(given, Decision.ACCEPT, done=[parts], problems=[])

    def _answer(
        self, given: QueryDict, decision: Decision, *, done: list[list[UUID]], problems: list[str]
    ) -> HttpResponse:
        steps = given.getlist("step")
        if done:
            steps = [*steps, join_decisions(done).write()]
        texts = [_tell(decision, len(done))] if done else []
        texts += list(dict.fromkeys(problems))
        notice = Notice(" ".join(texts) or _("Select at least one item."), failed=not done, can_undo=bool(done))
        return self.render_queue(given, steps=steps, decided=len(done), notice=notice)


class UndoPage(QueuePage):
    """POST: take the last decision of this page back."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        steps = request.POST.getlist("step")
        if not steps:
            notice = Notice(_("Nothing to undo."), failed=True)
            return self.render_queue(request.POST, notice=notice)
        try:
            step = read_step(steps[-1])
            take_back(step, owner=self.scope, now=timezone.now())
        except JiyiError as error:
            return self.render_queue(
                request.POST, steps=steps[:-1], notice=Notice(translate_reason(error.message), failed=True)
            )
        notice = Notice(_("Undone. It is waiting for review again."))
        return self.render_queue(request.POST, steps=steps[:-1], decided=-step.count, notice=notice)


def _read_count(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else 0


def _tell(decision: Decision, count: int) -> str:
    if decision is Decision.ACCEPT:
        return _("Accepted.") if count == 1 else _("%(count)s accepted.") % {"count": count}
    if count == 1:
        return _("Rejected. It will not be proposed again.")
    return _("%(count)s rejected. They will not be proposed again.") % {"count": count}


def _name_kind(kind: Kind) -> str:
    match kind:
        case Kind.LONG_TERM:
            return _("Long-term memories")
        case Kind.ATOMIC:
            return _("Atomic memories")
        case Kind.PROFILE:
            return _("Profile proposals")


def _name_order(order: Order) -> str:
    match order:
        case Order.NEWEST:
            return _("Newest first")
        case Order.OLDEST:
            return _("Oldest first")
        case Order.SUREST:
            return _("Highest confidence first")
