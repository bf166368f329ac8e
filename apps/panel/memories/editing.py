"""Adding a memory and editing one in its place in the list (M3). The services that the API calls do the writing."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.errors import JiyiError, Outdated
from apps.memory.long_term.types import Action
from apps.memory.services import collect_operations
from apps.panel.answers import is_partial, tell
from apps.panel.memories.forms import MemoryEditor, OwnerField
from apps.panel.memories.lists import ListPages
from apps.panel.owned import sees_everybody
from apps.panel.refusals import add_refusal

UNPROCESSABLE = 422


class EditingPages(ListPages):
    """The editor of a row, and that of a new memory."""

    editor: ClassVar[type[Any]]

    def list_parts(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        edit = path("<uuid:memory_id>/edit/", self.admin_site.admin_view(self.edit_view), name=f"{name}_edit")
        return [*super().list_parts(), edit]

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
                return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
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
