"""The page of one memory, and what is done from there; the services that the API calls write (M2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.core.errors import JiyiError
from apps.memory.changes.records import collect_operations
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import list_copies
from apps.memory.lifecycle import remove_item
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.memory.vectors.queries import embed_query
from apps.panel.memories.editing import EditingPages
from apps.panel.memories.kinds import ATOMIC, CHANGEABLE, LONG_TERM
from apps.panel.memories.query import ListQuery
from apps.panel.memories.rows import Row, read_rows
from apps.panel.memories.story import (
    find_import,
    list_restorable,
    load_chain,
    load_history,
    load_list_items,
    load_origin,
    load_uses,
)
from apps.panel.pages import UNPROCESSABLE
from apps.panel.refusals import translate_reason
from apps.panel.review.items import load_items
from apps.panel.review.queue import Kind, Waiting
from apps.panel.sources import link_sources
from apps.panel.texts import NotJson, read_value, write_value
from apps.panel.words import show_value

# What the page says after something was done, by the word in its address.
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

MAX_PAGE = 500
FOUND = 12
QUERY_CHARACTERS = 500


class DetailPages(EditingPages):
    """`change_view` and `delete_view`, and the addresses below a memory's own."""

    def frame(self, request: HttpRequest, memory: Any) -> dict[str, Any]:
        """Return what every page about one memory has."""
        request.current_app = self.admin_site.name
        is_long_term = self.kind is LONG_TERM
        shown = show_value(memory.value) if is_long_term else memory.content
        return {
            **self.admin_site.each_context(request),
            **self.row_context(request),
            "is_long_term": is_long_term,
            "title": memory.key if is_long_term else str(self.opts.verbose_name),
            "memory": memory,
            "shown": shown,
            "is_large": len(shown) > 80 or "\n" in shown,
            "made_at": getattr(memory, self.kind.made_at),
        }

    def go_to(self, memory_id: UUID, *, done: str, operations: list[UUID]) -> HttpResponseRedirect:
        """Lead to a memory's page, which says what was done and offers to undo it."""
        address = reverse(f"{self.kind.base}_change", args=[memory_id])
        said = {"done": done, "operations": ",".join(map(str, operations))} if operations else {}
        return HttpResponseRedirect(f"{address}?{urlencode(said)}" if said else address)

    def list_parts(self) -> list[URLPattern]:
        return [
            *super().list_parts(),
            self.make_part("uses", self.uses_view),
            self.make_part("decide", require_POST(self.decide_view)),
            self.make_part("restore", require_POST(self.restore_view)),
            self.make_part("undo", require_POST(self.undo_view)),
            self.make_part("mute", require_POST(self.mute_view)),
            self.make_part("remove", require_POST(self.remove_item_view)),
            self.make_part("supersede", require_POST(self.supersede_view)),
            self.make_part("merge", self.merge_view),
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
        context = {**self.row_context(request), "memory": memory, "uses": uses}
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
            return self._do(request, memory_id, "back", lambda memory, now: self.kind.restore(
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
                    text = form.cleaned_data[self.kind.text]
                    successor = self.kind.supersede(user=memory.user, memory=memory, text=text, now=timezone.now())
            except JiyiError as error:
                problem = translate_reason(error.message)
            else:
                if successor.pk != memory.pk:
                    return self.go_to(successor.pk, done="superseded", operations=operations)
                problem = _("The memory already says this.")
        else:
            problem = " ".join(str(reason) for reasons in form.errors.values() for reason in reasons)
        return self.render_detail(request, memory, problem=problem, status=UNPROCESSABLE)

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
            return redirect("admin:memories_changelist")
        copies_found = list_copies(memory.user, [memory]) if self.kind is LONG_TERM else []
        history = _list_earlier(load_chain(memory, self.kind), memory)
        context = {**self.frame(request, memory), "copies": copies_found, "history": history}
        return TemplateResponse(request, "panel/detail/delete.html", context)

    # Merging

    def merge_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """GET suggests what is near to the memory; POST ``q`` searches, ``with`` chooses, ``text`` confirms.

        The search is posted, so that no address and no log holds it.
        """
        memory = self.find(request, memory_id)
        if memory.status != Status.ACTIVE:
            raise PermissionDenied
        chosen = request.POST.get("with", "")
        if chosen:
            return self._merge_with(request, memory, self._find_other(memory, chosen))
        typed = request.POST.get("q", "").strip()[:1_000]
        rows = self._search(memory, typed) if typed else self._suggest(memory)
        context = {**self.frame(request, memory), "rows": rows, "typed": typed}
        return TemplateResponse(request, "panel/detail/merge.html", context)

    def _find_other(self, memory: Any, chosen: str) -> Any:
        """Another active memory of the same person, whoever asks."""
        try:
            other_id = UUID(chosen)
        except ValueError:
            raise Http404 from None
        others = self.kind.model.objects.filter(user=memory.user, status=Status.ACTIVE).exclude(pk=memory.pk)
        other = others.select_related("user").defer(*self.kind.derived).filter(pk=other_id).first()
        if other is None:
            raise Http404
        return other

    def _search(self, memory: Any, typed: str) -> list[Row]:
        others = self.kind.model.objects.filter(user=memory.user, status=Status.ACTIVE).exclude(pk=memory.pk)
        found = self.kind.search(others, typed).order_by(f"-{self.kind.made_at}").values_list("pk", flat=True)[:FOUND]
        return read_rows(self.kind, list(found), ListQuery(q=typed))

    def _suggest(self, memory: Any) -> list[Row]:
        """What retrieval finds near to the memory itself; that counts as no use (L4)."""
        text = self.kind.tell(memory)[:QUERY_CHARACTERS]
        embedding = embed_query(text)
        scored = self.kind.suggest(text, user=memory.user, limit=FOUND, query_embedding=embedding)
        ids = [item.candidate.id for item in scored if item.candidate.id != memory.pk]
        return read_rows(self.kind, ids, ListQuery())

    def _merge_with(self, request: HttpRequest, memory: Any, other: Any) -> HttpResponse:
        problem = ""
        typed = request.POST["text"].replace("\r\n", "\n") if "text" in request.POST else None
        if typed is not None:
            try:
                with collect_operations() as operations:
                    self.kind.merge(
                        read_value(typed) if self.kind is LONG_TERM else typed,
                        user=memory.user,
                        kept_id=memory.pk,
                        merged_id=other.pk,
                        now=timezone.now(),
                    )
            except JiyiError as error:
                problem = translate_reason(error.message)
            except NotJson as error:
                problem = str(error)
            else:
                return self.go_to(memory.pk, done="merged", operations=operations)
        kept, merged = getattr(memory, self.kind.text), getattr(other, self.kind.text)
        combined = self.kind.combine(kept, merged)
        write = write_value if self.kind is LONG_TERM else str
        context = {
            **self.frame(request, memory),
            "other": other,
            "other_shown": show_value(merged),
            "choices": {"combined": write(combined), "kept": write(kept), "merged": write(merged)},
            "text": write(combined) if typed is None else typed,
            "problem": problem,
        }
        status = UNPROCESSABLE if problem else 200
        return TemplateResponse(request, "panel/detail/merge_preview.html", context, status=status)


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


@admin.register(LongTermMemory)
class LongTermMemoryAdmin(DetailPages):
    """What is known of people, by key."""

    kind = LONG_TERM


@admin.register(AtomicMemory)
class AtomicMemoryAdmin(DetailPages):
    """What happened, and what was said, sentence by sentence."""

    kind = ATOMIC
