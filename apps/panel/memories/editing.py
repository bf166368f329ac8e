"""Adding a memory and editing one in its place in the list (M3). The services that the API calls do the writing."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.core.errors import JiyiError, Outdated
from apps.memory.changes.records import collect_operations
from apps.memory.keyed import Action
from apps.panel.editors import EDITORS, Editor, OwnerField
from apps.panel.memories.kinds import CHANGEABLE, MemoryKind
from apps.panel.memories.lists import find_owner, read_list, row_context
from apps.panel.memories.query import read_query
from apps.panel.memories.rows import read_rows
from apps.panel.owned import OwnedAdmin, sees_everybody
from apps.panel.pages import UNPROCESSABLE, is_partial, with_toast
from apps.panel.refusals import add_refusal


class EditingPages(OwnedAdmin):
    """A row of one kind, its editor, and that of a new memory. Only active and pending memories can be changed."""

    kind: ClassVar[MemoryKind]

    @property
    def editor(self) -> type[Editor]:
        return EDITORS[self.kind.name]

    def get_urls(self) -> list[Any]:
        return [*self.list_parts(), *super().get_urls()]

    def list_parts(self) -> list[URLPattern]:
        """Return the addresses below a memory's own."""
        return [self.make_part("row", self.row_view), self.make_part("edit", self.edit_view)]

    def make_part(self, address: str, view: Any) -> URLPattern:
        """Return one of these addresses."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_{address}"
        pattern: URLPattern = path(f"<uuid:memory_id>/{address}/", self.admin_site.admin_view(view), name=name)
        return pattern

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request).defer(*self.kind.derived)
        return queryset

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (obj is None or obj.status in CHANGEABLE) and super().has_change_permission(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the list of memories, narrowed to this kind."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        query = read_query({**request.GET.dict(), "kind": self.kind.name}, staff=sees_everybody(request))
        return redirect(reverse("admin:memories_changelist") + query.encode())

    def find(self, request: HttpRequest, memory_id: UUID) -> Any:
        """Return a memory that who asks may see, else 404."""
        memory = self.get_queryset(request).select_related("user").filter(pk=memory_id).first()
        if memory is None:
            raise Http404(_("This memory does not exist."))
        return memory

    def row_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the templates of a row need."""
        return {"opts": self.opts, "kind": self.kind, **row_context(request, read_list(request))}

    def row_view(self, request: HttpRequest, memory_id: UUID, *, fresh: bool = False) -> HttpResponse:
        """Answer with the row of a memory, as when an editor is left; `fresh` shows that it has just changed."""
        memory = self.find(request, memory_id)
        (row,) = read_rows(self.kind, [memory.pk], read_list(request))
        context = {**self.row_context(request), "row": row, "fresh": fresh}
        return TemplateResponse(request, "panel/memories/row.html", context)

    def edit_view(self, request: HttpRequest, memory_id: UUID) -> HttpResponse:
        """GET: the editor in place of the row. POST: the row as it is now, or the editor with what is wrong (422)."""
        memory = self.find(request, memory_id)
        if not self.has_change_permission(request, memory):
            return with_toast(
                HttpResponse(status=204), _("This memory was superseded and cannot be changed."), is_error=True
            )
        initial = self.editor.read(memory)
        if request.method != "POST":
            return self._render_editor(request, self.editor(initial=initial), memory=memory)
        form = self.editor(request.POST, initial=initial)
        operations = self.save(memory, form)
        if operations is None:
            return self._render_editor(request, form, memory=memory, status=UNPROCESSABLE)
        row = self.row_view(request, memory.pk, fresh=bool(operations))
        return with_toast(row, _("Saved."), operations=operations) if operations else row

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
        form = self.editor(request.POST if request.method == "POST" else None)
        if sees_everybody(request):
            owner = find_owner(read_list(request)) or request.user
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
                    row = self.row_view(request, memory.pk, fresh=True)
                    return with_toast(row, _tell_outcome(outcome), operations=operations)
                messages.success(request, _tell_outcome(outcome))
                return redirect("admin:memories_changelist")
        return self._render_editor(request, form, memory=None, status=UNPROCESSABLE if form.is_bound else 200)

    def _render_editor(self, request: HttpRequest, form: Editor, *, memory: Any, status: int = 200) -> HttpResponse:
        context = {**self.row_context(request), "form": form, "memory": memory}
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
