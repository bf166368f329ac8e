"""Paste what another assistant remembers: a preview of each line, then an import of those that are ticked.

The text stays in the browser and is sent with each step: what was shown and ticked is what is imported.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.errors import Conflict
from apps.core.text.instructions import is_instruction
from apps.doors.imports.formats.own import Plain
from apps.doors.imports.formats.pasted import MAX_CHARACTERS, split_memories
from apps.doors.imports.services import create_import
from apps.panel.links import link_page
from apps.panel.pages import PanelPage, is_partial
from apps.panel.refusals import translate_reason


class PastePage(PanelPage):
    """Paste a text, preview its lines, import them. POST ``text``; ``line``, the numbers of those that are ticked."""

    title = gettext_lazy("Paste memories")
    template_name = "panel/paste/page.html"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        text = request.POST.get("text", "")
        memories = split_memories(text) if len(text) <= MAX_CHARACTERS else []
        if not memories:
            return self.show(
                request, problem=_("Paste a text with a memory on each line, of up to 200,000 characters.")
            )
        rows = [{"memory": memory, "waits": is_instruction(memory.text)} for memory in memories]
        if "import" not in request.POST:
            return self.show(request, rows=rows)
        ticked = set(request.POST.getlist("line"))
        kept = [memory for memory in memories if str(memory.number) in ticked]
        if not kept:
            return self.show(request, rows=rows, problem=_("Tick at least one memory."))
        # JSON lines, in which nothing can be taken for anything else.
        lines = [
            {"memory": memory.text, "create_time": str(memory.said_at or ""), "tags": [memory.heading]}
            for memory in kept
        ]
        file = BytesIO("\n".join(map(json.dumps, lines)).encode())
        try:
            create_import(user=self.owner, file=file, name=_("Pasted text"), named=Plain.name, now=timezone.now())
        except Conflict as error:
            return self.show(request, rows=rows, problem=translate_reason(error.message))
        return self.show(request, started=len(kept), link=link_page("transfer", user=self.owner))

    def show(self, request: HttpRequest, **context: Any) -> HttpResponse:
        """Answer with the page, or for htmx with the outcome."""
        template = "panel/paste/outcome.html" if is_partial(request) else ""
        text, is_own = request.POST.get("text", ""), self.owner == request.user
        return self.render(request, template=template, text=text, is_own=is_own, most=MAX_CHARACTERS, **context)
