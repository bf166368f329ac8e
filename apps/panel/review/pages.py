"""The review queue (M6): decide what waits, card by card or selected ones together, and take decisions back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
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
from apps.memory.changes.undo import undo_operation
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.kinds import ATOMIC, LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import Category, Change
from apps.panel.editors import EDITORS, Editor
from apps.panel.owned import choose_owner, sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.refusals import add_refusal, translate_reason
from apps.panel.review.items import describe_atomic_acceptance, load_items
from apps.panel.review.queue import Kind, Order, Selection, Waiting, count_pending, list_rows, list_waiting
from apps.profile.services import accept_proposal, reject_proposal

PAGE = 20
MOST_SHOWN = 200

# Decisions that the page can take back, the newest.
MOST_STEPS = 20

# In the filter of the staff.
MOST_PEOPLE = 200


class Decision(StrEnum):
    """What is done with something that waits."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Step:
    """All that one press of a key or button decided: the operations to undo, newest first. `count`: decisions."""

    count: int
    operations: tuple[UUID, ...]

    def write(self) -> str:
        """Return the text that the page keeps."""
        return ",".join([str(self.count), *map(str, self.operations)])


def read_step(text: str) -> Step:
    """Return the step of a text that the page kept; raise `NotFound` for any other text."""
    count, *rest = text.split(",")
    if not count.isdecimal() or len(count) > 3 or not rest:
        raise NotFound("This decision does not exist.")
    return Step(count=int(count), operations=tuple(map(read_uuid, rest)))


# What accepts and rejects a memory, and what edits it first.
_SERVICES = {
    (Kind.LONG_TERM, Decision.ACCEPT): partial(accept_memory, LONG_TERM),
    (Kind.LONG_TERM, Decision.REJECT): partial(reject_memory, LONG_TERM),
    (Kind.ATOMIC, Decision.ACCEPT): partial(accept_memory, ATOMIC),
    (Kind.ATOMIC, Decision.REJECT): partial(reject_memory, ATOMIC),
}
_UPDATES: dict[Kind, Any] = {
    Kind.LONG_TERM: partial(update_memory, LONG_TERM),
    Kind.ATOMIC: partial(update_memory, ATOMIC),
}


@transaction.atomic
def decide(
    *, kind: Kind, row: Any, decision: Decision, now: datetime, edits: Mapping[str, Any] | None = None
) -> list[UUID]:
    """Accept, with `edits` of its fields first, or reject something of its owner's; return the operations it took.

    The newest first. Raises what the services raise, with nothing changed.
    """
    user: User = row.user
    with collect_operations() as operations:
        if kind is not Kind.PROFILE:
            if edits:
                _UPDATES[kind](user=user, memory_id=row.id, changes=edits, now=now)
            _SERVICES[kind, decision](user=user, memory_id=row.id, now=now)
        elif decision is Decision.ACCEPT:
            accept_proposal(user=user, proposal_id=row.id, now=now, text=(edits or {}).get("text"))
        else:
            reject_proposal(user=user, proposal_id=row.id, now=now)
    return operations[::-1]


@transaction.atomic
def take_back(step: Step, *, owner: User | None, now: datetime) -> None:
    """Undo a step, all of it or nothing; `owner` None: whoever's it is. What is another person's is not there.

    Raises `NotFound`, and `Conflict` for what has changed since.
    """
    for operation in step.operations:
        changes = Change.objects.filter(operation=operation, **({} if owner is None else {"user": owner}))
        change = changes.select_related("user").first()
        if change is None:
            raise NotFound("This decision does not exist.")
        undo_operation(user=change.user, operation=operation, now=now)


def join_decisions(decisions: Sequence[list[UUID]]) -> Step:
    """Return one step of decisions made in this order: the last one is taken back first."""
    made = tuple(operation for operations in reversed(decisions) for operation in operations)
    return Step(count=len(decisions), operations=made)


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
            kinds=[(kind, kind.label, counts[kind]) for kind in Kind],
            categories=Category.choices,
            orders=Order.choices,
            people=self._list_people(),
            steps=list(steps)[-MOST_STEPS:],
            notice=notice,
        )

    def _read_selection(self, given: QueryDict) -> Selection:
        kind, category, order = (given.get(name, "") for name in ("kind", "category", "order"))
        everybody = sees_everybody(self.request) and not given.get("user")
        return Selection(
            owner=None if everybody else choose_owner(self.request),
            kind=Kind(kind) if kind in Kind.values else None,
            category=Category(category) if category in Category.values else None,
            order=Order(order) if order in Order.values else Order.NEWEST,
        )

    def _list_people(self) -> list[User]:
        """For staff: whose things wait."""
        if not sees_everybody(self.request):
            return []
        owners = [list_rows(kind, None).values("user") for kind in Kind]
        return list(User.objects.filter(id__in=owners[0].union(*owners[1:])).order_by("username")[:MOST_PEOPLE])

    def find(self, reference: str) -> tuple[Kind, Any]:
        """Return the row that a form names, if it is pending and may be decided here; raise `NotFound`."""
        kind, _colon, found = reference.partition(":")
        if kind not in Kind.values:
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
        return self.render(request, consequence=item.consequence or describe_atomic_acceptance(row))


class EditorPage(QueuePage):
    """GET: the editor of a card."""

    template_name = "panel/review/editor.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            kind, row = self.find(request.GET.get("reference", ""))
        except NotFound as error:
            return self.render(request, problem=error.message, status=error.status)
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
        editor = EDITORS[kind]
        form = editor(given, initial=editor.read(row))
        if form.is_valid():
            try:
                edits = form.list_changes()
                parts = decide(kind=kind, row=row, decision=Decision.ACCEPT, now=timezone.now(), edits=edits)
                return self._answer(given, Decision.ACCEPT, done=[parts], problems=[])
            except JiyiError as error:
                add_refusal(form, error)
        response = self.render_editor(kind, row, form)
        response.headers["HX-Retarget"] = f"#editor-{row.id}"
        response.headers["HX-Reswap"] = "innerHTML"
        return response

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
            return self.render_queue(request.POST, notice=Notice(_("Nothing to undo."), failed=True))
        try:
            step = read_step(steps[-1])
            take_back(step, owner=self.scope, now=timezone.now())
        except JiyiError as error:
            notice = Notice(translate_reason(error.message), failed=True)
            return self.render_queue(request.POST, steps=steps[:-1], notice=notice)
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
