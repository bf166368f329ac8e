"""The page of one memory, and what is done from there; written by the services that the API calls (M2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.core.errors import JiyiError
from apps.memory.long_term.types import Action
from apps.memory.models import Change, Status
from apps.memory.selectors import list_copies
from apps.memory.services import (
    bring_back_atomic_memory,
    bring_back_memory,
    collect_operations,
    create_memory,
    remove_item,
    supersede_atomic_memory,
    undo_operation,
)
from apps.panel.answers import UNPROCESSABLE
from apps.panel.memories.bulk import BulkPages
from apps.panel.memories.detail.items import load_list_items
from apps.panel.memories.detail.merge_pages import MergePages
from apps.panel.memories.detail.story import find_import, list_restorable, load_chain, load_history, load_origin
from apps.panel.memories.detail.uses import load_uses
from apps.panel.memories.kinds import CHANGEABLE, LONG_TERM
from apps.panel.memories.lists import BOTH_NAME
from apps.panel.memories.rows import Row
from apps.panel.reasons import translate_reason
from apps.panel.review.items import load_items
from apps.panel.review.queue import Kind, Waiting
from apps.panel.sources.links import link_sources

_DONE = {
    "saved": gettext_lazy("Saved."),
    "accepted": gettext_lazy("Accepted. It is used from now on."),
    "rejected": gettext_lazy("Rejected. It will not be proposed again."),
    "restored": gettext_lazy("The earlier state was restored."),
    "back": gettext_lazy("Restored."),
    "superseded": gettext_lazy("The memory was updated."),
    "merged": gettext_lazy("The memories were merged."),
    "undone": gettext_lazy("Undone."),
    "removed": gettext_lazy("The item was removed."),
    "muted": gettext_lazy("The memory was muted."),
    "unmuted": gettext_lazy("The memory was unmuted."),
}
"""What the page says after something was done, by the word in its address."""

MAX_PAGE = 500


class DetailPages(MergePages, BulkPages):
    """`change_view` and `delete_view`, and the addresses below a memory's own."""

    def list_parts(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"

        def part(address: str, view: Callable[..., HttpResponse]) -> URLPattern:
            pattern: URLPattern = path(
                f"<uuid:memory_id>/{address}/", self.admin_site.admin_view(view), name=f"{name}_{address}"
            )
            return pattern

        return [
            *super().list_parts(),
            part("uses", self.uses_view),
            part("decide", require_POST(self.decide_view)),
            part("restore", require_POST(self.restore_view)),
            part("undo", require_POST(self.undo_view)),
            part("mute", require_POST(self.mute_view)),
            part("remove", require_POST(self.remove_item_view)),
            part("supersede", require_POST(self.supersede_view)),
            part("merge", self.merge_view),
        ]

    # The page

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: everything about a memory. POST: it is edited; 422 and the page again with what is wrong."""
        memory = self.find(request, _read_id(object_id))
        form = self.editor(initial=self.editor.read(memory))
        if request.method != "POST":
            return self.render_detail(request, memory, form=form)
        if not self.has_change_permission(request, memory):
            raise PermissionDenied
        initial = self.editor.read(memory)
        form = self.editor(request.POST, initial=initial)
        operations = self.save(memory, form)
        if operations is not None:
            return self.go_to(memory.pk, done="saved", operations=operations)
        return self.render_detail(request, memory, form=form, status=UNPROCESSABLE)

    def render_detail(
        self, request: HttpRequest, memory: Any, *, form: Any = None, problem: str = "", status: int = 200
    ) -> HttpResponse:
        """Answer with the page; ``problem``: why what was just asked for cannot be done."""
        is_changeable = memory.status in CHANGEABLE
        now = timezone.now()
        chain = load_chain(memory, self.kind)
        history = load_history(memory, self.kind)
        done = request.GET.get("done", "")
        context = {
            **self.frame(request, memory),
            "form": (form or self.editor(initial=self.editor.read(memory))) if is_changeable else None,
            "is_editing": bool(form and form.is_bound),
            "problem": problem,
            "is_changeable": is_changeable,
            "is_pending": memory.status == Status.PENDING,
            "is_active": memory.status == Status.ACTIVE,
            "waiting": self._load_waiting(memory),
            "origin": load_origin(memory, self.kind),
            "uses": load_uses(memory, page=1, now=now),
            "history": history,
            "sources": link_sources(
                message=memory.message_id,
                session=memory.session_id,
                past_import=find_import(memory, history),
                program=history.steps[-1].change.via if history.steps else "",
                time=getattr(memory, self.kind.made_at),
                owner=memory.user if memory.user != request.user else None,
            ),
            "chain": chain,
            "items": load_list_items(memory, earlier=_list_earlier(chain, memory)) if self.kind is LONG_TERM else [],
            "did": _DONE.get(done, "") if request.method == "GET" else "",
            "operations": request.GET.get("operations", "") if done else "",
        }
        return TemplateResponse(request, "panel/detail/page.html", context, status=status)

    def _load_waiting(self, memory: Any) -> Any:
        """Why a pending memory waits and what accepting it does, as in the review queue."""
        if memory.status != Status.PENDING:
            return None
        items = load_items([Waiting(Kind(self.kind.change_kind.value), memory.pk)], owner=None)
        return items[0] if items else None

    def uses_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """A further page of the turns that used a memory, to be added to those shown."""
        memory = self.find(request, memory_id)
        raw = request.GET.get("page", "")
        page = min(int(raw), MAX_PAGE) if raw.isascii() and raw.isdecimal() and 0 < len(raw) <= 4 else 1
        uses = load_uses(memory, page=max(page, 1), now=timezone.now())
        context = {**self._row_context(request, self.read_query(request)), "memory": memory, "uses": uses}
        return TemplateResponse(request, "panel/detail/uses_rows.html", context)

    # What is done from there

    def decide_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Accept or reject a pending memory."""
        decision = request.POST.get("decision", "")
        if decision not in ("accept", "reject"):
            raise Http404
        decide = self.kind.accept if decision == "accept" else self.kind.reject
        return self._do(request, memory_id, f"{decision}ed", lambda memory, now: decide(
            user=memory.user, memory_id=memory.pk, now=now
        ))  # fmt: skip

    def restore_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Make a memory what it was after an earlier ``change``; without one, restore an ended memory."""
        raw = request.POST.get("change", "")
        if not raw:
            bring_back = bring_back_memory if self.kind is LONG_TERM else bring_back_atomic_memory
            return self._do(request, memory_id, "back", lambda memory, now: bring_back(
                user=memory.user, memory_id=memory.pk, now=now
            ))  # fmt: skip
        if not (raw.isascii() and raw.isdecimal() and len(raw) <= 18):
            raise Http404
        return self._do(request, memory_id, "restored", lambda memory, now: self._restore(memory, int(raw), now))

    def _restore(self, memory: Any, change_id: int, now: Any) -> None:
        changes = Change.objects.filter(user=memory.user, kind=self.kind.change_kind, object_id=memory.pk)
        change = changes.filter(pk=change_id).first()
        if change is None:
            raise Http404(_("This change does not exist."))
        if fields := list_restorable(change, memory, self.kind):
            self.kind.update(user=memory.user, memory_id=memory.pk, changes=fields, now=now)

    def undo_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Undo an operation that changed the memory, with all that it changed."""
        operation = _read_id(request.POST.get("operation", ""))

        def undo(memory: Any, now: Any) -> None:
            mine = Change.objects.filter(user=memory.user, object_id=memory.pk, operation=operation)
            if not mine.exists():
                raise Http404(_("This change does not exist."))
            undo_operation(user=memory.user, operation=operation, now=now)

        return self._do(request, memory_id, "undone", undo)

    def mute_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Mute a memory, or no longer (L10)."""
        wanted = request.POST.get("muted", "")
        if wanted not in ("yes", "no"):
            raise Http404
        muted = wanted == "yes"
        return self._do(request, memory_id, "muted" if muted else "unmuted", lambda memory, now: self.kind.mute(
            user=memory.user, ids=[memory.pk], muted=muted, now=now
        ))  # fmt: skip

    def remove_item_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Take one item, named by its place and its text, out of a list."""
        raw = request.POST.get("index", "")
        if self.kind is not LONG_TERM or not (raw.isascii() and raw.isdecimal() and len(raw) <= 6):
            raise Http404
        text = request.POST.get("text", "").replace("\r\n", "\n")
        return self._do(request, memory_id, "removed", lambda memory, now: remove_item(
            user=memory.user, memory_id=memory.pk, index=int(raw), text=text, now=now
        ))  # fmt: skip

    def supersede_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """Put another value, or content, in the place of an active memory; leads to the page of the new one."""
        memory = self.find(request, memory_id)
        if memory.status != Status.ACTIVE:
            raise PermissionDenied
        initial = self.editor.read(memory)
        form = self.editor(
            {**_for_form(initial), self.kind.text: request.POST.get(self.kind.text, "")}, initial=initial
        )
        problem = ""
        if form.is_valid():
            try:
                with collect_operations() as operations:
                    successor = self._supersede(memory, form.cleaned_data[self.kind.text], timezone.now())
            except JiyiError as error:
                problem = translate_reason(error.message)
            else:
                if successor.pk != memory.pk:
                    return self.go_to(successor.pk, done="superseded", operations=operations)
                problem = _("The memory already says this.")
        else:
            problem = " ".join(str(reason) for reasons in form.errors.values() for reason in reasons)
        return self.render_detail(request, memory, problem=problem, status=UNPROCESSABLE)

    def _supersede(self, memory: Any, text: Any, now: Any) -> Any:
        if self.kind is not LONG_TERM:
            return supersede_atomic_memory(user=memory.user, memory_id=memory.pk, content=text, now=now)
        successor, action = create_memory(
            user=memory.user, category=memory.category, key=memory.key, value=text, now=now
        )
        return memory if action is Action.REFRESHED else successor

    def _do(self, request: HttpRequest, memory_id: UUID, done: str, act: Callable[[Any, Any], object]) -> HttpResponse:
        """Do something to a memory and lead back to its page, which says so or why not."""
        memory = self.find(request, memory_id)
        try:
            with collect_operations() as operations:
                act(memory, timezone.now())
        except JiyiError as error:
            return self.render_detail(request, memory, problem=translate_reason(error.message), status=error.status)
        return self.go_to(memory.pk, done=done, operations=operations)

    # Deleting

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: what goes, and where else the same stands (L6). POST: it is deleted for good, ``copies`` and all."""
        memory = self.find(request, _read_id(object_id))
        if not self.has_delete_permission(request, memory):
            raise PermissionDenied
        if request.method == "POST":
            copies = request.POST.get("copies") == "yes"
            self.kind.forget(user=memory.user, ids=[memory.pk], copies=copies, now=timezone.now())
            messages.success(request, _("The memory was deleted."))
            return redirect(f"admin:{BOTH_NAME}_changelist")
        copies_found = list_copies(memory.user, [memory]) if self.kind is LONG_TERM else []
        history = _list_earlier(load_chain(memory, self.kind), memory)
        context = {**self.frame(request, memory), "copies": copies_found, "history": history}
        return TemplateResponse(request, "panel/detail/delete.html", context)


def _list_earlier(chain: Sequence[Row], memory: Any) -> list[UUID]:
    """The memories that one took the place of, from its chain."""
    ids = [row.memory.pk for row in chain]
    return ids[ids.index(memory.pk) + 1 :] if ids else []


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404(_("This memory does not exist.")) from None


def _for_form(initial: Any) -> dict[str, Any]:
    return {name: ", ".join(value) if isinstance(value, list) else value for name, value in initial.items()}
