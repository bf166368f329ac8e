"""Adding a memory and editing one in its place in the list (M3). The services that the API calls do the writing."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.errors import JiyiError, Outdated
from apps.memory.long_term.types import Action
from apps.memory.services import collect_operations
from apps.panel.answers import UNPROCESSABLE, is_partial, tell
from apps.panel.memories.forms import MemoryEditor, OwnerField
from apps.panel.memories.kinds import MemoryKind
from apps.panel.memories.lists import ListPages
from apps.panel.memories.query import ListQuery
from apps.panel.memories.rows import read_rows
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.refusals import add_refusal


class EditingPages(ListPages, OwnedAdmin):
    """The list of one kind, the editor of a row, and that of a new memory."""

    kind: ClassVar[MemoryKind]
    editor: ClassVar[type[Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kinds = (self.kind,)
        self.list_name = self.kind.list_name

    @property
    def list_title(self) -> str:
        title = str(self.opts.verbose_name_plural)
        return title[:1].upper() + title[1:]

    def _row_context(self, request: HttpRequest, query: ListQuery) -> dict[str, Any]:
        return {"opts": self.opts, "kind": self.kind, **super()._row_context(request, query)}

    def list_parts(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            *super().list_parts(),
            path("<uuid:memory_id>/row/", view(self.row_view), name=f"{self.list_name}_row"),
            path("<uuid:memory_id>/edit/", view(self.edit_view), name=f"{self.list_name}_edit"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, of this kind alone."""
        return self.list_view(request, {"media": self.media, "opts": self.opts, **(extra_context or {})})

    def row_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """One row as it is, as when an editor is left."""
        return self.render_row(request, memory_id)

    def render_row(self, request: HttpRequest, memory_id: UUID, *, fresh: bool = False) -> HttpResponse:
        """Answer with the row of a memory; `fresh` shows that it has just changed. 404 for none and another's."""
        query = self.read_query(request)
        memory = self.find(request, memory_id)
        (row,) = read_rows(self.kind, [memory.pk], query) or self._missing()
        context = {**self._row_context(request, query), "row": row, "fresh": fresh}
        return TemplateResponse(request, "panel/memories/row.html", context)

    def find(self, request: HttpRequest, memory_id: UUID) -> Any:
        """Return a memory that who asks may see, else 404."""
        memory = self.get_queryset(request).select_related("user").filter(pk=memory_id).first()
        return memory or self._missing()

    def _missing(self) -> Any:
        raise Http404(_("This memory does not exist."))

    def edit_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """GET: the editor in place of the row. POST: the row as it is now, or the editor with what is wrong (422)."""
        memory = self.find(request, memory_id)
        if not self.has_change_permission(request, memory):
            return tell(HttpResponse(status=204), _("This memory was superseded and cannot be changed."), is_error=True)
        initial = self.editor.read(memory)
        if request.method != "POST":
            return self._render_editor(request, self.editor(initial=initial), memory=memory)
        form = self.editor(request.POST, initial=initial)
        operations = self.save(memory, form)
        if operations is None:
            return self._render_editor(request, form, memory=memory, status=UNPROCESSABLE)
        row = self.render_row(request, memory.pk, fresh=bool(operations))
        return tell(row, _("Saved."), operations=operations) if operations else row

    def save(self, memory: Any, form: Any) -> list[UUID] | None:
        """Write what was typed and return the operations; None where that is refused, and the form says why."""
        if not form.is_valid():
            return None
        now, seen = timezone.now(), form.cleaned_data["version"]
        try:
            with collect_operations() as operations:
                if changes := form.list_changes():
                    self.kind.update(user=memory.user, memory_id=memory.pk, changes=changes, seen=seen, now=now)
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
        query = self.read_query(request)
        form = self.editor(request.POST if request.method == "POST" else None)
        if sees_everybody(request):
            owner = self._find_owner(query) or request.user
            form.fields["owner"] = OwnerField()
            form.fields["owner"].initial = owner.get_username()
            form.order_fields(["owner"])
        if form.is_bound and form.is_valid():
            values = {name: value for name, value in form.cleaned_data.items() if name not in ("version", "owner")}
            owner = form.cleaned_data.get("owner", request.user)
            try:
                with collect_operations() as operations:
                    memory, outcome = self.kind.create(user=owner, now=timezone.now(), **values)
            except JiyiError as error:
                add_refusal(form, error)
            else:
                if is_partial(request):
                    row = self.render_row(request, memory.pk, fresh=True)
                    return tell(row, _tell_outcome(outcome), operations=operations)
                messages.success(request, _tell_outcome(outcome))
                return redirect(f"{self.base}_changelist")
        return self._render_editor(request, form, memory=None, status=UNPROCESSABLE if form.is_bound else 200)

    def _render_editor(
        self, request: HttpRequest, form: MemoryEditor, *, memory: Any, status: int = 200
    ) -> HttpResponse:
        query = self.read_query(request)
        context = {**self._row_context(request, query), "form": form, "memory": memory}
        if is_partial(request):
            return TemplateResponse(request, "panel/memories/editor.html", context, status=status)
        request.current_app = self.admin_site.name
        title = _("Edit memory") if memory else _("Add memory")
        frame = {**self.admin_site.each_context(request), "title": title, "media": self.media}
        return TemplateResponse(request, "panel/memories/editor_page.html", {**frame, **context}, status=status)


def _tell_outcome(outcome: Any) -> str:
    if outcome is Action.SUPERSEDED:
        return _("Saved. It replaces the previous value of this key.")
    if outcome is Action.REFRESHED or outcome is False:
        return _("This memory already exists.")
    return _("Saved.")
