"""The pages of one memory: its row, its editor, all about it, and what is done from there (M2, M3).

The services that the API calls do the writing.
"""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.spaces import get_space
from apps.core.errors import Conflict, JiyiError, Outdated
from apps.memory.changes.records import collect_operations
from apps.memory.changes.undo import undo_operation
from apps.memory.deletion import delete_memories, list_copies
from apps.memory.judge.review import accept_memory, reject_memory
from apps.memory.keyed import Action
from apps.memory.lifecycle import (
    combine_texts,
    merge_memories,
    mute_memories,
    remove_item,
    restore_memory,
    update_memory,
)
from apps.memory.models import AtomicMemory, Change, LongTermMemory, Status
from apps.memory.spaces import move_memories
from apps.memory.vectors.queries import embed_query
from apps.panel.editors import EDITORS, Editor, OwnerField
from apps.panel.memories.kinds import ATOMIC, CHANGEABLE, LONG_TERM, MemoryKind
from apps.panel.memories.lists import find_owner, read_list, row_context
from apps.panel.memories.query import ListQuery, read_query
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
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import UNPROCESSABLE, is_partial, show_page, with_toast
from apps.panel.refusals import add_refusal, translate_reason
from apps.panel.review.waiting import Kind, load_items
from apps.panel.sources import link_sources
from apps.panel.spaces import SpaceField, list_choices, read_place
from apps.panel.texts import NotJson, read_id, read_number, read_value, write_value
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
    "moved": gettext_lazy("The memory was moved."),
}

MAX_PAGE = 500
FOUND = 12
QUERY_CHARACTERS = 500


class MemoryAdmin(OwnedAdmin):
    """The memories of one kind. Only active and pending ones can be changed."""

    kind: ClassVar[MemoryKind]
    # Methods that get what was posted, the memory and the time, and return the word of what they did.
    deeds = ("decide", "restore", "undo", "mute", "move", "remove")
    list_select_related = ("user", "space")
    parts = ("row", "edit", "uses", "merge")
    acts = ("supersede", *deeds)

    @property
    def editor(self) -> type[Editor]:
        return EDITORS[self.kind.name]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request).defer(*self.kind.memory.derived)
        return queryset

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (obj is None or obj.status in CHANGEABLE) and super().has_change_permission(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the list of memories, narrowed to this kind."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        query = read_query({**request.GET.dict(), "kind": self.kind.name}, staff=sees_everybody(request))
        return redirect(reverse("admin:memories_changelist") + query.encode())

    # The row and its editor in a list

    def row_context(self, request: HttpRequest) -> dict[str, Any]:
        return {"opts": self.opts, "kind": self.kind, **row_context(request, read_list(request))}

    def row(self, request: HttpRequest, memory: Any, *, fresh: bool = False) -> HttpResponse:
        """Answer with the row of a memory, as when an editor is left; `fresh` shows that it has just changed."""
        (row,) = read_rows(self.kind, [memory.pk], read_list(request))
        context = {**self.row_context(request), "row": row, "fresh": fresh}
        return TemplateResponse(request, "panel/memories/row.html", context)

    def edit(self, request: HttpRequest, memory: Any) -> HttpResponse:
        """GET: the editor in place of the row. POST: the row as it is now, or the editor with what is wrong (422)."""
        if not self.has_change_permission(request, memory):
            refusal = _("This memory was superseded and cannot be changed.")
            return with_toast(HttpResponse(status=204), refusal, is_error=True)
        form = self._make_form(request, memory)
        if not form.is_bound:
            return self._render_editor(request, form, memory=memory)
        operations = self.save(memory, form)
        if operations is None:
            return self._render_editor(request, form, memory=memory, status=UNPROCESSABLE)
        row = self.row(request, memory, fresh=bool(operations))
        return with_toast(row, _("Saved."), operations=operations) if operations else row

    def _make_form(self, request: HttpRequest, memory: Any) -> Editor:
        return self.editor(request.POST if request.method == "POST" else None, initial=self.editor.read(memory))

    def save(self, memory: Any, form: Any) -> list[UUID] | None:
        """Write what was typed and return the operations; None where that is refused, and the form says why."""
        if not form.is_valid():
            return None
        seen, changes = form.cleaned_data["version"], form.list_changes()
        try:
            with collect_operations() as operations:
                if changes:
                    whose = {"user": memory.user, "memory_id": memory.pk}
                    update_memory(self.kind.memory, **whose, changes=changes, seen=seen, now=timezone.now())
        except Outdated:
            memory.refresh_from_db(fields=["updated_at"])
            form.data = form.data | {"version": memory.updated_at.isoformat()}
            form.add_error(
                None, _("This memory was changed in the meantime. Save again to overwrite it with your version.")
            )
        except JiyiError as error:
            add_refusal(form, error)
        else:
            return operations
        return None

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: the editor of a new memory. POST: its row, or the list when the editor had a page to itself."""
        form = self.editor(request.POST if request.method == "POST" else None)
        query = read_list(request)
        owner: Any = (sees_everybody(request) and find_owner(query)) or request.user
        if sees_everybody(request):
            form.fields["owner"] = OwnerField()
            form.fields["owner"].initial = owner.get_username()
            form.order_fields(["owner"])
        if spaces := list_choices(owner):
            form.fields["space"] = SpaceField(spaces, initial=read_id(query.space))
        if form.is_bound and form.is_valid():
            beside = ("version", "owner", "space")
            values = {name: value for name, value in form.cleaned_data.items() if name not in beside}
            owner, space = form.cleaned_data.get("owner", request.user), form.cleaned_data.get("space")
            try:
                there = owner.within(get_space(owner, space.pk).pk if space else None)
                with collect_operations() as operations:
                    memory, outcome = self.kind.create(user=there, now=timezone.now(), **values)
            except JiyiError as error:
                add_refusal(form, error)
            else:
                if is_partial(request):
                    row = self.row(request, memory, fresh=True)
                    return with_toast(row, _tell_outcome(outcome), operations=operations)
                messages.success(request, _tell_outcome(outcome))
                return redirect("admin:memories_changelist")
        return self._render_editor(request, form, memory=None, status=UNPROCESSABLE if form.is_bound else 200)

    def _render_editor(self, request: HttpRequest, form: Editor, *, memory: Any, status: int = 200) -> HttpResponse:
        context = {**self.row_context(request), "form": form, "memory": memory}
        if is_partial(request):
            return TemplateResponse(request, "panel/memories/editor.html", context, status=status)
        title = _("Edit memory") if memory else _("Add memory")
        return show_page(request, "panel/memories/editor_page.html", status=status, title=title, **context)

    # The page of a memory

    def frame(self, request: HttpRequest, memory: Any) -> dict[str, Any]:
        is_long_term = self.kind is LONG_TERM
        shown = show_value(memory.value) if is_long_term else memory.content
        return {
            **self.row_context(request),
            "is_long_term": is_long_term,
            "title": memory.key if is_long_term else str(self.opts.verbose_name),
            "memory": memory,
            "shown": shown,
            "is_large": len(shown) > 80 or "\n" in shown,
            "made_at": getattr(memory, self.kind.memory.made_at),
        }

    def go_to(self, memory_id: UUID, *, done: str, operations: list[UUID]) -> HttpResponseRedirect:
        """Lead to a memory's page, which says what was done and offers to undo it."""
        address = reverse(f"{self.kind.base}_change", args=[memory_id])
        said = {"done": done, "operations": ",".join(map(str, operations))} if operations else {}
        return HttpResponseRedirect(f"{address}?{urlencode(said)}" if said else address)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: everything about a memory. POST: it is edited; 422 and the page again with what is wrong."""
        memory = self.find(request, read_id(object_id))
        form = self._make_form(request, memory)
        if not form.is_bound:
            return self.render_detail(request, memory, form=form)
        if not self.has_change_permission(request, memory):
            raise PermissionDenied
        operations = self.save(memory, form)
        if operations is not None:
            return self.go_to(memory.pk, done="saved", operations=operations)
        return self.render_detail(request, memory, form=form, status=UNPROCESSABLE)

    def render_detail(
        self, request: HttpRequest, memory: Any, *, form: Any = None, problem: str = "", status: int = 200
    ) -> HttpResponse:
        """Answer with the page; ``problem``: why what was just asked for cannot be done."""
        is_changeable = memory.status in CHANGEABLE
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
            "spaces": list_choices(memory.user).exclude(pk=memory.space_id) if is_changeable else (),
            "origin": load_origin(memory, self.kind),
            "uses": load_uses(memory, page=1, now=timezone.now()),
            "history": history,
            "sources": link_sources(
                message=memory.message_id,
                session=memory.session_id,
                past_import=find_import(memory, history),
                program=history.steps[-1].change.via if history.steps else "",
                time=getattr(memory, self.kind.memory.made_at),
                owner=memory.user if memory.user != request.user else None,
            ),
            "chain": chain,
            "items": load_list_items(memory, earlier=_list_earlier(chain, memory)) if self.kind is LONG_TERM else [],
            "did": _DONE.get(done, "") if request.method == "GET" else "",
            "operations": request.GET.get("operations", "") if done else "",
        }
        return show_page(request, "panel/detail/page.html", status=status, **context)

    def _load_waiting(self, memory: Any) -> Any:
        """Why a pending memory waits and what accepting it does, as in the review queue."""
        if memory.status != Status.PENDING:
            return None
        items = load_items([(Kind(self.kind.name), memory.pk)], owner=None)
        return items[0] if items else None

    def uses(self, request: HttpRequest, memory: Any) -> HttpResponse:
        """A further page of the turns that used a memory, to be added to those shown."""
        page = min(read_number(request.GET.get("page")) or 1, MAX_PAGE)
        uses = load_uses(memory, page=page, now=timezone.now())
        context = {**self.row_context(request), "memory": memory, "uses": uses}
        return TemplateResponse(request, "panel/detail/uses_rows.html", context)

    # What is done from there

    def answer_below(self, request: HttpRequest, key: UUID, *, name: str) -> HttpResponse:
        """Answer; after a deed, lead back to the memory's page, which says so or why not."""
        if name not in self.deeds:
            return super().answer_below(request, key, name=name)
        memory = self.find(request, key)
        try:
            with collect_operations() as operations:
                done = getattr(self, name)(request.POST, memory, timezone.now())
        except JiyiError as error:
            return self.render_detail(request, memory, problem=translate_reason(error.message), status=error.status)
        return self.go_to(memory.pk, done=done, operations=operations)

    def decide(self, given: Any, memory: Any, now: Any) -> str:
        decide = {"accept": accept_memory, "reject": reject_memory}.get(given.get("decision", ""))
        if decide is None:
            raise Http404
        decide(self.kind.memory, user=memory.user, memory_id=memory.pk, now=now)
        return f"{given['decision']}ed"

    def restore(self, given: Any, memory: Any, now: Any) -> str:
        """Make a memory what it was after an earlier ``change``; without one, restore an ended memory."""
        if not given.get("change"):
            restore_memory(self.kind.memory, user=memory.user, memory_id=memory.pk, now=now)
            return "back"
        changes = Change.objects.filter(user=memory.user, kind=self.kind.memory.change_kind, object_id=memory.pk)
        change = changes.filter(pk=read_number(given["change"]) or 0).first()
        if change is None:
            raise Http404(_("This change does not exist."))
        if fields := list_restorable(change, memory, self.kind):
            update_memory(self.kind.memory, user=memory.user, memory_id=memory.pk, changes=fields, now=now)
        return "restored"

    def undo(self, given: Any, memory: Any, now: Any) -> str:
        operation = read_id(given.get("operation", ""))
        mine = Change.objects.filter(user=memory.user, object_id=memory.pk)
        if operation is None or not mine.filter(operation=operation).exists():
            raise Http404(_("This change does not exist."))
        undo_operation(user=memory.user, operation=operation, now=now)
        return "undone"

    def mute(self, given: Any, memory: Any, now: Any) -> str:
        """Mute a memory, or no longer (L10)."""
        if given.get("muted") not in ("yes", "no"):
            raise Http404
        muted = given["muted"] == "yes"
        mute_memories(self.kind.memory, user=memory.user, ids=[memory.pk], muted=muted, now=now)
        return "muted" if muted else "unmuted"

    def move(self, given: Any, memory: Any, now: Any) -> str:
        """Move a memory to a space, or to everywhere (P4)."""
        moved = move_memories(user=memory.user, ids=[memory.pk], space_id=read_place(given), now=now)
        if moved.taken:
            raise Conflict(self.kind.memory.taken)
        return "moved"

    def remove(self, given: Any, memory: Any, now: Any) -> str:
        """Take one item, named by its place and its text, out of a list."""
        index = read_number(given.get("index"))
        if self.kind is not LONG_TERM or index is None:
            raise Http404
        text = given.get("text", "").replace("\r\n", "\n")
        remove_item(user=memory.user, memory_id=memory.pk, index=index, text=text, now=now)
        return "removed"

    def supersede(self, request: HttpRequest, memory: Any) -> HttpResponse:
        """Put another value, or content, in the place of an active memory; leads to the page of the new one."""
        if memory.status != Status.ACTIVE:
            raise PermissionDenied
        initial = self.editor.read(memory)
        typed = {name: ", ".join(value) if isinstance(value, list) else value for name, value in initial.items()}
        form = self.editor({**typed, self.kind.text: request.POST.get(self.kind.text, "")}, initial=initial)
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

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """GET: what goes, and where else the same stands (L6). POST: it is deleted for good, ``copies`` and all."""
        memory = self.find(request, read_id(object_id))
        if not self.has_delete_permission(request, memory):
            raise PermissionDenied
        if request.method == "POST":
            copies = request.POST.get("copies") == "yes"
            delete_memories(self.kind.memory, user=memory.user, ids=[memory.pk], copies=copies, now=timezone.now())
            messages.success(request, _("The memory was deleted."))
            return redirect("admin:memories_changelist")
        copies_found = list_copies(memory.user, [memory]) if self.kind is LONG_TERM else []
        history = _list_earlier(load_chain(memory, self.kind), memory)
        context = {**self.frame(request, memory), "copies": copies_found, "history": history}
        return show_page(request, "panel/detail/delete.html", **context)

    # Merging

    def merge(self, request: HttpRequest, memory: Any) -> HttpResponse:
        """GET suggests what is near to the memory; POST ``q`` searches, ``with`` chooses, ``text`` confirms.

        The search is posted, so that no address and no log holds it.
        """
        if memory.status != Status.ACTIVE:
            raise PermissionDenied
        # Another active memory of the same person in the same space, whoever asks.
        others = self.kind.memory.held(memory.user.within(memory.space_id)).exclude(pk=memory.pk)
        if self.kind is ATOMIC:
            others = others.filter(source=memory.source)
        if chosen := request.POST.get("with", ""):
            other = others.select_related("user").filter(pk=read_id(chosen)).first()
            if other is None:
                raise Http404
            return self._merge_with(request, memory, other)
        typed = request.POST.get("q", "").strip()[:1_000]
        if typed:
            found = self.kind.memory.search(others, typed).order_by(f"-{self.kind.memory.made_at}")
            rows = read_rows(self.kind, list(found.values_list("pk", flat=True)[:FOUND]), ListQuery(q=typed))
        else:
            rows = self._suggest(memory, others)
        context = {**self.frame(request, memory), "rows": rows, "typed": typed}
        return show_page(request, "panel/detail/merge.html", **context)

    def _suggest(self, memory: Any, others: QuerySet[Any]) -> list[Row]:
        """What retrieval finds near to the memory itself; that counts as no use (L4)."""
        text = self.kind.memory.say(vars(memory))[:QUERY_CHARACTERS]
        embedding = embed_query(text)
        there = memory.user.within(memory.space_id)
        scored = self.kind.suggest(text, user=there, limit=FOUND, query_embedding=embedding)
        offered = set(others.filter(pk__in=[item.candidate.id for item in scored]).values_list("pk", flat=True))
        ids = [item.candidate.id for item in scored if item.candidate.id in offered]
        return read_rows(self.kind, ids, ListQuery())

    def _merge_with(self, request: HttpRequest, memory: Any, other: Any) -> HttpResponse:
        problem, is_long_term = "", self.kind is LONG_TERM
        typed = request.POST["text"].replace("\r\n", "\n") if "text" in request.POST else None
        if typed is not None:
            try:
                text = read_value(typed) if is_long_term else typed
                both = {"kept_id": memory.pk, "merged_id": other.pk}
                with collect_operations() as operations:
                    merge_memories(self.kind.memory, user=memory.user, **both, text=text, now=timezone.now())
            except JiyiError as error:
                problem = translate_reason(error.message)
            except NotJson as error:
                problem = str(error)
            else:
                return self.go_to(memory.pk, done="merged", operations=operations)
        kept, merged = getattr(memory, self.kind.text), getattr(other, self.kind.text)
        combined = combine_texts(self.kind.memory, kept, merged)
        write = write_value if is_long_term else str
        context = {
            **self.frame(request, memory),
            "other": other,
            "other_shown": show_value(merged),
            "choices": {"combined": write(combined), "kept": write(kept), "merged": write(merged)},
            "text": write(combined) if typed is None else typed,
            "problem": problem,
        }
        status = UNPROCESSABLE if problem else 200
        return show_page(request, "panel/detail/merge_preview.html", status=status, **context)


def _tell_outcome(outcome: Any) -> str:
    if outcome is Action.SUPERSEDED:
        return _("Saved. It replaces the previous value of this key.")
    if outcome is Action.REFRESHED or outcome is False:
        return _("This memory already exists.")
    return _("Saved.")


def _list_earlier(chain: list[Row], memory: Any) -> list[UUID]:
    ids = [row.memory.pk for row in chain]
    return ids[ids.index(memory.pk) + 1 :] if ids else []


@admin.register(LongTermMemory)
class LongTermMemoryAdmin(MemoryAdmin):
    """What is known of people, by key."""

    kind = LONG_TERM


@admin.register(AtomicMemory)
class AtomicMemoryAdmin(MemoryAdmin):
    """What happened, and what was said, sentence by sentence."""

    kind = ATOMIC
