"""Import and export (M4).

The file stays in the browser: it is sent to be looked at, and sent again to be imported. Between the two the server
keeps nothing of it, and does only what was shown: the plan's fingerprint comes along, and is compared.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from typing import IO, Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from apps.accounts.services.export import answer_export
from apps.core.responses import answer_file, answer_written
from apps.doors.models import PastImport
from apps.memory.import_plan import (
    Imported,
    ImportPlan,
    ImportRefused,
    Note,
    PlanChanged,
    PlannedRow,
    RowAction,
    plan_import,
    read_upload,
)
from apps.memory.kinds import KINDS_BY_SLUG, LONG_TERM, MemoryKind
from apps.memory.transfer import export_memories, export_rows, import_memories
from apps.panel.changes import make_line
from apps.panel.pages import PanelPage, is_partial, with_toast
from apps.panel.refusals import translate_reason
from apps.panel.words import show_value


def download_memories(parts: Sequence[QuerySet[Any]]) -> FileResponse:
    """Answer with a file of these memories, each part of one kind, which the caller has seen to that may be read.

    Of both kinds it is a ZIP archive of a file for each, as they are imported.
    """
    found = [part for part in parts if part.exists()] or parts[:1]
    files = [(next(kind for kind in KINDS_BY_SLUG.values() if kind.model is part.model), part) for part in found]
    if len(files) == 1:
        kind, memories = files[0]
        return answer_file(export_rows(memories, kind), name=kind.slug)

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for kind, memories in files:
                with archive.open(f"jiyi-{kind.slug}-{timezone.now():%Y-%m-%d}.json", "w", force_zip64=True) as part:
                    part.writelines(export_rows(memories, kind))

    return answer_written(write, name="memories", suffix="zip", content_type="application/zip")


SHOWN_CHARACTERS = 300

# The outcome of a row in words, and its colour.
ACTIONS = {
    RowAction.CREATE: (gettext_lazy("new"), "teal"),
    RowAction.UPDATE: (gettext_lazy("changed"), "blue"),
    RowAction.SKIP: (gettext_lazy("unchanged"), "grey"),
    RowAction.REFUSE: (gettext_lazy("left out"), "red"),
    RowAction.ERROR: (gettext_lazy("problem"), "red"),
}

NOTES = {
    Note.NEW_ID: gettext_lazy("It gets a new ID, because another user’s memory has this ID."),
    Note.NO_SESSION: gettext_lazy("Its conversation does not exist here, so it is imported without it."),
    Note.NO_MESSAGE: gettext_lazy("Its message does not exist here, so it is imported without it."),
    Note.NO_SUCCESSOR: gettext_lazy("The memory that replaced it does not exist here, so it is imported without it."),
    Note.NO_SPACE: gettext_lazy("You have no space of this name, so it is imported for everywhere."),
    Note.NO_ORIGIN: gettext_lazy("The memory it is a part of does not exist here, so it is imported without it."),
}

_PATTERNS = (
    (re.compile(r"Row (?P<row>\d+) already has this ID\."), gettext_noop("Row %(row)s already has this ID.")),
    (
        re.compile(r"Duplicates the active memory in row (?P<row>\d+)\."),
        gettext_noop("Duplicates the active memory in row %(row)s."),
    ),
    (re.compile(r"Must be one of: (?P<choices>.+)\."), gettext_noop("Must be one of: %(choices)s.")),
    (re.compile(r"Must not contain (?P<what>.+)\."), gettext_noop("Must not contain %(what)s.")),
)


def show_row(row: PlannedRow, kind: MemoryKind) -> dict[str, Any]:
    """Put a row into words. ``reasons``: the field, and what is wrong with it."""
    values = {**(row.before or {}), **row.given}
    text = show_value(values.get("value")) if kind is LONG_TERM else str(values.get("content") or "")
    is_update = row.action is RowAction.UPDATE
    return {
        "number": row.number,
        "action": row.action.value,
        "action_name": ACTIONS[row.action][0],
        "tone": ACTIONS[row.action][1],
        "title": str(values.get("key") or "") if kind is LONG_TERM else "",
        "text": f"{text[:SHOWN_CHARACTERS]}…" if len(text) > SHOWN_CHARACTERS else text,
        "changes": [
            make_line(kind.change_kind, name, (row.before or {})[name], row.given[name])
            for name in row.changed
            if is_update
        ],
        "reasons": [(name, translate_row_reason(reason)) for name, given in row.reasons.items() for reason in given],
        "notes": [NOTES[note] for note in row.notes],
    }


def translate_row_reason(reason: str) -> str:
    for pattern, text in _PATTERNS:
        if found := pattern.fullmatch(reason):
            return gettext(text) % found.groupdict()
    return translate_reason(reason)


PER_PAGE = 100

# Imports from other applications, the newest.
IMPORTS_SHOWN = 20

EVERYTHING = "everything"


class TransferPage(PanelPage):
    """Take memories along as files; bring a file in."""

    title = gettext_lazy("Import and export")
    template_name = "panel/transfer/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        there, problem = self.find_named("transfer")
        return there or self.show(request, owner_problem=problem)

    def show(self, request: HttpRequest, **context: Any) -> HttpResponse:
        """Answer with the page, or for htmx with the outcome."""
        counts = {str(kind.name): kind.model.objects.filter(user=self.owner).count() for kind in KINDS_BY_SLUG.values()}
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
        if what not in KINDS_BY_SLUG:
            raise Http404
        return answer_file(export_memories(owner, KINDS_BY_SLUG[what]), name=what)


class UploadPage(TransferPage):
    """What both steps begin with: the file, and for which kind of memories it is."""

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        kind = KINDS_BY_SLUG.get(request.POST.get("kind", ""))
        file = request.FILES.get("file")
        if kind is None:
            return self.show(request, problem=_("Choose which type of memory the file contains."))
        if file is None:
            return self.show(request, problem=_("Choose a file first."))
        try:
            return self.handle(request, kind, read_upload(file))
        except ImportRefused as error:
            return self.show(request, problem=translate_row_reason(error.message))

    def handle(self, request: HttpRequest, kind: MemoryKind, items: list[Any]) -> HttpResponse:
        raise NotImplementedError

    def show_plan(self, request: HttpRequest, kind: MemoryKind, plan: ImportPlan, **context: Any) -> HttpResponse:
        """Answer with what would be done, row by row; ``show``: rows of one action only, ``page``: the hundred."""
        asked = request.POST.get("show", "")
        default = RowAction.ERROR if plan.errors else ""
        shown = asked if asked in ("all", *RowAction) else default
        rows = [row for row in plan.rows if shown in ("", "all") or row.action == shown]
        part = Paginator(rows, PER_PAGE).get_page(request.POST.get("page"))
        chips = [
            {
                "name": action.value,
                "label": ACTIONS[action][0],
                "tone": ACTIONS[action][1],
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
            part=part,
            chips=chips,
            shown=shown or "all",
            total=len(plan.rows),
            **context,
        )


class PreviewPage(UploadPage):
    """What importing the file would do. Nothing is written."""

    def handle(self, request: HttpRequest, kind: MemoryKind, items: list[Any]) -> HttpResponse:
        return self.show_plan(request, kind, plan_import(user=self.owner, kind=kind, items=items))


class ConfirmPage(UploadPage):
    """Import the file, if that does what was shown; else show what it would do now."""

    def handle(self, request: HttpRequest, kind: MemoryKind, items: list[Any]) -> HttpResponse:
        expected = request.POST.get("plan", "")
        try:
            done = import_memories(user=self.owner, kind=kind, items=items, now=timezone.now(), expected=expected)
        except PlanChanged as error:
            return self.show_plan(request, kind, error.plan, has_changed=True)
        model = kind.model._meta
        link = reverse(f"admin:{model.app_label}_{model.model_name}_changelist")
        response = self.show(request, done=done, link=link)
        operations = [done.operation] if done.operation else []
        return with_toast(response, _tell_done(done), operations=operations)


def _tell_done(done: Imported) -> str:
    counts = {"created": done.created, "updated": done.updated}
    return _("Imported: %(created)s new, %(updated)s changed.") % counts
