"""The review queue (M6): decide what waits, card by card or selected ones together. Decisions are undone as changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.core.errors import JiyiError, NotFound
from apps.core.http import read_uuid
from apps.memory.changes.records import collect_operations
from apps.memory.models import Category
from apps.panel.editors import EDITORS, Editor
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.pages import PanelPage, is_partial, with_toast
from apps.panel.refusals import add_refusal, translate_reason
from apps.panel.review.waiting import (
    KINDS,
    Kind,
    Order,
    Selection,
    count_pending,
    describe_atomic_acceptance,
    list_waiting,
    load_items,
)
from apps.panel.texts import read_number

PAGE = 20
MOST_SHOWN = 200

# In the filter of the staff.
MOST_PEOPLE = 200


class Decision(StrEnum):
    """What is done with something that waits."""

    ACCEPT = "accept"
    REJECT = "reject"


@transaction.atomic
def decide(
    *, kind: Kind, row: Any, decision: Decision, now: datetime, edits: Mapping[str, Any] | None = None
) -> list[UUID]:
    """Accept, with `edits` of its fields first, or reject something of its owner's; return the operations it took.

    Raises what the services raise, with nothing changed.
    """
    with collect_operations() as operations:
        if decision is Decision.ACCEPT:
            KINDS[kind].accept(row, edits or {}, now=now)
        else:
            KINDS[kind].reject(row, now=now)
    return operations


class QueuePage(PanelPage):
    """The queue as a whole page, and by itself for htmx."""

    title = gettext_lazy("Review queue")
    template_name = "panel/review/page.html"

    @property
    def scope(self) -> User | None:
        return None if sees_everybody(self.request) else self.owner

    def render_queue(self, given: QueryDict) -> HttpResponse:
        """Answer with the queue, but for htmx with the page around it; `given` says which part of it is looked at."""
        kind, category, order = (given.get(name, "") for name in ("kind", "category", "order"))
        everybody = sees_everybody(self.request) and not given.get("user")
        selection = Selection(
            owner=None if everybody else choose_owner(self.request),
            kind=Kind(kind) if kind in Kind.values else None,
            category=category if category in Category.values else None,
            order=Order(order) if order in Order.values else Order.NEWEST,
        )
        limit = min(read_number(given.get("show")) or PAGE, MOST_SHOWN)
        waiting, more = list_waiting(selection, limit=limit)
        counts = count_pending(selection.owner)
        people = []
        if sees_everybody(self.request):  # whose things wait
            owners = [kind.list_pending(None).values("user") for kind in KINDS.values()]
            people = list(User.objects.filter(id__in=owners[0].union(*owners[1:])).order_by("username")[:MOST_PEOPLE])
        return self.render(
            self.request,
            template="panel/review/queue.html" if is_partial(self.request) else "",
            selection=selection,
            items=load_items(waiting, owner=selection.owner),
            more=min(limit + PAGE, MOST_SHOWN) if more and limit < MOST_SHOWN else None,
            show=limit,
            left=sum(counts.values()),
            kinds=[(kind, kind.label, counts[kind]) for kind in Kind],
            categories=Category.choices,
            orders=Order.choices,
            people=people,
        )

    def find(self, reference: str) -> tuple[Kind, Any]:
        """Return the row that a form names, if it is pending and may be decided here; raise `NotFound`."""
        kind, _colon, found = reference.partition(":")
        if kind not in Kind.values:
            raise NotFound(_("This item does not exist."))
        row = KINDS[Kind(kind)].list_pending(self.scope).select_related("user").filter(id=read_uuid(found)).first()
        if row is None:
            raise NotFound(_("This item has already been reviewed."))
        return Kind(kind), row


class ReviewPage(QueuePage):
    """GET: the queue."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_queue(request.GET)


class CardPage(QueuePage):
    """A part of one card, which ``reference`` names."""

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            kind, row = self.find(request.GET.get("reference", ""))
        except NotFound as error:
            return self.render(request, problem=error.message, status=error.status)
        return self.answer(kind, row)

    def answer(self, kind: Kind, row: Any) -> HttpResponse:
        raise NotImplementedError


class ConsequencePage(CardPage):
    """GET: what accepting an atomic memory would do."""

    template_name = "panel/review/consequence.html"

    def answer(self, kind: Kind, row: Any) -> HttpResponse:
        (item,) = load_items([(kind, row.id)], owner=self.scope)
        return self.render(self.request, consequence=item.consequence or describe_atomic_acceptance(row))


class EditorPage(CardPage):
    """GET: the editor of a card."""

    template_name = "panel/review/editor.html"

    def answer(self, kind: Kind, row: Any) -> HttpResponse:
        editor = EDITORS[kind]
        return self.render_editor(kind, row, editor(initial=editor.read(row)))

    def render_editor(self, kind: Kind, row: Any, form: Editor) -> HttpResponse:
        """Answer with the fields as they were typed, and what is wrong with each."""
        return self.render(self.request, template="panel/review/editor.html", form=form, reference=f"{kind}:{row.id}")


class DecidePage(EditorPage):
    """POST: accept or reject what the form names (`reference`, any number), a single one with edits."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        given = request.POST
        if given.get("decision") not in set(Decision):
            return with_toast(self.render_queue(given), _("Accept or reject?"), is_error=True)
        decision = Decision(given["decision"])
        references = list(dict.fromkeys(given.getlist("reference")))[:MOST_SHOWN]
        is_edited = bool(given.get("edited")) and len(references) == 1
        now = timezone.now()  # one for all: by it they are found again when they are to be undone together
        done: list[UUID] = []
        count, problems = 0, list[str]()
        for reference in references:
            try:
                kind, row = self.find(reference)
                edits = None
                if is_edited:
                    form = EDITORS[kind](given, initial=EDITORS[kind].read(row))
                    if not form.is_valid():
                        return self._refuse(kind, row, form)
                    edits = form.list_changes()
                done += decide(kind=kind, row=row, decision=decision, now=now, edits=edits)
                count += 1
            except JiyiError as error:
                if is_edited and not isinstance(error, NotFound):
                    add_refusal(form, error)
                    return self._refuse(kind, row, form)
                problems.append(translate_reason(error.message))
        texts = [_tell(decision, count)] if count else []
        text = " ".join([*texts, *dict.fromkeys(problems)]) or _("Select at least one item.")
        return with_toast(self.render_queue(given), text, operations=done[:1], together=True, is_error=not count)

    def _refuse(self, kind: Kind, row: Any, form: Editor) -> HttpResponse:
        response = self.render_editor(kind, row, form)
        response.headers["HX-Retarget"] = f"#editor-{row.id}"
        response.headers["HX-Reswap"] = "innerHTML"
        return response


def _tell(decision: Decision, count: int) -> str:
    if decision is Decision.ACCEPT:
        return _("Accepted.") if count == 1 else _("%(count)s accepted.") % {"count": count}
    if count == 1:
        return _("Rejected. It will not be proposed again.")
    return _("%(count)s rejected. They will not be proposed again.") % {"count": count}
