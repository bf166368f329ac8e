"""The page "Import and export" and its parts (M4).

The file stays in the browser: it is sent to be looked at, and sent again to be imported. Between the two the server
keeps nothing of it, and does only what was shown: the plan's fingerprint comes along, and is compared.
"""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import User
from apps.accounts.services.export import answer_export
from apps.core.files import answer_file
from apps.doors.models import PastImport
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.memory.transfer.selectors import KINDS, TransferKind, export_memories, plan_import, read_upload
from apps.memory.transfer.services import import_memories
from apps.memory.transfer.types import Imported, ImportPlan, ImportRefused, PlanChanged, RowAction
from apps.panel.answers import is_partial, tell
from apps.panel.owned import sees_everybody
from apps.panel.pages import PanelPage
from apps.panel.transfer.wording import ACTIONS, TONES, show_row, translate_row_reason

PER_PAGE = 100
IMPORTS_SHOWN = 20
"""Imports from other applications, the newest."""

EVERYTHING = "everything"


class TransferPage(PanelPage):
    """Take memories along as files; bring a file in."""

    title = gettext_lazy("Import and export")
    template_name = "panel/transfer/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        problem = ""
        if sees_everybody(request) and (name := request.GET.get("name", "").strip()):
            found = User.objects.filter(username=name).first()
            if found is not None:
                return HttpResponseRedirect(f"{reverse('admin:transfer')}?user={found.pk}")
            problem = _("No user has this username.")
        return self.show(request, owner_problem=problem)

    def show(self, request: HttpRequest, **context: Any) -> HttpResponse:
        """Answer with the page, or for htmx with the outcome."""
        counts = {
            "long_term": LongTermMemory.objects.filter(user=self.owner).count(),
            "atomic": AtomicMemory.objects.filter(user=self.owner).count(),
        }
        imports = PastImport.objects.filter(user=self.owner).order_by("-created_at", "-id")[:IMPORTS_SHOWN]
        chosen = request.POST.get("kind", "long-term")
        template = "panel/transfer/outcome.html" if is_partial(request) else ""
        is_own = self.owner == request.user
        shown: dict[str, Any] = {"counts": counts, "chosen": chosen, "is_own": is_own, "imports": imports}
        return self.render(request, template=template, **shown, **context)


class DownloadPage(PanelPage):
    """GET ``what``: long-term, atomic or everything, as a file."""

    def get(self, request: HttpRequest) -> FileResponse:
        what, owner = request.GET.get("what", ""), self.owner
        if what == EVERYTHING:
            return answer_export(owner)
        if what not in KINDS:
            raise Http404
        return answer_file(export_memories(owner, KINDS[what]), name=what)


class UploadPage(TransferPage):
    """What both steps begin with: the file, and for which kind of memories it is."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        kind = KINDS.get(request.POST.get("kind", ""))
        file = request.FILES.get("file")
        if kind is None:
            return self.show(request, problem=_("Choose which type of memory the file contains."))
        if file is None:
            return self.show(request, problem=_("Choose a file first."))
        try:
            return self.handle(request, kind, read_upload(file))
        except ImportRefused as error:
            return self.show(request, problem=translate_row_reason(error.message))

    def handle(self, request: HttpRequest, kind: TransferKind, items: list[Any]) -> HttpResponse:
        raise NotImplementedError

    def show_plan(self, request: HttpRequest, kind: TransferKind, plan: ImportPlan, **context: Any) -> HttpResponse:
        """Answer with what would be done, row by row; ``show``: rows of one action only, ``page``: the hundred."""
        asked = request.POST.get("show", "")
        default = RowAction.ERROR if plan.errors else ""
        shown = asked if asked in ("all", *RowAction) else default
        rows = [row for row in plan.rows if shown in ("", "all") or row.action == shown]
        raw = request.POST.get("page", "1")
        number = int(raw) if raw.isascii() and raw.isdecimal() and len(raw) <= 5 else 1
        pages = max(1, -(-len(rows) // PER_PAGE))
        number = min(max(number, 1), pages)
        part = rows[(number - 1) * PER_PAGE : number * PER_PAGE]
        chips = [
            {
                "name": action.value,
                "label": ACTIONS[action],
                "tone": TONES[action],
                "count": count,
                "on": action == shown,
            }
            for action, count in plan.counts.items()
        ]
        return self.show(
            request,
            plan=plan,
            is_importable=not plan.errors and plan.counts[RowAction.CREATE] + plan.counts[RowAction.UPDATE] > 0,
            rows=[show_row(row, kind) for row in part],
            chips=chips,
            shown=shown or "all",
            total=len(plan.rows),
            matching=len(rows),
            page=number,
            pages=pages,
            first=(number - 1) * PER_PAGE + 1,
            last=(number - 1) * PER_PAGE + len(part),
            **context,
        )


class PreviewPage(UploadPage):
    """What importing the file would do. Nothing is written."""

    def handle(self, request: HttpRequest, kind: TransferKind, items: list[Any]) -> HttpResponse:
        return self.show_plan(request, kind, plan_import(user=self.owner, kind=kind, items=items))


class ConfirmPage(UploadPage):
    """Import the file, if that does what was shown; else show what it would do now."""

    def handle(self, request: HttpRequest, kind: TransferKind, items: list[Any]) -> HttpResponse:
        expected = request.POST.get("plan", "")
        try:
            done = import_memories(user=self.owner, kind=kind, items=items, now=timezone.now(), expected=expected)
        except PlanChanged as error:
            return self.show_plan(request, kind, error.plan, has_changed=True)
        model = kind.model._meta
        link = reverse(f"admin:{model.app_label}_{model.model_name}_changelist")
        response = self.show(request, done=done, link=link)
        operations = [done.operation] if done.operation else []
        return tell(response, _tell_done(done), operations=operations)


def _tell_done(done: Imported) -> str:
    counts = {"created": done.created, "updated": done.updated}
    return _("Imported: %(created)s new, %(updated)s changed.") % counts
